"""Reductions: the closed forms against a walk over every element, and the sum they carry."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.mapper.grid.collectives import (
    SCHEMES,
    CollectiveCounts,
    Phase,
    Scheme,
    count_grid,
    count_line,
    grid_phases,
    line_phases,
)


class Walk:
    """Carry one word from every element through the phases, element by element."""

    def __init__(self, columns: int, rows: int) -> None:
        self.held = {(c, r): 1 for c in range(columns) for r in range(rows)}
        self.pending: dict[tuple[int, int], int] = {}
        self.hops = self.reads = self.writes = self.additions = 0

    def receive(self, place: tuple[int, int], value: int) -> None:
        if place in self.pending:  # the one before goes through memory
            self.held[place] += self.pending.pop(place)
            self.reads, self.writes, self.additions = (
                self.reads + 1,
                self.writes + 1,
                self.additions + 1,
            )
        self.pending[place] = value

    def send(self, place: tuple[int, int]) -> int:
        self.reads += 1
        value = self.held.pop(place)
        if place in self.pending:
            self.additions += 1
            value += self.pending.pop(place)
        return value

    def run(self, phases: Sequence[Phase], columns: int, rows: int) -> int:
        for phase in phases:
            lines = range(rows if phase.axis == "X" else columns)
            for line in lines if phase.line is None else (phase.line,):
                for chain in phase.chains:
                    places = [
                        (p, line) if phase.axis == "X" else (line, p) for p in chain.positions
                    ]
                    for here, there in pairwise(places):
                        value = self.send(here)
                        self.hops += abs(there[0] - here[0]) + abs(there[1] - here[1])
                        self.receive(there, value)
        return self.send((columns - 1, rows - 1))

    @property
    def counts(self) -> CollectiveCounts:
        return CollectiveCounts(self.hops, self.reads, self.writes, self.additions)


@given(st.integers(1, 40), st.sampled_from(SCHEMES))
def test_a_line_is_summed_once_and_counted_exactly(elements: int, scheme: Scheme) -> None:
    walk = Walk(elements, 1)
    assert walk.run(line_phases("X", elements, scheme), elements, 1) == elements
    assert walk.counts == count_line(elements, scheme)


@given(st.integers(1, 12), st.integers(1, 12), st.sampled_from(SCHEMES))
def test_a_grid_is_summed_once_and_counted_exactly(columns: int, rows: int, scheme: Scheme) -> None:
    walk = Walk(columns, rows)
    assert walk.run(grid_phases(columns, rows, scheme), columns, rows) == columns * rows
    assert walk.counts == count_grid(columns, rows, scheme)


@pytest.mark.parametrize(("elements", "hops"), [(4, 3), (512, 511)])
def test_a_chain_takes_every_link_once(elements: int, hops: int) -> None:
    assert count_line(elements, "chain") == CollectiveCounts(hops, elements, 0, elements - 1)


def test_two_phases_of_sixteen() -> None:
    """Groups of 4: 4 × 3 hops inside, 12 between heads; 3 heads add through memory."""
    assert count_line(16, "two_phase") == CollectiveCounts(24, 19, 3, 15)
