"""Colors that become FIFOs together give the network that they give one by one."""

from typing import Any

import numpy as np
import pytest
from explore import at_night
from machine_programs import random_case
from passing_programs import passing_program

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric import routers
from tilewright.simulator.compile.fabric.network import FifoNetwork
from tilewright.simulator.compile.fabric.network_compiler import compile_network
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine

GENERIC = load_profile("generic")


def compiled(program: Program) -> FifoNetwork:
    layouts = Machine(program, GENERIC).compiled.layouts
    return compile_network(program, layouts, GENERIC)


def by_kind(network: FifoNetwork) -> dict[str, Any]:
    """Return all of a network with its FIFOs kind by kind: their order of one kind stays."""
    order = np.argsort(network.kind, kind="stable")
    number = np.append(np.argsort(order), -1)  # the last one for FIFOs that are not there
    fifo = network.fifo[order]
    for rank in range(5):
        column = fifo[:, at.F_NEXT + rank]
        column[:] = np.where(fifo[:, at.F_SUCCESSORS] > rank, number[column], column)
    itself = network.fifo[order, at.F_USER] == order
    fifo[itself, at.F_USER] = np.flatnonzero(itself)
    state = network.steered.state.copy()
    state[:, at.X_FIFOS : at.X_FIFOS + 5] = number[state[:, at.X_FIFOS : at.X_FIFOS + 5]]
    lists = {
        name: [number[fifos].tolist() for fifos in getattr(network, name)]
        for name in ("edge_inputs", "edge_outputs", "leaving", "bound")
    }
    tables = {
        "fifo": fifo,
        "queue": number[network.queue],
        "element": network.element[order],
        "state": state,
        "way": network.steered.way,
        "ports": network.steered.ports,
        "change": network.steered.change,
        "closed": number[network.closed],
    }
    sums = {"links": network.links, "ring_entries": network.ring_entries}
    return lists | {name: table.tolist() for name, table in tables.items()} | sums


@pytest.mark.parametrize("block", [0, *at_night(*range(1, 20))])
def test_colors_together_and_one_by_one(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    seeds = range(15 * block, 15 * (block + 1))
    programs = [make(seed) for seed in seeds for make in (random_program, passing_program)]
    together = [compiled(program) for program in programs]
    monkeypatch.setattr(routers, "MOST_SITES", 0)
    for program, network in zip(programs, together, strict=True):
        assert by_kind(network) == by_kind(compiled(program))


def random_program(seed: int) -> Program:
    return random_case(seed).program


def test_kinds_come_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two ways differ in the order of FIFOs: the test above compares two ways."""
    program = passing_program(3)
    together = compiled(program)
    monkeypatch.setattr(routers, "MOST_SITES", 0)
    assert together.kind.tolist() != compiled(program).kind.tolist()
