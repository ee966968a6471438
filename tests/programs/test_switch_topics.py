"""Switches of a router (csl-examples topics 06 and 07): the decisive tests of their meaning."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, Position, Switch
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult

NEIGHBOURS = {"N": (0, 1, "S"), "W": (1, 0, "E"), "E": (1, 2, "W"), "S": (2, 1, "N")}


def cross(start: int) -> tuple[ProgramBuilder, CodeBuilder]:
    """Return a 3 x 3 grid whose middle sends to one neighbour at a time, and its code."""
    b = ProgramBuilder("cross", 3, 3)
    b.color("channel")
    b.code("corner").task("rest")
    b.place("corner", Area(0, 0, 3, 3))
    code = b.code("sender")
    code.output_queue(2, "channel")
    b.place("sender", Area(1, 1))
    positions = tuple(Position(tx=(port,)) for port in "WES")
    switch = Switch(positions, current=start, ring=True)
    b.route("channel", Area(1, 1), rx="R", tx="N", switch=switch)
    for row, column, port in NEIGHBOURS.values():
        b.route("channel", Area(row, column), rx=port, tx="R")
    return b, code


def receivers(b: ProgramBuilder, *, control: bool) -> None:
    code = b.code("receiver")
    code.input_queue(2, "channel")
    code.buffer("got", "u16", 1)
    task = code.control_task("take", 5, [("value", "u16")]) if control else None
    task = task or code.data_task("take", 2, [("value", "u16")])
    task.compute(code.element("got"), "mov", "value", dtype="u16")
    for row, column, _ in NEIGHBOURS.values():
        b.place("receiver", Area(row, column))


def received(result: RunResult) -> dict[str, int]:
    got = result.memory["got"]
    return {port: int(got[row, column, 0]) for port, (row, column, _) in NEIGHBOURS.items()}


@pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim", "generic"])
def test_topic_06_data_behind_a_control_wavelet_sees_the_new_position(profile: str) -> None:
    b, code = cross(1)
    code.fabout("commands", 2, 1, control=True)
    code.fabout("data", 2, 1)
    send = code.task("send", entry=True)
    for value in (0, 2, 4, 6):
        send.op("mov32", "commands", control_wavelet("switch_adv", ignore_ce=True))
        send.op("mov16", "data", value)
    receivers(b, control=False)
    result = Machine(b.build(), load_profile(profile)).run(memory={"got": np.full((3, 3, 1), 99)})
    assert received(result) == {"E": 0, "S": 2, "N": 4, "W": 6}


@pytest.mark.parametrize("shuffle", [0, 1, 12345])
def test_topic_07_a_control_wavelet_goes_by_the_old_position(shuffle: int) -> None:
    b, code = cross(1)
    code.fabout("commands", 2, 1, control=True)
    send = code.task("send", entry=True)
    for value in (0, 2, 4, 6):
        send.op("mov32", "commands", control_wavelet("switch_adv", entry=5, data=value))
    receivers(b, control=True)
    machine = Machine(b.build(), load_profile("wse3-sdk-sim"))
    result = machine.run(memory={"got": np.full((3, 3, 1), 99)}, shuffle=shuffle)
    assert received(result) == {"W": 0, "E": 2, "S": 4, "N": 6}
    assert result.trace.link_words[1, 1].tolist() == [1, 1, 1, 1, 0]
    assert result.counts.wavelet_hops == 4
