"""What of a machine's program has a certificate: times for every independent part that has one.

A part without one is left to the reference engine, and the others are looked at again without it.
"""

from __future__ import annotations

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast import subset
from tilewright.simulator.fast.attempts import settled
from tilewright.simulator.fast.certificate import check_links, check_threads
from tilewright.simulator.fast.final_tables import Solution
from tilewright.simulator.fast.graph_tables import build_graph
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.script import Script, Walk, script_from
from tilewright.simulator.fast.scripts import script_of
from tilewright.simulator.fast.walker import MOST_INSTRUCTIONS
from tilewright.simulator.run.machine import Machine

NOTHING = script_from(Walk((), (), (), (), (0,) * 16))
"""The script of a code whose elements are all left to the reference engine."""


def settle(machine: Machine) -> tuple[Solution | None, Division]:
    """Return the times of all parts that have a certificate, and which these are."""
    division = Division(machine.compiled.network)
    for missing in subset.unknown_parts(machine.program, machine.compiled.network):
        division.refuse(missing)
    scripts = scripts_of(machine, division)
    while division.elements.any():
        try:
            return _solve(machine, scripts, division), division
        except NotCovered as missing:
            if not division.meet(missing):
                division.refuse(missing)
    return None, division


def scripts_of(
    machine: Machine, division: Division, steps: int = MOST_INSTRUCTIONS
) -> tuple[Script, ...]:
    """Return the script of each code; refuse the elements of a code that has none."""
    codes = machine.program.placement.ravel()
    found = []
    for number, block in enumerate(machine.compiled.tables.blocks):
        found.append(NOTHING)
        elements = np.flatnonzero(codes == number)
        if not division.elements[elements].any():
            continue
        try:
            found[-1] = script_of(block, steps)
        except NotCovered as missing:
            division.refuse(NotCovered(missing.reason, elements=elements))
    return tuple(found)


def _solve(machine: Machine, scripts: tuple[Script, ...], division: Division) -> Solution:
    """Find all times and check them. Raises NotCovered."""
    network, header = machine.compiled.network, machine.compiled.tables.header
    graph, layout = build_graph(machine.program, network, scripts, division)
    times = settled(graph, (int(header[at.K_ISSUE]), int(header[at.K_COMPLETION])))
    check_threads(layout, times, scripts)
    check_links(network, graph, layout, times, division)
    return Solution(network, graph, layout, scripts, times, division)
