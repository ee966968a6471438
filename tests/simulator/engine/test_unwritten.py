"""Reads of memory that nothing has written: what counts as written, and what the note says."""

from __future__ import annotations

import numpy as np
import pytest
from special_programs import special_case

from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.machine_errors import InputDataError, UnwrittenReadError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

WSE3 = load_profile("wse3-sdk-sim")
ONES = {"a": np.ones((1, 2, 6), np.float32)}


def doing(*body: str) -> Program:
    lines = "".join(f"    {line}\n" for line in body)
    return parse_program(
        "program doing 1 x 2\ncode m\n  buffer a f32 [6]\n  buffer b f32 [6]\n  buffer s f32 [1]\n"
        "  mem1d all_a a extent 6\n  mem1d all_b b extent 6\n"
        "  mem1d odd b extent 3 stride 2 offset 1\n"
        "  mem1d even b extent 3 stride 2\n  mem1d later b extent 5 offset 1\n"
        "  mem1d before b extent 5\n  mem1d three a extent 3\n"
        f"  task main entry\n{lines}place m [0:1, 0:2]\n"
    )


def notes(program: Program, **memory: object) -> tuple[str, ...]:
    machine = Machine(program, WSE3)
    plain = machine.run(memory=ONES | memory)  # type: ignore[arg-type]
    result = machine.run(memory=ONES | memory, notes=["unwritten"])  # type: ignore[arg-type]
    assert plain.notes == ()
    assert result.cycles == plain.cycles
    for name, values in plain.memory.items():
        assert (result.memory[name] == values).all()
    fast = FastMachine(program, WSE3).run(memory=ONES | memory, notes=["unwritten"])  # type: ignore[arg-type]
    assert fast.result.notes == result.notes
    return result.notes


def test_the_note_names_the_operation_and_the_element_of_the_buffer() -> None:
    (note,) = notes(doing("@fadds all_a, all_a, all_b"))
    assert "element (0, 0), code m, task main, @fadds reads b[0] at address 12" in note
    assert note.endswith("; 1 more read such memory")  # the other element


@pytest.mark.parametrize(
    "body",
    [
        ("@fmovs all_b, #0.0", "@fadds all_a, all_a, all_b"),
        ("@fmovs odd, #0.0", "@fmovs even, #1.0", "@fadds all_a, all_a, all_b"),
        ("b(0) = mov.f32 #0.0", "@fmovs later, before"),  # each element is written before its read
        ("@fadds s(0), #0.0, all_a", "@fmuls all_a, all_a, s(0)"),
    ],
)
def test_what_the_program_writes_is_written(body: tuple[str, ...]) -> None:
    assert notes(doing(*body)) == ()


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (("@fmovs odd, #0.0", "@fmovs three, even"), "@fmovs reads b[0]"),
        (("@fadds all_b, all_b, all_a",), "@fadds reads b[0]"),
        (("@fmuls all_a, all_a, s(0)",), "@fmuls reads s[0]"),
        (("s(0) = add.f32 s(0), #1.0",), "add.f32 reads s[0]"),
        (("@fmovs later, before",), "@fmovs reads b[0]"),
    ],
)
def test_what_is_read_before(body: tuple[str, ...], place: str) -> None:
    (note,) = notes(doing(*body))
    assert place in note


def test_data_of_the_run_is_written_where_it_is_given() -> None:
    program = doing("@fadds all_a, all_a, all_b")
    given = np.zeros((1, 2, 6), np.float32)
    assert notes(program, b=given) == ()
    (note,) = notes(program, b={(0, 0): given[0, 0]})
    assert "element (0, 1)" in note
    assert "more" not in note


def test_values_and_cycles_of_all_kinds_of_programs_are_the_same() -> None:
    for seed in range(25):
        case = special_case(seed)
        machine = Machine(case.program, load_profile("generic"))
        plain = machine.run(memory=case.memory, edges=case.edges)
        noted = machine.run(memory=case.memory, edges=case.edges, notes=["unwritten"])
        assert noted.cycles == plain.cycles
        for name, values in plain.memory.items():
            np.testing.assert_array_equal(noted.memory[name], values)


def test_a_chain_reads_what_it_was_given() -> None:
    program = chain_reduce(4, 8)
    names = {buffer.name for code in program.codes for buffer in code.buffers}
    memory = {name: np.ones((1, 4, 8), np.float32) for name in sorted(names)}
    assert Machine(program, WSE3).run(memory=memory, notes=["unwritten"]).notes == ()
    assert Machine(program, WSE3).run(notes=["unwritten"]).notes != ()


def test_an_unknown_note() -> None:
    with pytest.raises(InputDataError, match="one of races, unwritten"):
        Machine(doing("@fmovs all_a, #0.0"), WSE3).run(notes=["unread"])


def test_a_run_that_refuses_such_reads_ends_there() -> None:
    program = doing("@fadds all_a, all_b, all_b", "@fmovs all_b, all_a")
    message = r"cycle 5, element \(0, 0\), code m, task main, @fadds reads b\[0\] at address"
    with pytest.raises(UnwrittenReadError, match=message) as raised:
        Machine(program, WSE3, refuse=["unwritten"]).run()
    assert raised.value.category == "undefined behaviour"
    with pytest.raises(UnwrittenReadError, match=message):
        FastMachine(program, WSE3, refuse=["unwritten"]).run()
    given = {"b": np.ones((1, 2, 6), np.float32)}
    assert Machine(program, WSE3, refuse=["unwritten"]).run(memory=given).notes == ()
    with pytest.raises(InputDataError, match="instead: unwritten"):
        Machine(program, WSE3, refuse=["races"])
