"""Builtins that change descriptors, and operands changed for one operation (wafer.md §6.2)."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.arch.errors import TilewrightError
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.dsd import Circbuf, Fabin, Fifo, Mem1d, Ref, mem4d_access
from tilewright.simulator.isa.dsd_changes import (
    increment_dsd_offset,
    set_dsd_base_addr,
    set_dsd_length,
    set_dsd_stride,
)
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeInput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

VECTOR = Mem1d("v", "a", 8, 2, 3)
GRID = mem4d_access("g", "a", [(2, 10), (2, 1)], 11)


@pytest.mark.row("000.74", "000.75", "000.79", "000.80")
def test_changes_are_new_values() -> None:
    assert set_dsd_base_addr(VECTOR, "b") == Mem1d("v", "b", 8, 2, 0)
    assert increment_dsd_offset(GRID, -10, "up") == mem4d_access("up", "a", [(2, 10), (2, 1)], 1)
    assert set_dsd_length(Fabin("in", 2, 8), 5) == Fabin("in", 2, 5)
    assert set_dsd_length(Circbuf("c", "a", 8, 3), 20) == Circbuf("c", "a", 20, 3)
    assert set_dsd_stride(VECTOR, -128) == Mem1d("v", "a", 8, -128, 3)
    assert Mem1d("v", "a", 8, 2, 3) == VECTOR
    with pytest.raises(ProgramError, match="set_dsd_length: not for a mem4d"):
        set_dsd_length(GRID, 4)
    with pytest.raises(ProgramError, match="set_dsd_length: not for a fifo"):
        set_dsd_length(Fifo("f", "a"), 4)
    with pytest.raises(ProgramError, match="set_dsd_stride: not for a mem4d"):
        set_dsd_stride(GRID, 1)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="set_dsd_base_addr: not for a fabin"):
        set_dsd_base_addr(Fabin("in", 2, 8), "b")  # type: ignore[type-var]
    with pytest.raises(ProgramError, match="the stride is no i8"):
        set_dsd_stride(VECTOR, 128)
    with pytest.raises(ProgramError, match="the length is no u16"):
        set_dsd_length(VECTOR, 65536)
    with pytest.raises(ProgramError, match="the offset is no i16"):
        increment_dsd_offset(VECTOR, 40000)


def changing(dest: Ref, source: Ref, words: int = 12) -> list[int]:
    """Return buffer b after `mov16 dest, source`; a holds 0, 1, ..., k is 3, n is 4."""
    b = ProgramBuilder("changing", 1, 2)
    b.code("idle").buffer("pad", "u16", 3)
    code = b.code("main")
    code.buffer("a", "u16", words)
    code.buffer("b", "u16", words)
    code.mem1d("from_a", "a", 6, offset=2)
    code.mem1d("to_b", "b", 6)
    main = code.task("main", entry=True)
    main.set("k", 3)
    main.set("n", 4)
    main.set("back", -2)
    main.op("mov16", dest, source)
    b.place("idle", Area(0, 0))
    b.place("main", Area(0, 1))
    program = b.build()
    assert parse_program(print_program(program)) == program
    a = {(0, 1): np.arange(words, dtype=np.uint16)}
    memory = Machine(program, load_profile("wse3-sdk-sim")).run(memory={"a": a}).memory
    return [int(value) for value in memory["b"][0, 1]]


K, N, BACK = (variable(name) for name in ("k", "n", "back"))
A, B = Ref("from_a"), Ref("to_b")


@pytest.mark.row("000.20")
@pytest.mark.parametrize(
    ("dest", "source", "expected"),
    [
        (B, A, [2, 3, 4, 5, 6, 7]),
        (B.with_length(0), A.with_length(0), []),
        (B.with_length(N - 4), A.with_length(N - 4), []),
        (B.with_length(4), A.with_length(4), [2, 3, 4, 5]),
        (B.with_length(N), A.with_length(N), [2, 3, 4, 5]),
        (B.with_length(4), A.with_length(N), [2, 3, 4, 5]),
        (B.with_length(N), A.with_length(N).with_stride(2), [2, 4, 6, 8]),
        (B.with_length(N), A.with_length(N).with_stride(K - 1), [2, 4, 6, 8]),
        (B.with_length(N), A.at(K * 2).with_length(N).with_stride(BACK), [8, 6, 4, 2]),
        (B, A.with_stride(K - 2), [2, 3, 4, 5, 6, 7]),
        (A.of("b"), A.of("a").at(K), [3, 4, 5, 6, 7, 8]),
        (B.with_length(N).with_stride(2), A.with_length(N), [2, 0, 3, 0, 4, 0, 5]),
    ],
)
def test_operands_changed_for_one_operation(dest: Ref, source: Ref, expected: list[int]) -> None:
    assert changing(dest, source) == expected + [0] * (12 - len(expected))


CHANGES_REFUSED = [
    (B.with_length(N), A.with_length(N + 1), "the lengths of its operands differ: 4 and 5"),
    (B.with_length(N - 5), A.with_length(N - 5), "an operand's length is outside 0..65535"),
    (B, A.with_stride(K * 50), "operand's stride is outside -128..127: 150"),
    (B, A.with_stride(K), "operand from_a leaves buffer a of"),
    (B.with_length(N * 4), A.with_length(N * 4), "operand to_b leaves buffer b of"),
    (B.with_length(0), A.with_length(2), "the extents of the operands differ"),
    (B, A.with_stride(200), "set_dsd_stride: the stride is no i8"),
]


@pytest.mark.parametrize(("dest", "source", "text"), CHANGES_REFUSED)
def test_changes_that_do_not_hold(dest: Ref, source: Ref, text: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        changing(dest, source)
    assert text in str(caught.value)


def test_a_length_of_wavelets_known_at_run_time() -> None:
    """The element takes as many wavelets as its counter says, twice."""
    b = ProgramBuilder("parts", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("v", "u32", 6)
    code.mem1d("all", "v", 6)
    code.input_queue(2, "x")
    code.fabin("in", 2, 6)
    main = code.task("main", entry=True)
    main.set("n", 2)
    main.op("mov32", Ref("all").with_length(variable("n")), Ref("in").with_length(variable("n")))
    main.increment("n", 2)
    rest = Ref("all").at(2).with_length(variable("n"))
    main.start("mov32", rest, Ref("in").with_length(variable("n")))
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="N", tx="R")
    b.edge_input(EdgeInput("xs", "N", 0, 1, "x", "u32", 6))
    program = b.build()
    xs = np.arange(6, dtype=np.uint32)[None] + 5
    result = Machine(program, load_profile("wse3-sdk-sim")).run(edges={"xs": xs})
    assert result.memory["v"].ravel().tolist() == xs.ravel().tolist()
    certificate = FastMachine(program, load_profile("generic")).certificate
    assert "Ref.length is set" in certificate.reason
