"""Routes, switches and filters of a torn-down color change while the program runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.machine_errors import DeadlockError, MachineError, ProgramError
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import (
    Area,
    CounterFilter,
    EdgeInput,
    EdgeOutput,
    Position,
    RangeFilter,
    Switch,
)
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.show.inspection import inspect_program
from tilewright.simulator.text.parsing import parse_program
from tilewright.simulator.text.printing import print_program

PROFILES = ["wse2-sdk-sim", "wse3-sdk-sim", "generic"]
N = 4


def checked(b: ProgramBuilder) -> Program:
    program = b.build()
    assert parse_program(print_program(program)) == program
    return program


def there_and_back(width: int) -> Program:
    """One color: the west element sends to all, tears down; then the east one sends to all."""
    b = ProgramBuilder("there_and_back", 1, width)
    b.color("x")
    ways = {
        "west": ("R", "E", "E", "R"),
        "middle": ("W", "RE", "E", "RW"),
        "east": ("W", "R", "R", "W"),
    }
    for name, (rx, tx, later_rx, later_tx) in ways.items():
        code = b.code(name)
        code.buffer("v", "u32", N)
        code.buffer("got", "u32", 2 * N)
        code.mem1d("all", "v", N)
        code.mem1d("place", "got", N)
        code.input_queue(2, "x")
        code.output_queue(3, "x")
        code.fabin("in", 2, N)
        code.fabout("out", 3, N)
        code.fabout("command", 3, 1, control=True)
        main = code.task("main", entry=True)
        changed = code.task("changed", teardown="x")
        changed.reconfigure("x", rx=later_rx, tx=later_tx)
        changed.end_teardown("x")
        if name == "west":
            main.op("mov32", "out", "all")
            main.op("mov32", "command", control_wavelet("teardown", ignore_ce=True))
        else:
            main.op("mov32", "place", "in")
        if name == "east":
            changed.op("mov32", "out", "all")
        else:
            changed.op("mov32", Ref("place").at(N), "in")
        area = {"west": Area(0, 0), "middle": Area(0, 1, 1, width - 2), "east": Area(0, width - 1)}
        b.place(name, area[name])
        b.route("x", area[name], rx=rx, tx=tx)
    return checked(b)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("shuffle", [0, 5])
def test_one_color_there_and_back(profile: str, shuffle: int) -> None:
    program = there_and_back(5)
    machine = Machine(program, load_profile(profile))
    values = np.arange(5 * N, dtype=np.uint32).reshape(1, 5, N)
    result = machine.run(memory={"v": values}, shuffle=shuffle)
    expected = np.zeros((5, 2 * N), dtype=np.uint32)
    expected[1:, :N], expected[:4, N:] = values[0, 0], values[0, 4]
    assert (result.memory["got"][0] == expected).all()
    # N words and the command to the east, N words to the west
    assert result.trace.link_words[0, 1:4, 1].tolist() == [N + 1] * 3
    assert result.trace.link_words[0, 1:4, 3].tolist() == [N] * 3
    east = inspect_program(program, load_profile(profile)).colors_of(0, 1, "W")
    assert east == ("x",)


def changing(settings: dict[str, Any], *, teardown: bool = True, waits: int = 0) -> ProgramBuilder:
    """An element whose router takes words from the west; it ends the teardown it starts with."""
    b = ProgramBuilder("changing", 1, 1)
    b.color("x")
    code = b.code("main")
    code.input_queue(2, "x")
    code.buffer("sum", "u32", 1)
    code.buffer("count", "u32", 1)
    take = code.data_task("take", 2, [("value", "u32")])
    take.compute(code.element("sum"), "add", code.element("sum"), "value", dtype="u32")
    take.compute(code.element("count"), "add", code.element("count"), 1, dtype="u32")
    main = code.task("main", entry=True)
    with main.loop("wait", waits + 1):
        main.increment("idle")
    main.reconfigure("x", **settings)
    main.end_teardown("x")
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="N", tx="R", teardown=teardown)
    return b


def words(b: ProgramBuilder, side: str, count: int) -> None:
    b.edge_input(EdgeInput("in", side, 0, 1, "x", "u32", count))


@pytest.mark.parametrize("waits", [0, 30])
def test_words_that_wait_go_by_the_new_route(waits: int) -> None:
    b = changing({"rx": "W", "tx": "RE"}, waits=waits)
    words(b, "W", 9)
    b.edge_output(EdgeOutput("out", "E", 0, 1, "x", "u32", 9))
    values = np.arange(9, dtype=np.uint32)[None] + 4
    result = Machine(checked(b), load_profile("generic")).run(edges={"in": values})
    assert result.edges["out"].values.tolist() == values.tolist()
    assert result.memory["sum"].ravel().tolist() == [values.sum()]
    assert int(result.edges["out"].cycles.min()) > waits


def test_a_port_that_is_not_taken_any_more() -> None:
    b = changing({"rx": "W", "tx": "R"})
    words(b, "N", 3)
    with pytest.raises(DeadlockError) as caught:
        Machine(checked(b), load_profile("generic")).run(edges={"in": np.ones((1, 3))})
    assert any("switch position 0 does not take from there" in line for line in caught.value.waits)


@pytest.mark.parametrize(
    ("chosen", "kept"),
    [
        (RangeFilter(2, 5), [2, 3, 4, 5]),
        (CounterFilter(3, 1), [0, 3, 6]),
        (None, list(range(8))),
    ],
)
def test_another_filter(chosen: CounterFilter | RangeFilter | None, kept: list[int]) -> None:
    b = changing({"rx": "W", "tx": "R", "filter": chosen})
    words(b, "W", 8)
    values = np.arange(8, dtype=np.uint32) << 16 | 1
    profile = load_profile("wse3-sdk-sim")
    result = Machine(checked(b), profile).run(edges={"in": values[None]})
    assert result.memory["count"].ravel().tolist() == [len(kept)]
    assert result.memory["sum"].ravel().tolist() == [int(values[kept].sum())]


def test_another_switch_at_another_position() -> None:
    """Words are routed by position 1 of the new switch, then by 2, then (ring) by 0."""
    switch = Switch((Position(tx=("S",)), Position(tx=("N",))), current=1, ring=True)
    b = changing({"rx": "W", "tx": "E", "switch": switch})
    b.edge_input(EdgeInput("in", "W", 0, 1, "x", "u32", 3, control=True))
    for name in "SNE":
        b.edge_output(EdgeOutput(name, name, 0, 1, "x", "u32", 1))
    payload = [control_wavelet("switch_adv", data=i) for i in range(3)]
    result = Machine(checked(b), load_profile("generic")).run(edges={"in": [payload]})
    found = {name: int(result.edges[name].values[0, 0]) & 0xFFFF for name in "SNE"}
    assert found == {"S": 0, "N": 1, "E": 2}


def rounds(ports: str) -> Program:
    """Each round goes out by another port, on one color that is torn down in between."""
    b = ProgramBuilder("rounds", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("v", "u32", N)
    code.mem1d("all", "v", N)
    code.output_queue(3, "x")
    code.fabout("out", 3, N)
    code.fabout("command", 3, 1, control=True)
    torn = code.task("torn", teardown="x", entry=True)
    for number, port in enumerate(ports):
        with torn.when_below("round", number):
            torn.increment("later")
        with torn.otherwise(), torn.when_below("round", number + 1):
            torn.reconfigure("x", rx="R", tx=port)
    torn.increment("round")
    torn.end_teardown("x")
    with torn.when_below("round", len(ports) + 1):
        torn.op("mov32", "out", "all")
        torn.op("mov32", "command", control_wavelet("teardown"))
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="R", tx=ports[0], teardown=True)
    for port in sorted(set(ports)):
        b.edge_output(EdgeOutput(port, port, 0, 1, "x", "u32", ports.count(port) * (N + 1)))
    return checked(b)


@pytest.mark.parametrize("ports", ["N", "ESW", "NENE", "WWSN"])
def test_a_route_may_change_again_and_again(ports: str) -> None:
    values = np.arange(N, dtype=np.uint32) + 3
    machine = Machine(rounds(ports), load_profile("wse3-sdk-sim"))
    result = machine.run(memory={"v": values[None, None]})
    for port in set(ports):
        rows = result.edges[port].values.reshape(-1, N + 1)
        assert (rows[:, :N] == values).all()
    assert not FastMachine(rounds(ports), load_profile("generic")).certificate.granted


def test_a_change_without_a_teardown_is_an_error() -> None:
    b = changing({"rx": "W", "tx": "R", "filter": RangeFilter(0, 1)}, teardown=False)
    with pytest.raises(MachineError) as caught:
        Machine(checked(b), load_profile("generic")).run()
    text = str(caught.value).splitlines()[0]
    assert text == (
        "cycle 5, element (0, 0), code main, task main, reconfigure x: color x is not torn down at "
        "this router"
    )


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"rx": "W", "tx": "Q"}, "reconfigure x: rx and tx need ports N E S W R"),
        ({"rx": "", "tx": "R"}, "reconfigure x: rx and tx need ports N E S W R"),
        ({"rx": "W", "tx": "E", "filter": RangeFilter(0, 1)}, "a filter works at the ramp"),
        ({"rx": "W", "tx": "R", "switch": Switch(())}, "one to three positions"),
        (
            {"rx": "W", "tx": "E"},
            "it leaves the grid by E at element (0, 0), but there is no edge output",
        ),
    ],
)
def test_refused(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        Machine(changing(settings).build(), load_profile("generic"))
    assert text in str(caught.value)


def test_only_a_routed_color_changes() -> None:
    b = changing({"rx": "W", "tx": "R"})
    b.place("main", Area(0, 0))
    b._routes.clear()
    with pytest.raises(ProgramError, match="has no route of the color to change"):
        b.build()


def test_switches_of_some_colors_only() -> None:
    b = changing({"rx": "W", "tx": "R", "switch": Switch((Position(rx=("N",)),))})
    b._colors[0] = b._colors[0].__class__("x", 10)
    with pytest.raises(ProgramError, match="wse3-sdk-sim has no switches for this color"):
        Machine(b.build(), load_profile("wse3-sdk-sim"))
