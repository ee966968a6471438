"""Bank conflicts and strides: what the profiles say, and the engine's count of meetings."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.compile.code.bank_costs import meetings, stride_limit
from tilewright.simulator.isa.dsd import Ref, Register, variable
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

WSE2 = load_profile("wse2-sdk-sim")
WSE3 = load_profile("wse3-sdk-sim")


@given(st.integers(-1000, 1000), st.integers(-50, 50), st.integers(0, 40))
def test_meetings_are_counted_exactly(distance: int, step: int, groups: int) -> None:
    brute = sum((distance + g * step) % 4 == 0 for g in range(groups))
    assert meetings(distance, step, groups) == brute


def vectors(operation: str, n: int, offset: int, dtype: str = "f32", stride: int = 1) -> Program:
    """Return c = a (operation) b, where b starts `offset` elements into its buffer."""
    b = ProgramBuilder("vectors", 1, 1)
    code = b.code("main")
    code.buffer("a", dtype, n * stride)
    code.buffer("b", dtype, n + 8, address=(n * stride * 2 + 7) // 8 * 8)
    code.buffer("c", dtype, n)
    code.mem1d("all_a", "a", n, stride=stride)
    code.mem1d("all_b", "b", n, offset=offset)
    code.mem1d("all_c", "c", n)
    code.task("main", entry=True).op(operation, "all_c", "all_a", "all_b")
    b.place("main", Area(0, 0))
    return b.build()


def busy(program: Program, profile: Profile) -> int:
    """Return the cycles from the dispatch of the one operation to its completion."""
    (op,) = (
        e
        for e in Machine(program, profile).run(timeline=True).trace.timeline
        if e.operation != "task"
    )
    return op.end - op.start - profile.memory_completion_cycles


@pytest.mark.parametrize("n", [1, 7, 100, 1000])
def test_reads_that_meet_take_twice_as_long_on_wse2(n: int) -> None:
    for offset in range(4):
        assert busy(vectors("fmuls", n, offset), WSE2) == (2 * n if offset % 2 == 0 else n)
        half = -(-n // 2)
        assert busy(vectors("fadds", n, offset), WSE2) == (2 * half if offset % 2 == 0 else half)
        assert busy(vectors("fmuls", n, offset), WSE3) == n
    for offset in range(8):
        expected = -(-n // 4) * (2 if offset % 4 == 0 else 1)
        assert busy(vectors("add16", n, offset, "i16"), WSE2) == expected


@settings(max_examples=30)
@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 7), st.booleans())
def test_moved_operands_meet_where_their_addresses_do(
    n: int, stride: int, offset: int, by_register: bool
) -> None:
    """An offset that is known at run time only, and two strides: counted group by group."""
    b = ProgramBuilder("moved", 1, 2)
    code = b.code("main")
    code.buffer("a", "f32", n * stride)
    code.buffer("b", "f32", n + 8)
    code.buffer("c", "f32", n)
    code.mem1d("all_a", "a", n, stride=stride)
    code.mem1d("all_b", "b", n)
    code.mem1d("all_c", "c", n)
    main = code.task("main", entry=True)
    main.set("k", offset)
    moved: object = Ref("all_b").at(variable("k"))
    if by_register:
        main.load(Register("src1", 1), moved)  # type: ignore[arg-type]
        moved = Register("src1", 1)
    main.op("fmuls", "all_c", "all_a", moved)  # type: ignore[arg-type]
    b.code("idle").buffer("pad", "f32", 1)
    b.place("idle", Area(0, 0))
    b.place("main", Area(0, 1))
    program = b.build()
    profile = WSE2.with_values({"stride_limits": "none"})
    a, c = (program.codes[0].buffer(name) for name in "ab")
    assert a is not None
    assert c is not None
    distance = a.address - c.address - 2 * offset
    assert busy(program, profile) == n + meetings(distance, 2 * stride - 2, n)


def test_limits_of_strides() -> None:
    documented = {s: stride_limit(s, 1, "documentation") for s in range(17)}
    full = [s for s, limit in documented.items() if limit is None]
    assert full == [0, 1, 2, 3, 5, 6, 10, 11, 13, 14]
    assert {s for s, limit in documented.items() if limit == 2} == {4, 7, 9, 12, 15}
    assert {s for s, limit in documented.items() if limit == 1} == {8, 16}
    assert stride_limit(-7, 1, "documentation") == 2
    assert [stride_limit(s, 1, "inverse") for s in (1, 2, 3, 4, 8, 20)] == [
        None, 4, Fraction(8, 3), 2, 1, 1,
    ]  # fmt: skip
    assert stride_limit(2, 2, "inverse") == 2
    assert stride_limit(8, 1, "none") is None


def test_strided_reads_of_the_simulator_move_8_over_stride_elements() -> None:
    for stride in (1, 2, 4, 8):
        b = ProgramBuilder("strided", 1, 1)
        code = b.code("main")
        code.buffer("a", "f16", 800)
        code.buffer("c", "f16", 96)
        code.mem1d("some", "a", 96, stride=stride)
        code.mem1d("all", "c", 96)
        code.task("main", entry=True).op("fmovh", "all", "some")
        b.place("main", Area(0, 0))
        assert busy(b.build(), WSE3) == 96 * stride // 8


def test_results_do_not_depend_on_banks() -> None:
    program = vectors("fmuls", 50, 2)
    a = np.arange(50, dtype=np.float32)[None, None]
    b = np.arange(58, dtype=np.float32)[None, None]
    for profile in (WSE2, WSE3):
        result = Machine(program, profile).run(memory={"a": a, "b": b})
        np.testing.assert_array_equal(result.memory["c"][0, 0], a[0, 0] * b[0, 0, 2:52])
