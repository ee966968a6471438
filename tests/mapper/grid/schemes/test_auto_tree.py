"""Generated trees: the fastest of all pre-order trees, by a list of them and by a walk."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.mapper.grid.schemes.auto_tree import MOST_PHASES, MOST_SUMS, Phases, auto_phases
from tilewright.mapper.grid.schemes.line_costs import PUBLISHED_COSTS, AdditionCosts, LineCosts
from tilewright.mapper.workload.errors import InfeasibleMapping

COSTS = st.builds(AdditionCosts, st.integers(1, 60), st.integers(1, 20), st.integers(1, 5))
Tree = tuple["Tree", ...]
"""The children of an element, the nearest one first."""


@lru_cache(maxsize=64)
def trees(size: int) -> tuple[Tree, ...]:
    """Return all pre-order trees of so many elements."""
    if size == 1:
        return ((),)
    return tuple(
        (*rest, child)
        for below in range(1, size)
        for rest in trees(size - below)
        for child in trees(below)
    )


def size_of(tree: Tree) -> int:
    return 1 + sum(map(size_of, tree))


def fits(tree: Tree) -> bool:
    return len(tree) <= MOST_SUMS and all(map(fits, tree)) and phases_of(tree) <= MOST_PHASES


def phases_of(tree: Tree) -> int:
    """Return the phases of a tree: the farthest child's last one, or one more than those before."""
    phases = 0
    for child in tree:
        phases = max(phases + 1, phases_of(child))
    return phases


def done(tree: Tree, costs: AdditionCosts) -> int:
    """Return when an element has added all sums, or has sent its own if it receives none."""
    time, distance = 0, 1
    for child in tree:
        arrived = done(child, costs) + costs.way + distance * costs.hop
        time, distance = max(time + costs.addition, arrived), distance + size_of(child)
    return time if tree else costs.addition


def followed(phases: Phases, elements: int, costs: AdditionCosts) -> int:
    """Return when the last element is done that follows the chains of a line."""
    times, has_sum = [0] * elements, set[int]()
    for chain in (chain for phase in phases for chain in phase):
        sent = times[chain[0]] + (0 if chain[0] in has_sum else costs.addition)
        for before, here in pairwise(chain):
            arrived = sent + costs.way + (here - before) * costs.hop
            sent = times[here] = max(times[here] + costs.addition, arrived)
            has_sum.add(here)
    return times[-1]


@given(st.integers(2, 9), COSTS)
def test_no_tree_is_faster(elements: int, costs: AdditionCosts) -> None:
    least = min(done(tree, costs) for tree in trees(elements) if fits(tree))
    assert followed(auto_phases(elements, costs), elements, costs) == least


@given(st.integers(1, 200), COSTS)
def test_each_element_sends_once_within_the_limits(elements: int, costs: AdditionCosts) -> None:
    phases = auto_phases(elements, costs)
    assert len(phases) <= MOST_PHASES
    links = list(links_of(phases))
    assert sorted(before for before, _ in links) == list(range(elements - 1))
    received = [here for _, here in links]
    assert all(received.count(here) <= MOST_SUMS for here in received)
    for phase in phases:
        for chain, after in pairwise(phase):
            assert chain[-1] < after[0]


def links_of(phases: Phases) -> Iterator[tuple[int, int]]:
    for phase in phases:
        for chain in phase:
            yield from pairwise(chain)


@given(st.integers(2, 120), COSTS)
def test_it_is_no_slower_than_a_chain_and_two_phases(elements: int, costs: AdditionCosts) -> None:
    least = followed(auto_phases(elements, costs), elements, costs)
    for group in range(1, elements + 1):
        ends = range(elements - 1, -1, -group)
        groups = tuple(tuple(range(max(0, e - group + 1), e + 1)) for e in reversed(ends))
        heads = tuple(chain[-1] for chain in groups)
        phases = tuple(tuple(c for c in phase if len(c) > 1) for phase in (groups, (heads,)))
        assert least <= followed(phases, elements, costs)


def test_a_long_vector_goes_in_one_chain() -> None:
    assert auto_phases(6, AdditionCosts(1000, 5, 1)) == (((0, 1, 2, 3, 4, 5),),)


def test_short_vectors_go_in_a_tree() -> None:
    """One word: 8 elements take 28 cycles instead of the chain's 48."""
    costs = PUBLISHED_COSTS.of(1)
    assert followed(auto_phases(8, costs), 8, costs) == 28
    assert followed(((tuple(range(8)),),), 8, costs) == 48


def test_a_part_of_a_cycle_counts_as_a_whole_one() -> None:
    assert LineCosts(5, Fraction(9, 8), 10, 2).of(9) == (16, 10, 2)
    assert str(PUBLISHED_COSTS.of(16)) == "21,5,1"


def test_a_line_that_is_too_long_is_refused() -> None:
    with pytest.raises(InfeasibleMapping, match="5000 elements"):
        auto_phases(5000, PUBLISHED_COSTS.of(1))
