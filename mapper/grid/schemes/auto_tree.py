"""The fastest tree of a line of elements for the costs of a machine, by a dynamic program.

The elements of a line number themselves from its end, where the sum is wanted, in pre-order: an
element, its nearest child with all below it, its next child, and so on. A tree of n elements is so
the farthest child with its m elements, and the rest, a tree of n - m elements. The rest has added
its sums; then the element adds what that child sends (theory/wafer.md §7.3).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.schemes.line_costs import MOST_ELEMENTS, AdditionCosts
from tilewright.mapper.workload.errors import InfeasibleMapping

Numbers = npt.NDArray[np.int64]
Phases = tuple[tuple[tuple[int, ...], ...], ...]
MOST_PHASES: Final = 4
"""Phases of a tree; each takes two colors."""
MOST_SUMS: Final = 3
"""Sums that an element receives; each takes an input queue."""
NEVER: Final = 1 << 60


class _Best(NamedTuple):
    """Least cycles of trees, and the elements below the farthest child, by number of elements.

    `done`, `below`: [phases, sums that the root receives, elements]; `done`: when the root has
    added all sums that it receives. `sent`: [phases, elements], when its own sum has gone.
    """

    done: Numbers
    sent: Numbers
    below: Numbers


def auto_phases(elements: int, costs: AdditionCosts) -> Phases:
    """Return the fastest tree that adds up a line of elements into its last one.

    It is given phase by phase, each a list of chains: positions, rising. No tree is faster among
    those of at most MOST_PHASES phases in which no element receives more than MOST_SUMS sums, if
    all elements begin at once and no two words want one link at a time. Of trees that are as fast,
    it has few phases, and then few hops. Raises InfeasibleMapping for more than MOST_ELEMENTS.
    """
    if elements > MOST_ELEMENTS:
        raise InfeasibleMapping(
            f"auto makes no tree of {elements} elements",
            instead=f"at most {MOST_ELEMENTS} that add up, or another scheme",
        )
    if elements == 1:
        return ()
    best = _least_cycles(elements, costs)
    phases = int(np.argmin(best.sent[:, elements]))
    chains: list[list[tuple[int, ...]]] = [[] for _ in range(phases)]
    todo = [(0, elements, phases, MOST_SUMS)]
    while todo:
        root, size, phase, sums = todo.pop()
        chain = [root]
        while size > 1:
            last = int(best.below[phase, sums, size])
            todo.append((root, size - last, phase - 1, sums - 1))
            root, size, sums = root + size - last, last, MOST_SUMS
            chain.append(root)
        if len(chain) > 1:
            chains[phase - 1].append(tuple(elements - 1 - place for place in reversed(chain)))
    return tuple(tuple(sorted(phase)) for phase in chains if phase)


@lru_cache(maxsize=64)
def _least_cycles(elements: int, costs: AdditionCosts) -> _Best:
    """Find the fastest trees of 1 to `elements` elements, the smaller ones first.

    The chain to the farthest child goes on to that child's own farthest child, in the same phase;
    what an element adds before belongs to earlier phases.
    """
    addition, way, hop = costs
    shape = MOST_PHASES + 1, MOST_SUMS + 1, elements + 1
    done = np.full(shape, NEVER, dtype=np.int64)
    done[:, :, 1] = 0
    below = np.zeros(shape, dtype=np.int64)
    sent = np.full((MOST_PHASES + 1, elements + 1), NEVER, dtype=np.int64)
    sent[:, 1] = addition
    links = hop * np.arange(elements, dtype=np.int64)
    for size in range(2, elements + 1):  # the sizes of the rest rise, those below the child fall
        arrived = sent[1:, None, size - 1 : 0 : -1] + (way + links[1:size])
        ends = np.maximum(done[:-1, :-1, 1:size] + addition, arrived)
        rest = np.argmin(ends, axis=2)
        done[1:, 1:, size] = np.take_along_axis(ends, rest[:, :, None], axis=2)[:, :, 0]
        below[1:, 1:, size] = size - 1 - rest
        sent[1:, size] = done[1:, -1, size]
    return _Best(done, sent, below)
