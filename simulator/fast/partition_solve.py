"""Times for every independent part of a program that gets a certificate.

A part that is refused is left to the reference engine; the other parts are solved again without
it. Where two colors want a link, the arbiter decides in the next round.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Final

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast import subset
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.no_certificate import Ints, NotCovered
from tilewright.simulator.fast.proofs.certificate import check_links, check_threads
from tilewright.simulator.fast.proofs.main_spans import check_slots
from tilewright.simulator.fast.times.attempts import solved_times
from tilewright.simulator.fast.times.timed_program import TimedProgram
from tilewright.simulator.fast.units.graph_tables import build_graph
from tilewright.simulator.fast.walk.plain_code import code_of_tables
from tilewright.simulator.fast.walk.script import MainThreadWalk, Script, script_from
from tilewright.simulator.fast.walk.scripts import PlacedCode, script_of
from tilewright.simulator.fast.walk.walker import MOST_INSTRUCTIONS
from tilewright.simulator.run.machine import Machine

EMPTY_SCRIPT = script_from(MainThreadWalk((), (), (), (), (0,) * 16))
"""The script of a code whose elements are all refused."""


@dataclass(frozen=True, slots=True)
class ProofEffort:
    """How much is done to find the times of a program.

    `patience`: most evaluations of the last attempt with contended links, of some 3 µs each; None:
    20 per unit. `in_parts`: whether the times of parts are of use where others have none.
    """

    patience: int | None = None
    in_parts: bool = True


USUAL: Final = ProofEffort()
VISITS: Final = 128
"""Visits of a run for each evaluation: more evaluations find the times of few programs."""


def effort_before(visits: int) -> ProofEffort:
    """Return how much is done before a run of so many visits (cycles times elements).

    It is a small part of the run, or about as much where links are contended.
    """
    return ProofEffort(max(1, visits // VISITS), in_parts=False)


def solve_parts(
    machine: Machine,
    *,
    separate_routers: bool = False,
    contending: Ints | None = None,
    effort: ProofEffort = USUAL,
) -> tuple[TimedProgram | None, Division]:
    """Find the times of all parts of a program that the fast engine can prove.

    separate_routers: time every router by itself, as quotients of a large grid need it.
    contending: FIFOs whose links are left to the simulated arbiter from the start.

    Parts share no queue, link or element (engines.md §7). A part that cannot be proved is refused,
    and the others are solved again. Returns the program with the times of the granted parts, or
    None if there are none, and the division into granted and refused parts. Raises nothing for a
    refusal.
    """
    network = machine.compiled.network
    division = Division(network, separate_routers=separate_routers, in_parts=effort.in_parts)
    for missing in subset.unknown_parts(machine.program, network):
        division.refuse(missing)
    scripts = scripts_of(machine, division)
    if contending is not None and contending.size:
        division.contend(NotCovered("two colors want a link at once", contending=contending))
    while division.elements.any() and (division.whole or effort.in_parts):
        try:
            return _solve(machine, scripts, division, effort.patience), division
        except NotCovered as missing:
            if not division.contend(missing):
                division.refuse(missing)
    return None, division


def scripts_of(
    machine: Machine, division: Division, steps: int = MOST_INSTRUCTIONS
) -> tuple[Script, ...]:
    """Return the script of each code: the runs of operations of an element, in order.

    division: changed; the elements of a code that has no script are refused, and its script is
    empty. steps: most instructions of a code that are followed.
    """
    codes, compiled = machine.program.placement.ravel(), machine.compiled
    words = cache(partial(code_of_tables, compiled.tables))  # of all codes, at the first use
    scripts = []
    for number, block in enumerate(compiled.tables.blocks):
        scripts.append(EMPTY_SCRIPT)
        elements = np.flatnonzero(codes == number)
        if not division.elements[elements].any():
            continue
        try:
            scripts[-1] = script_of(PlacedCode(block, compiled.layouts[number], words), steps)
        except NotCovered as missing:
            division.refuse(NotCovered(missing.reason, elements=elements))
    return tuple(scripts)


def _solve(
    machine: Machine, scripts: tuple[Script, ...], division: Division, patience: int | None
) -> TimedProgram:
    """Return all times, with every check of the certificate. Raises NotCovered."""
    network, header = machine.compiled.network, machine.compiled.tables.header
    graph, layout = build_graph(machine.program, network, scripts, division)
    issue, completion = int(header[at.K_ISSUE]), int(header[at.K_COMPLETION])
    times = solved_times(graph, issue, completion, patience)
    check_threads(layout, times, scripts)
    check_slots(graph, layout, times, scripts)
    check_links(network, graph, layout, times, division)
    return TimedProgram(network, graph, layout, scripts, times, division)
