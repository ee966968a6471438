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

    def __init__(self, elements: int, scheme: str, words: int = 1) -> None:
        self.held, self.pending = dict.fromkeys(range(elements), 1), dict[int, int]()
        self.hops = self.reads = self.writes = self.additions = 0
        self.phases = line_chains(elements, scheme, words)
        for chains in self.phases:
            for chain in chains:
                if chain.stores:
                    self.store(chain.positions[0])
                for here, there in pairwise(chain.positions):
                    self.receive(there, self.send(here))
                    self.hops += there - here
        self.result = self.send(elements - 1)

    def receive(self, place: int, value: int) -> None:
        if place in self.pending:  # the one before goes through memory
            self.store(place)
        self.pending[place] = value

    def store(self, place: int) -> None:
        self.held[place] += self.pending.pop(place)
        self.reads, self.writes, self.additions = (
            self.reads + 1,
            self.writes + 1,
            self.additions + 1,
        )

    def send(self, place: int) -> int:
        self.reads += 1
        value = self.held.pop(place)
        if place in self.pending:
            self.additions += 1
            value += self.pending.pop(place)
        return value


@given(st.integers(1, 40), SCHEMES, st.sampled_from([1, 8, 24, 1000]))
def test_counts_are_those_of_the_theorem(elements: int, scheme: str, words: int) -> None:
    """wafer.md §7.2: writes leaves - 1 and the stored sums, reads P more, additions P - 1."""
    walk = Walk(elements, scheme, words)
    received = [sum(column) for column in zip(*[receives([c], elements) for c in walk.phases])]  # noqa: B905
    leaves = sum(count == 0 for count in received) if received else 1
    assert walk.result == elements
    stored = sum(chain.stores for chains in walk.phases for chain in chains)
    assert (walk.reads, walk.writes) == (elements + leaves - 1 + stored, leaves - 1 + stored)
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


def test_the_shorter_group_is_the_last_one() -> None:
    assert line_chains(7, "two_phase(3)") == (
        (Chain((0, 1, 2)), Chain((3, 4, 5))),
        (Chain((2, 5, 6)),),
    )


def test_the_first_group_stores_long_sums() -> None:
    """It takes a launch and the way to the next group, and saves the start of a held chain.

    Groups of 4 and 32 words: 5 + 4 cycles; (37 - 9) / 10 links of 6 cycles are full and start anew.
    """
    stores = {
        (elements, size, words): line_chains(elements, f"two_phase({size})", words)[-1][0].stores
        for elements, size in ((64, 4), (64, 1), (8, 8), (9, 8), (10, 8))
        for words in (8, 32, 1000)
    }
    assert {case for case, stored in stores.items() if stored} == {
        (64, 4, 32), (64, 4, 1000), (10, 8, 1000)}  # fmt: skip


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
