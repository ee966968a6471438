"""Switch positions, pop modes, reset and local advance against slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.machine_errors import DeadlockError
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput, Position, Switch
from tilewright.simulator.run.machine import Machine

WSE3 = load_profile("wse3-sdk-sim")
COMMANDS = ("nop", "switch_adv", "switch_rst")


def expected_ports(wavelets: list[int | None], switch: Switch, base: str) -> list[str]:
    """Return the port of every wavelet (None: data, k: command k of control), step by step."""
    ports = [base, *("".join(p.tx or ()) for p in switch.positions)]
    position, found = switch.current, []
    for command in wavelets:
        found.append(ports[position])
        if command == 1:
            last = position == len(ports) - 1
            position = (0 if switch.ring else position) if last else position + 1
        elif command == 2:
            position = 0
    return found


@settings(max_examples=20)
@given(
    st.lists(st.sampled_from([None, 0, 1, 2]), min_size=1, max_size=12),
    st.integers(1, 3),
    st.integers(0, 3),
    st.booleans(),
    st.integers(0, 1000),
)
def test_a_switch_follows_its_commands(
    wavelets: list[int | None], positions: int, current: int, ring: bool, shuffle: int
) -> None:
    switch = Switch(
        tuple(Position(tx=(port,)) for port in "ESW"[:positions]), min(current, positions), ring
    )
    ports = expected_ports(wavelets, switch, "N")
    b = ProgramBuilder("switch", 1, 1)
    b.color("x")
    code = b.code("main")
    code.output_queue(2, "x")
    code.fabout("data", 2, 1)
    code.fabout("command", 2, 1, control=True)
    main = code.task("main", entry=True)
    for number, command in enumerate(wavelets):
        if command is None:
            main.op("mov32", "data", number)
        else:
            main.op("mov32", "command", control_wavelet(COMMANDS[command], data=number))
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="R", tx="N", switch=switch)
    reached = {"N": "N", **{p: p for p in "ESW"[:positions]}}
    for port in reached:
        count = ports.count(port)
        if count:
            b.edge_output(EdgeOutput(port, port, 0, 1, "x", "u16", count))
    missing = [port for port in reached if port not in ports]
    for port in missing:  # a position that is never used still needs a way out
        b.edge_output(EdgeOutput(port, port, 0, 1, "x", "u16", 1))
    machine = Machine(b.build(), WSE3)
    if missing:
        with pytest.raises(DeadlockError) as caught:
            machine.run(shuffle=shuffle)
        lines = "\n".join(caught.value.waits)
        assert all(f"edge output {port}, position 0, has 0 of 1" in lines for port in missing)
        assert lines.count("edge output") == len(missing)
        return
    result = machine.run(shuffle=shuffle)
    for port in reached:
        numbers = [n for n, p in enumerate(ports) if p == port]
        assert result.edges[port].values[0].tolist() == numbers


def gather(elements: int, words: int, *, local: bool) -> ProgramBuilder:
    """Every element sends its words to the east end, the nearest first, by switching rx."""
    b = ProgramBuilder("gather", 1, elements + 1)
    b.color("x")
    for name in ("end", "west"):
        code = b.code(name)
        code.buffer("v", "u32", words)
        code.mem1d("all", "v", words)
        code.output_queue(3, "x")
        code.fabout("out", 3, words, advance_switch=local)
        code.fabout("command", 3, 1, control=True)
        main = code.task("main", entry=True)
        main.op("mov32", "out", "all")
        if not local:
            main.op("mov32", "command", control_wavelet("switch_adv", ignore_ce=True))
    sink = b.code("sink")
    sink.buffer("got", "u32", elements * words)
    sink.mem1d("all", "got", elements * words)
    sink.input_queue(2, "x")
    sink.fabin("in", 2, elements * words)
    sink.task("main", entry=True).op("mov32", "all", "in")
    b.place("end", Area(0, 0, 1, elements))
    b.place("west", Area(0, 0))
    b.place("sink", Area(0, elements))
    b.route("x", Area(0, 0), rx="R", tx="E")
    pass_on = Switch((Position(rx=("W",)),))
    b.route("x", Area(0, 1, 1, elements - 1), rx="R", tx="E", switch=pass_on)
    b.route("x", Area(0, elements), rx="W", tx="R")
    return b


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("shuffle", [0, 7])
def test_rx_switch_gathers_in_order(local: bool, shuffle: int) -> None:
    elements, words = 5, 7
    v = np.arange((elements + 1) * words).reshape(1, elements + 1, words)
    given_memory = {"v": {(0, c): v[0, c] for c in range(elements)}}
    machine = Machine(gather(elements, words, local=local).build(), WSE3)
    result = machine.run(memory=given_memory, shuffle=shuffle)
    assert result.memory["got"][0, elements].tolist() == v[0, elements - 1 :: -1].ravel().tolist()
    control = 0 if local else elements
    assert result.trace.link_words[0, elements - 1, 1] == elements * words + control
    assert result.trace.link_words[0, elements, 4] == elements * words


@pytest.mark.parametrize(
    ("pop", "moves"),
    [
        ("no_pop", [1, 1, 1]),
        ("always_pop", [1, 0, 1]),
        ("pop_on_advance", [1, 0, 0]),
        ("pop_on_advance_nop", [1, 0, 1]),
    ],
)
def test_pop_modes_eat_the_command_list(pop: str, moves: list[int]) -> None:
    """A wavelet with (advance, nop, advance) goes through three routers of one mode."""
    b = ProgramBuilder("pop", 2, 4)
    b.color("x")
    code = b.code("send")
    code.output_queue(3, "x")
    code.fabout("command", 3, 1, control=True)
    code.fabout("data", 3, 3)
    main = code.task("main", entry=True)
    main.op("mov32", "command", control_wavelet("switch_adv", "nop", "switch_adv"))
    main.op("mov32", "data", 1)
    b.code("idle").task("main")
    b.place("idle", Area(0, 0, 2, 4))
    b.place("send", Area(0, 0))
    b.route("x", Area(0, 0), rx="R", tx="E")
    switch = Switch((Position(tx=("S", "E")),), pop=pop)
    b.route("x", Area(0, 1, 1, 3), rx="W", tx="E", switch=switch)
    b.route("x", Area(1, 1, 1, 3), rx="N", tx="S")
    b.edge_output(EdgeOutput("out", "E", 0, 1, "x", "u32", 4))
    for column, moved in enumerate(moves, 1):
        b.edge_output(EdgeOutput(f"s{column}", "S", column, 1, "x", "u32", 3 if moved else 1))
    machine = Machine(b.build(), WSE3)
    if all(moves):
        result = machine.run()
        assert result.trace.link_words[0, 1:, 2].tolist() == [3, 3, 3]
        return
    with pytest.raises(DeadlockError) as caught:  # where it did not move, nothing comes south
        machine.run()
    silent = [
        f"edge output s{c}, position {c}, has 0 of 1" for c, m in enumerate(moves, 1) if not m
    ]
    assert [line.split(" words")[0] for line in caught.value.waits] == silent


@pytest.mark.parametrize("ring", [False, True])
def test_a_switch_does_not_advance_to_an_invalid_position(ring: bool) -> None:
    """Position 1 is invalid: from position 0 the switch stays (or goes to 0, the same)."""
    positions = (Position(), Position(tx=("S",)), Position(tx=("N",)))
    b = ProgramBuilder("invalid", 1, 1)
    b.color("x")
    code = b.code("main")
    code.output_queue(3, "x")
    code.fabout("out", 3, 1)
    code.fabout("command", 3, 1, control=True)
    main = code.task("main", entry=True)
    main.op("mov32", "command", control_wavelet("switch_adv"))
    main.op("mov32", "out", 7)
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="R", tx="E", switch=Switch(positions, ring=ring))
    b.edge_output(EdgeOutput("east", "E", 0, 1, "x", "u32", 2))
    for side in "SN":
        b.edge_output(EdgeOutput(side, side, 0, 1, "x", "u32", 1))
    with pytest.raises(DeadlockError) as caught:
        Machine(b.build(), WSE3).run()
    assert len(caught.value.waits) == 2  # only S and N got nothing


def test_control_wavelets_from_the_edge_move_switches() -> None:
    """The edge sends a command, then data: they leave by the next position."""
    b = ProgramBuilder("edge", 1, 1)
    b.color("x")
    b.code("idle").task("main")
    b.place("idle", Area(0, 0))
    b.route("x", Area(0, 0), rx="W", tx="E", switch=Switch((Position(tx=("S",)),)))
    b.edge_output(EdgeOutput("east", "E", 0, 1, "x", "u32", 1))
    b.edge_output(EdgeOutput("south", "S", 0, 1, "x", "u32", 3))
    b.edge_input(EdgeInput("commands", "W", 0, 1, "x", "u32", 1, control=True))
    program = b.build()
    command = np.array([[control_wavelet("switch_adv")]], dtype=np.uint32)
    with pytest.raises(DeadlockError, match="south, position 0, has 0 of 3 words"):
        Machine(program, WSE3).run(edges={"commands": command})
    b._routes[:] = []
    b.route("x", Area(0, 0), rx="NW", tx="E", switch=Switch((Position(tx=("S",)),)))
    b.edge_input(EdgeInput("data", "N", 0, 1, "x", "u32", 3, start=5))
    result = Machine(b.build(), WSE3).run(
        edges={"commands": command, "data": np.array([[7, 8, 9]], dtype=np.uint32)}
    )
    assert result.edges["east"].values.tolist() == command.tolist()
    assert result.edges["south"].values.tolist() == [[7, 8, 9]]
