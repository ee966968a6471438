"""Phases of a reduction over elements: chains of elements that pass a running sum.

Each element of a chain receives the running sum from its predecessor, adds its own partial sum and
sends the result on. The last receive of an element stays pending: its send adds on the fly
(`@fadds(fabout, memory, fabin)`), so that only a second receive costs a write to memory. The first
element of a chain over groups may store its group's sum before it sends it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isqrt
from typing import Final, Literal

from tilewright.mapper.grid.schemes.auto_tree import auto_phases
from tilewright.mapper.grid.schemes.line_costs import PUBLISHED_COSTS, AdditionCosts
from tilewright.mapper.grid.schemes.reduction_scheme import LINE_SCHEME, no_scheme

Axis = Literal["X", "Y"]
_SCHEME = re.compile(LINE_SCHEME)
LINK_WORDS: Final = 10
"""Words that stop between two elements of a chain that is held up, as measured."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Elements of one line that pass a running sum from the first to the last.

    `positions`: indices of the elements along the line, rising. Each element receives the sum from
    the one before it in this list, adds its own partial sum and sends the result to the next one.
    `stores`: the first element has all sums that it received in its memory before it sends; else
    the last one goes on while it comes in.
    """

    positions: tuple[int, ...]
    stores: bool = False

    @property
    def hops(self) -> int:
        """Links between neighbouring elements that a word crosses from the first to the last."""
        return self.positions[-1] - self.positions[0]

    def moved(self, distance: int) -> Chain:
        """Return the same chain `distance` positions further along the line."""
        return replace(self, positions=tuple(place + distance for place in self.positions))


@dataclass(frozen=True, slots=True)
class Phase:
    """Step of a reduction: chains along one axis that run at the same time.

    `axis`: "X", so that each row of the grid is a line, or "Y", so that each column is one.
    `chains`: the chains within a line; they do not overlap. `lines`: indices of the rows or columns
    that take part.
    """

    axis: Axis
    chains: tuple[Chain, ...]
    lines: range


@lru_cache(maxsize=1024)
def line_chains(elements: int, scheme: str, words: int = 1) -> tuple[tuple[Chain, ...], ...]:
    """Return, phase by phase, the chains that add up a line of elements into its last element.

    `words`: of a tile. "chain": one chain over all elements. "two_phase(4)": chains inside groups
    of 4 neighbours, the last group being the shorter one, then one chain over the last element of
    each group, whose sum the first one stores where that is faster; without a number groups of
    isqrt(elements) (theory/wafer.md §7.1). "tree": in each phase half of the
    elements that still hold a sum send it to the other half. "auto(21,5,1)": the fastest tree
    where an addition takes 21 cycles, and a sum 5 and one for each link from one to the next
    (schemes/auto_tree.py). A line of one element has no phases.
    Example: 16 elements in two phases are four chains (0, 1, 2, 3), … and then the chain (3, 7, 11,
    15). Raises InfeasibleMapping for an unknown scheme.
    """
    if _SCHEME.fullmatch(scheme) is None or scheme == "auto":
        raise no_scheme(scheme)
    name, *numbers = re.findall(r"\w+", scheme)
    if elements == 1:
        return ()
    if name == "tree":
        return _tree(elements)
    if name == "chain":
        return ((Chain(tuple(range(elements))),),)
    if name == "auto":
        phases = auto_phases(elements, AdditionCosts(*map(int, numbers)))
        return tuple(tuple(map(Chain, phase)) for phase in phases)
    return _two_phases(elements, int(numbers[0]) if numbers else max(1, isqrt(elements)), words)


def _two_phases(elements: int, size: int, words: int) -> tuple[tuple[Chain, ...], ...]:
    # A shorter group is the last one: it sends nothing, so its sum may be there before the others.
    starts = range(0, elements, size)
    groups = [tuple(range(start, min(start + size, elements))) for start in starts]
    inside = tuple(Chain(group) for group in groups if len(group) > 1)
    phases = [inside] if inside else []
    if len(groups) > 1:
        stores = sends_later(len(groups[0]), len(groups[1]), words)
        phases.append((Chain(tuple(group[-1] for group in groups), stores),))
    return tuple(phases)


def sends_later(size: int, following: int, words: int) -> bool:
    """Return whether the first group's sum is sent faster after it has come in than meanwhile.

    The next group's last element takes the words when it has that group's sum. Words sent before
    wait for it, and when it takes them the chain of the first group starts anew, link by link
    (theory/wafer.md §7.1). `size`, `following`: elements of both groups; `words`: of a tile.
    """
    if size == 1 or following == 1:
        return False
    operation, way, hop = PUBLISHED_COSTS.of(words)
    later = way + following * hop + (size - following) * (way + hop)
    start = min(size, (operation - later) / LINK_WORDS) * (way + hop)
    return later < start


def _tree(elements: int) -> tuple[tuple[Chain, ...], ...]:
    phases, step = [], 1
    while step < elements:
        receivers = range(elements - 1, step - 1, -2 * step)
        phases.append(tuple(Chain((end - step, end)) for end in reversed(receivers)))
        step *= 2
    return tuple(phases)


def receives(phases: Sequence[Sequence[Chain]], elements: int) -> list[int]:
    """Return how many sums each element of a line receives in all phases."""
    counts = [0] * elements
    for chains in phases:
        for chain in chains:
            for position in chain.positions[1:]:
                counts[position] += 1
    return counts
