"""Bank conflicts and strides: what the profiles say, and the engine's count of meetings."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.compile.code.bank_costs import BankRead, groups_in, meetings, stride_limit
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.dsd import Ref, Register
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

WSE2 = load_profile("wse2-sdk-sim")
WSE3 = load_profile("wse3-sdk-sim")


def walked(read: BankRead) -> list[int]:
    """Return the first word of every element, element by element."""
    counters, position, words = [0] * len(read.extents), read.position, []
    for _ in range(math.prod(read.extents)):
        words.append(position)
        for d, extent in enumerate(read.extents):
            counters[d] += 1
            if counters[d] < extent:
                position += read.strides[d]
                break
            counters[d] = 0
    return words


def counted(reads: tuple[BankRead, BankRead], extent: int, group: int, row: int) -> int:
    """Return the groups whose reads touch one bank, by the banks of the words from end to end."""
    places = [walked(read) for read in reads]
    met = start = 0
    while start < extent:
        size = min(group, row - start % row, extent - start)
        banks = []
        for read, words in zip(reads, places, strict=True):
            ends = [words[start], words[start] + (group - 1) * read.strides[0]]
            banks.append({word % 8 for word in range(min(ends), max(ends) + read.wide)})
        met += bool(banks[0] & banks[1])
        start += size
    return met


@st.composite
def bank_reads(draw: st.DrawFn) -> tuple[tuple[BankRead, BankRead], int, int, int]:
    """Draw two reads of one shape, their elements, a group and a row."""
    extents = draw(st.sampled_from([(12,), (7,), (4, 3), (5, 2), (3, 2, 2), (1, 6)]))
    reads = tuple(
        BankRead(
            draw(st.integers(-50, 50)),
            draw(st.sampled_from([1, 2])),
            extents,
            draw(st.tuples(st.integers(-3, 3), *[st.integers(-20, 20) for _ in extents[1:]])),
        )
        for _ in range(2)
    )
    group = draw(st.sampled_from([1, 2, 4, 8]))
    return (reads[0], reads[1]), math.prod(extents), group, extents[0]


@given(bank_reads())
def test_meetings_are_counted_exactly(
    case: tuple[tuple[BankRead, BankRead], int, int, int],
) -> None:
    reads, extent, group, row = case
    assert meetings(*reads, extent, group, row) == counted(reads, extent, group, row)


def test_groups_end_with_a_row() -> None:
    assert groups_in(12, 4, 6) == 4
    assert groups_in(12, 4, 12) == 3
    assert groups_in(14, 4, 6) == 5
    assert groups_in(9, 1, 9) == 9


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


@pytest.mark.parametrize("n", [4, 100, 1000])
@pytest.mark.parametrize("offset", range(8))
def test_a_bank_gives_one_word_per_cycle(n: int, offset: int) -> None:
    """Both vectors begin at multiples of 8 words, so the offset alone decides."""
    twice = 2 * n if offset % 4 == 0 else n
    assert busy(vectors("fmuls", n, offset), WSE2) == twice
    assert busy(vectors("fmuls", n, offset), WSE3) == twice
    pairs = n // 2 if offset % 4 == 2 else n
    assert busy(vectors("fadds", n, offset), WSE2) == pairs
    assert busy(vectors("fadds", n, offset), WSE3) == 2 * n // 4  # 8 words of each: all banks
    fours = -(-n // 4) * (1 if offset == 4 else 2)
    assert busy(vectors("add16", n, offset, "i16"), WSE2) == fours
    assert busy(vectors("add16", n, offset, "i16"), WSE3) == -(-n // 8) * 2


def tile(profile: Profile, width: int, shift: int) -> int:
    """Return the cycles of fadds over a tile of 6 rows in arrays with a pitch of width + 4."""
    b = ProgramBuilder("tile", 1, 1)
    code = b.code("main")
    pitch = width + 4
    for name in ("own", "other"):
        code.buffer(name, "f32", (10, pitch), address=0 if name == "own" else 4096)
    code.mem4d("center", tensor_access=f"|i, j|{{6, {width}}} -> own[2 + i, 2 + j]")
    code.mem4d("shifted", tensor_access=f"|i, j|{{6, {width}}} -> other[2 + i, {2 + shift} + j]")
    code.task("main", entry=True).op("fadds", "center", "center", "shifted")
    b.place("main", Area(0, 0))
    return busy(b.build(), profile)


@pytest.mark.parametrize("width", [4, 5, 8, 11])
def test_a_group_ends_with_a_row(width: int) -> None:
    assert tile(WSE3, width, 0) == 6 * -(-width // 4) * 2
    assert tile(WSE2, width, 2) == 6 * -(-width // 2)


@settings(max_examples=15)
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
    reads = BankRead(distance, 2, (n,), (2 * stride,)), BankRead(0, 2, (n,), (2,))
    assert busy(program, profile) == n + meetings(*reads, n, 1, n)
    fast = FastMachine(program, profile)
    assert fast.certificate.granted != by_register
    assert fast.run().result.cycles == Machine(program, profile).run().cycles


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
