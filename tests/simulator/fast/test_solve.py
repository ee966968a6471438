"""The solver's times: spans of words, and every word of a chain, by hand."""

import numpy as np
import pytest

from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.fast.fast_entries import expand, gather
from tilewright.simulator.fast.partition_solve import solve_parts
from tilewright.simulator.fast.times.segments import NEVER
from tilewright.simulator.fast.times.timed_program import TimedProgram
from tilewright.simulator.fast.units import graph as at
from tilewright.simulator.fast.units.graph import SOLVED, X_EVALUATIONS, X_OUTCOME, WordSpan
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

WORDS = 6


def chain(elements: int) -> TimedProgram:
    machine = Machine(chain_reduce(elements, WORDS), load_profile("wse2-sdk-sim"))
    timed, _ = solve_parts(machine)
    assert timed is not None
    return timed


def spanned(timed: TimedProgram, span: WordSpan) -> list[int]:
    work = np.empty((16, 3), dtype=np.int64)
    n = gather(timed.graph, timed.times, work, span, 1)
    cycles = np.empty(int(work[:n, 2].sum()), dtype=np.int64)
    expand(work, n, cycles)
    return cycles.tolist()


@pytest.mark.parametrize("elements", [2, 3, 9])
def test_a_chain_moves_a_word_per_cycle_and_six_cycles_later_at_the_next_element(
    elements: int,
) -> None:
    timed = chain(elements)
    assert timed.times.header[X_OUTCOME] == SOLVED
    assert timed.times.header[X_EVALUATIONS] == elements  # one evaluation per unit
    port = timed.graph.unit[:, at.U_IN].max()
    while port >= 0:
        source = int(timed.graph.port[port, at.P_SOURCE])
        sender = int(timed.graph.entry[timed.graph.port[source, at.P_AT], 0])
        distance = (int(timed.times.first[sender]) - 5) // 6
        sent = [5 + 6 * distance + k for k in range(WORDS)]
        assert spanned(timed, WordSpan(source, 0, WORDS, 0)) == sent
        port = int(timed.graph.unit[sender, at.U_IN])


def test_a_span_starts_anywhere_and_is_shifted() -> None:
    timed = chain(2)
    source = int(timed.graph.unit[:, at.U_OUT].max())
    assert spanned(timed, WordSpan(source, 2, 3, 100)) == [107, 108, 109]
    assert spanned(timed, WordSpan(source, -2, 4, 0)) == [NEVER, NEVER, 5, 6]
    assert spanned(timed, WordSpan(source, 0, 0, 0)) == []
