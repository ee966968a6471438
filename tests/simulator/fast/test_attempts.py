"""The order in which units are evaluated changes how often, never the times."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.compile import columns as at
from tilewright.simulator.examples.gemv import gemv_like
from tilewright.simulator.examples.known_costs import chain_reduce, two_phase_reduce
from tilewright.simulator.fast.fast_entries import solve
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.partition_solve import scripts_of
from tilewright.simulator.fast.times.attempts import SolverAttempt, new_times, solved_times
from tilewright.simulator.fast.units.graph import FOREVER, SOLVED, TOO_LONG, X_OUTCOME
from tilewright.simulator.fast.units.graph_tables import build_graph
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

PROGRAMS = {
    "chain": lambda: chain_reduce(9, 40),
    "two phases": lambda: two_phase_reduce(16, 33, 4),
    "matrix-vector": lambda: gemv_like(4, 5, 17, 2),
}


def graph_of(name):
    machine = Machine(PROGRAMS[name](), load_profile("wse2-sdk-sim"))
    division = Division(machine.compiled.network)
    scripts = scripts_of(machine, division)
    graph, _ = build_graph(machine.program, machine.compiled.network, scripts, division)
    code = machine.compiled.program_store.code
    return graph, (int(code[at.K_ISSUE]), int(code[at.K_COMPLETION]))


def words(times):
    """The time of every word of every unit."""
    return [
        [int(t + r * k) for t, r, m in times.segment[u, : times.pieces[u]] for k in range(m)]
        for u in range(times.pieces.size)
    ]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("window", [0, 1, 16, 1000])
def test_a_window_gives_the_same_times(name, window):
    graph, cycles = graph_of(name)
    plain = solved_times(graph, *cycles)
    times = new_times(graph, SolverAttempt(16, window, 8 * 64, 4096), *cycles)
    solve(graph, times)
    assert times.header[X_OUTCOME] == SOLVED
    assert words(times) == words(plain)
    assert np.array_equal(times.start, plain.start)
    assert np.array_equal(times.first, plain.first)
    assert np.array_equal(times.last, plain.last)


def test_an_attempt_ends_at_its_limit():
    graph, cycles = graph_of("chain")
    times = new_times(graph, SolverAttempt(4, FOREVER, 0, 3), *cycles)
    solve(graph, times)
    assert times.header[X_OUTCOME] == TOO_LONG


def test_a_great_graph_that_needs_an_order_is_not_covered(monkeypatch):
    graph, cycles = graph_of("chain")
    attempts = "tilewright.simulator.fast.times.attempts"
    monkeypatch.setattr(
        f"{attempts}.ATTEMPTS", (SolverAttempt(4, FOREVER, 0, 3), SolverAttempt(4, 16, 99, 99))
    )
    assert solved_times(graph, *cycles).header[X_OUTCOME] == SOLVED
    monkeypatch.setattr(f"{attempts}.MOST_IN_ORDER", 1)
    with pytest.raises(NotCovered, match="do not settle"):
        solved_times(graph, *cycles)
