"""Reductions of a line: a walk over every element against the counts of the theorem."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.mapper.grid.reductions import Chain, line_chains, receives
from tilewright.mapper.workload.errors import InfeasibleMapping

SCHEMES = st.one_of(
    st.sampled_from(["chain", "tree", "two_phase"]),
    st.integers(1, 12).map(lambda size: f"two_phase({size})"),
    st.tuples(*[st.integers(1, 90)] * 3).map(lambda costs: "auto({},{},{})".format(*costs)),
)


class Walk:
    """Carry one word of every element through the phases."""

    def __init__(self, elements: int, scheme: str) -> None:
        self.held, self.pending = dict.fromkeys(range(elements), 1), dict[int, int]()
        self.hops = self.reads = self.writes = self.additions = 0
        self.phases = line_chains(elements, scheme)
        for chains in self.phases:
            for chain in chains:
                for here, there in pairwise(chain.positions):
                    self.receive(there, self.send(here))
                    self.hops += there - here
        self.result = self.send(elements - 1)

    def receive(self, place: int, value: int) -> None:
        if place in self.pending:  # the one before goes through memory
            self.held[place] += self.pending.pop(place)
            self.reads, self.writes, self.additions = (
                self.reads + 1,
                self.writes + 1,
                self.additions + 1,
            )
        self.pending[place] = value

    def send(self, place: int) -> int:
        self.reads += 1
        value = self.held.pop(place)
        if place in self.pending:
            self.additions += 1
            value += self.pending.pop(place)
        return value


@given(st.integers(1, 40), SCHEMES)
def test_counts_are_those_of_the_theorem(elements: int, scheme: str) -> None:
    """wafer.md §7.2: reads P + leaves - 1, writes leaves - 1, additions P - 1."""
    walk = Walk(elements, scheme)
    received = [sum(column) for column in zip(*[receives([c], elements) for c in walk.phases])]  # noqa: B905
    leaves = sum(count == 0 for count in received) if received else 1
    assert walk.result == elements
    assert (walk.reads, walk.writes) == (elements + leaves - 1, leaves - 1)
    assert walk.additions == elements - 1
    assert walk.hops == sum(chain.hops for chains in walk.phases for chain in chains)


@given(st.integers(2, 64), SCHEMES)
def test_chains_of_a_phase_do_not_overlap(elements: int, scheme: str) -> None:
    for chains in line_chains(elements, scheme):
        for first, second in pairwise(chains):
            assert first.positions[-1] < second.positions[0]


def test_two_phases_of_sixteen() -> None:
    """Groups of 4: 4 × 3 hops inside, 12 between heads; 3 heads add through memory."""
    walk = Walk(16, "two_phase")
    assert (walk.hops, walk.reads, walk.writes, walk.additions) == (24, 19, 3, 15)


def test_the_shorter_group_is_the_first_one() -> None:
    assert line_chains(7, "two_phase(3)") == (
        (Chain((1, 2, 3)), Chain((4, 5, 6))),
        (Chain((0, 3, 6)),),
    )


def test_a_tree_of_six_halves_the_elements() -> None:
    assert line_chains(6, "tree") == (
        (Chain((0, 1)), Chain((2, 3)), Chain((4, 5))),
        (Chain((3, 5)),),
        (Chain((1, 5)),),
    )


@pytest.mark.parametrize("scheme", ["ring", "two_phase(0)", "chain(4)", "auto", "auto(1,2)", ""])
def test_an_unknown_scheme_says_what_there_is(scheme: str) -> None:
    with pytest.raises(InfeasibleMapping, match=r"there is no") as refused:
        line_chains(4, scheme)
    assert "two_phase" in refused.value.instead
