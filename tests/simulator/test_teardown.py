"""Teardown of a color by a control wavelet, its task, and the end of it at another position."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.machine_errors import DeadlockError, MachineError, ProgramError
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeOutput, Position, Switch
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

WSE3 = load_profile("wse3-sdk-sim")
WORDS = 5


def phases(position: int | None = 1, end: bool = True, waits: int = 0) -> Program:
    """The west element sends words, a teardown, and words; the east one routes them.

    Its handler ends the teardown after some turns, so that the words behind go by `position`.
    """
    b = ProgramBuilder("phases", 1, 2)
    b.color("x")
    code = b.code("send")
    code.buffer("v", "u32", WORDS)
    code.mem1d("all", "v", WORDS)
    code.output_queue(3, "x")
    code.fabout("out", 3, WORDS)
    code.fabout("command", 3, 1, control=True)
    main = code.task("main", entry=True)
    main.op("mov32", "out", "all")
    main.op("mov32", "command", control_wavelet("teardown", ignore_ce=True))
    mine = code.task("torn", teardown="x")
    mine.end_teardown("x")
    mine.op("mov32", "out", "all")
    router = b.code("router")
    router.buffer("cycle", "u32", 1)
    handler = router.task("torn", teardown="x")
    if waits:
        with handler.loop("wait", waits):
            handler.increment("idle")
    handler.compute(router.element("cycle"), "mov", 1, dtype="u32")
    if end:
        handler.end_teardown("x", position)
    b.place("send", Area(0, 0))
    b.place("router", Area(0, 1))
    b.route("x", Area(0, 0), rx="R", tx="E")
    turns = position == 1
    switch = Switch((Position(tx=("S",)),)) if turns else None
    b.route("x", Area(0, 1), rx="W", tx="E", switch=switch)
    count = WORDS + 1 + (0 if turns else WORDS)
    b.edge_output(EdgeOutput("east", "E", 0, 1, "x", "u32", count))
    if turns:
        b.edge_output(EdgeOutput("south", "S", 1, 1, "x", "u32", WORDS))
    program = b.build()
    assert parse_program(print_program(program)) == program
    return program


V = np.arange(WORDS, dtype=np.uint32) + 7


@pytest.mark.parametrize("waits", [0, 1, 40])
@pytest.mark.parametrize("shuffle", [0, 1])
def test_words_behind_a_teardown_wait_for_its_end_and_go_by_the_new_position(
    waits: int, shuffle: int
) -> None:
    machine = Machine(phases(1, waits=waits), WSE3)
    result = machine.run(memory={"v": {(0, 0): V}}, shuffle=shuffle)
    assert result.edges["east"].values[0, :WORDS].tolist() == V.tolist()
    assert result.edges["south"].values.ravel().tolist() == V.tolist()
    assert result.memory["cycle"][0, 1, 0] == 1
    assert int(result.edges["south"].cycles.min()) > 9 * waits


def test_the_position_may_stay() -> None:
    result = Machine(phases(None), WSE3).run(memory={"v": {(0, 0): V}})
    values = result.edges["east"].values[0]
    assert values[:WORDS].tolist() == values[WORDS + 1 :].tolist() == V.tolist()


def test_without_an_end_the_report_names_the_teardown() -> None:
    with pytest.raises(DeadlockError) as caught:
        Machine(phases(1, end=False), WSE3).run(memory={"v": {(0, 0): V}})
    assert any("the color is torn down" in line for line in caught.value.waits)


def opened(teardown: bool) -> Program:
    """One element whose task ends a teardown that is there from the start, or not at all."""
    b = ProgramBuilder("opened", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("v", "u32", WORDS)
    code.mem1d("all", "v", WORDS)
    code.output_queue(3, "x")
    code.fabout("out", 3, WORDS)
    main = code.task("main", entry=True)
    main.start("mov32", "out", "all")
    with main.loop("wait", 20):
        main.increment("idle")
    main.end_teardown("x")
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="R", tx="E", teardown=teardown)
    b.edge_output(EdgeOutput("y", "E", 0, 1, "x", "u32", WORDS))
    return b.build()


def test_a_color_that_starts_torn_down_waits_for_its_element() -> None:
    program = opened(True)
    assert parse_program(print_program(program)) == program
    result = Machine(program, WSE3).run(memory={"v": V[None, None]})
    assert int(result.edges["y"].cycles.min()) > 180
    assert result.edges["y"].values.ravel().tolist() == V.tolist()
    assert not FastMachine(program, load_profile("generic")).certificate.granted


def test_no_teardown_to_end() -> None:
    program = opened(False)
    with pytest.raises((MachineError, ProgramError)) as caught:
        Machine(program, WSE3).run(memory={"v": V[None, None]})
    assert "color x is not torn down at this router" in str(caught.value)
