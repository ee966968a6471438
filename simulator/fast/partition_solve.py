"""Times for every independent part of a program that gets a certificate.

A part that is refused is left to the reference engine; the other parts are solved again without
it. Where two colors want a link, the arbiter decides in the next round.
"""

from __future__ import annotations

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast import subset
from tilewright.simulator.fast.attempts import solved_times
from tilewright.simulator.fast.certificate import check_links, check_threads
from tilewright.simulator.fast.graph_tables import build_graph
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.script import MainThreadWalk, Script, script_from
from tilewright.simulator.fast.scripts import script_of
from tilewright.simulator.fast.timed_program import TimedProgram
from tilewright.simulator.fast.walker import MOST_INSTRUCTIONS
from tilewright.simulator.run.machine import Machine

EMPTY_SCRIPT = script_from(MainThreadWalk((), (), (), (), (0,) * 16))
"""The script of a code whose elements are all refused."""


def solve_parts(machine: Machine) -> tuple[TimedProgram | None, Division]:
    """Return the times of the granted parts, None if there are none, and the division in parts."""
    division = Division(machine.compiled.network)
    for missing in subset.unknown_parts(machine.program, machine.compiled.network):
        division.refuse(missing)
    scripts = scripts_of(machine, division)
    while division.elements.any():
        try:
            return _solve(machine, scripts, division), division
        except NotCovered as missing:
            if not division.contend(missing):
                division.refuse(missing)
    return None, division


def scripts_of(
    machine: Machine, division: Division, steps: int = MOST_INSTRUCTIONS
) -> tuple[Script, ...]:
    """Return the script of each code; refuse the elements of a code that has none.

    steps: the most instructions of a code that are walked.
    """
    codes = machine.program.placement.ravel()
    scripts = []
    for number, block in enumerate(machine.compiled.tables.blocks):
        scripts.append(EMPTY_SCRIPT)
        elements = np.flatnonzero(codes == number)
        if not division.elements[elements].any():
            continue
        try:
            scripts[-1] = script_of(block, steps)
        except NotCovered as missing:
            division.refuse(NotCovered(missing.reason, elements=elements))
    return tuple(scripts)


def _solve(machine: Machine, scripts: tuple[Script, ...], division: Division) -> TimedProgram:
    """Return all times, with every check of the certificate. Raises NotCovered."""
    network, header = machine.compiled.network, machine.compiled.tables.header
    graph, layout = build_graph(machine.program, network, scripts, division)
    times = solved_times(graph, int(header[at.K_ISSUE]), int(header[at.K_COMPLETION]))
    check_threads(layout, times, scripts)
    check_links(network, graph, layout, times, division)
    return TimedProgram(network, graph, layout, scripts, times, division)
