"""Times of the units of a small grid, and where each unit is.

A unit is one run of an operation on queues in an element, or one message through a router or in at
an edge. Every router is timed by itself here: a straight line of routers would depend on the size
of the grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.partition_solve import ProofEffort, solve_parts
from tilewright.simulator.fast.proofs.certificate import units_of
from tilewright.simulator.fast.times.timed_program import TimedProgram
from tilewright.simulator.fast.units.graph import EDGE, NODE, THREAD, U_FIRST, U_KIND, U_OUT, Ints
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import PORTS
from tilewright.simulator.run.machine import Machine

Contended = npt.NDArray[np.bool_]
WHOLE: Final = ProofEffort(in_parts=False)
"""Times of parts are of no use."""
QUICK: Final = ProofEffort(1 << 15, in_parts=False)
"""Most proofs need less, and there are other ways to try."""
KINDS, COLORS = 5, 32
"""Kinds of FIFOs in a network, and more numbers than colors have."""


@dataclass(frozen=True, slots=True)
class SmallTimes:
    """A small program with the times of its units.

    A unit is one run of an operation on queues in an element, or one message. `timed`: the program
    with its times. `places`: (units, 5) row, column, kind, number (operation, color, or color and
    side) and message of each unit; no two are equal. `execute`: cycles from the dispatch of a
    task's last instruction to the task's end. `shape`: rows and columns.
    """

    timed: TimedProgram
    places: Ints
    execute: int
    shape: tuple[int, int]

    @property
    def contended(self) -> Contended:
        """The FIFOs whose links an arbiter decides: mask (rows, columns, kinds of FIFO, colors)."""
        network = self.timed.network
        fifos = np.flatnonzero(self.timed.division.contended)
        contended = np.zeros((*self.shape, KINDS, COLORS), dtype=bool)
        row, column = np.divmod(network.element[fifos], self.shape[1])
        contended[row, column, network.kind[fifos], network.fifo[fifos, at.F_COLOR]] = True
        return contended


def small_times(
    program: Program,
    profile: Profile,
    contended: Contended | None = None,
    effort: ProofEffort = WHOLE,
) -> SmallTimes:
    """Find the times of a program on a small grid by the fast engine, with all checks.

    contended: mask as of `SmallTimes.contended`, FIFOs whose links an arbiter decides from the
    start. effort: how much is done. Raises NotCovered where the fast engine has no certificate.
    """
    machine = Machine(program, profile)
    contending = None
    if contended is not None:
        network = machine.compiled.network
        row, column = np.divmod(network.element, program.width)
        chosen = contended[row, column, network.kind, np.maximum(network.fifo[:, at.F_COLOR], 0)]
        contending = np.flatnonzero(chosen)
    timed, division = solve_parts(
        machine, separate_routers=True, contending=contending, effort=effort
    )
    if timed is None or not division.whole:
        raise NotCovered(division.reason)
    execute = int(machine.compiled.tables.header[at.K_EXECUTE])
    shape = program.height, program.width
    return SmallTimes(timed, unit_places(timed, program), execute, shape)


def unit_places(timed: TimedProgram, program: Program) -> Ints:
    """Return where each unit is: (units, 5), as of `SmallTimes.places`."""
    graph, layout, network = timed.graph, timed.layout, timed.network
    kind = graph.unit[:, U_KIND]
    places = np.zeros((kind.size, 5), dtype=np.int64)
    places[:, 2] = kind
    element = np.zeros(kind.size, dtype=np.int64)
    for number, script in enumerate(timed.scripts):
        for operation in range(script.size):
            units = units_of(layout, number, script, operation)
            element[units], places[units, 3] = layout.elements[number], operation
    passed = np.flatnonzero(kind != THREAD)
    fifo = graph.unit[passed, U_OUT]
    element[passed] = network.element[fifo]
    tag = network.fifo[:, at.F_COLOR].astype(np.int64)
    colors = {color.name: color.id for color in program.colors}
    for port, fifos in zip(program.edge_inputs, network.edge_inputs, strict=True):
        tag[fifos] = len(PORTS) * colors[port.color] + PORTS.index(port.side)
    places[passed, 3] = tag[fifo]
    places[passed, 4] = passed - graph.unit[passed, U_FIRST]
    assert {THREAD, NODE, EDGE} >= set(np.unique(kind).tolist())
    places[:, 0], places[:, 1] = np.divmod(element, program.width)
    return places


def matching(places: Ints, wanted: Ints) -> Ints:
    """Return for each wanted place the number of the unit that is there: (n,).

    places: (units, 5) as of `SmallTimes`; wanted: (n, 5). Raises NotCovered if no unit is at a
    wanted place.
    """
    sizes = np.maximum(places.max(axis=0, initial=0), wanted.max(axis=0, initial=0)) + 1
    numbers = np.ravel_multi_index(tuple(places.T), tuple(sizes))
    wanted_numbers = np.ravel_multi_index(tuple(wanted.T), tuple(sizes))
    order = np.argsort(numbers, kind="stable")
    last = max(0, order.size - 1)
    rank = np.minimum(np.searchsorted(numbers[order], wanted_numbers), last)
    if order.size == 0 or not np.array_equal(numbers[order[rank]], wanted_numbers):
        raise NotCovered("equal lines of the grid do not do the same")
    return np.asarray(order[rank], dtype=np.int64)
