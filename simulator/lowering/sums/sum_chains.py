"""The cycles of chains in which elements add up tiles, and of the operations and links in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.reductions import Chain, line_chains
from tilewright.mapper.grid.schemes.line_costs import LineCosts
from tilewright.mapper.grid.schemes.reduction_scheme import ReductionScheme
from tilewright.mapper.grid.schemes.snake import Snake
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.lowering.sums.sum_operations import joining_cycles
from tilewright.simulator.profiles.profile import Profile

Cycles = npt.NDArray[np.float64]


W = TypeVar("W", int, npt.NDArray[np.int64])


def word_cycles(words: W, profile: Profile) -> W:
    """Return the cycles in which an operation takes or sends so many words.

    Parts of a cycle are carried on from word to word. A link passes a word in each cycle.
    `words`: a number, or an array of them.
    """
    rate = profile.cycles_per_wavelet
    return words * rate.numerator // rate.denominator


def operation_cycles(words: int, profile: Profile) -> int:
    """Return the cycles of an operation that adds or sends a tile of so many words."""
    launch = profile.descriptor_use_cycles + profile.descriptor_load_cycles
    return launch + word_cycles(words, profile)


def link_cycles(links: Any, profile: Profile) -> Any:
    """Return the cycles of a word from one operation over some links to the next one.

    A number gives a number, an array an array.
    """
    return _hop(profile) + links * profile.hop_cycles


def _hop(profile: Profile) -> float:
    """Return the cycles of a word from one operation to the next but for the links."""
    return float(profile.dispatch_to_link_cycles + profile.arrival_to_execute_cycles)


def way_back(groups: Sequence[int], words: int, profile: Profile) -> float:
    """Return the cycles from a finished tile until the first element of its group has all of it.

    `groups`: elements of the group along X and along Y. `words`: of the tile.
    """
    links = sum(group - 1 for group in groups)
    return float(link_cycles(links, profile)) + word_cycles(words - 1, profile)


def line_costs(profile: Profile) -> LineCosts:
    """Return the cycles of the parts of a reduction on a machine, such as a launch or a link."""
    launch = profile.descriptor_use_cycles + profile.descriptor_load_cycles
    word = Fraction(profile.cycles_per_wavelet)
    return LineCosts(launch, word, ceil(_hop(profile)), profile.hop_cycles)


class SumCycles(NamedTuple):
    """The cycles of an operation on a tile: `send` to send it, `add` to add a sum that comes."""

    send: float
    add: float

    @staticmethod
    def of(read: SpaceTime, profile: Profile) -> SumCycles:
        """Return those of a tile of the output."""
        words = read.words(read.output)
        send = operation_cycles(words, profile)
        return SumCycles(send, joining_cycles(read, words, profile) or send)


@dataclass(slots=True)
class LineSums:
    """The elements of a line, which add up tiles in chains.

    `done`: by position, the cycle at which the last word of the last operation has left; an array
    of cycles for many lines that do the same. `received`: positions that have added a sum, in an
    operation that also sends it on. `later`: the function that gives the later one of two cycles.
    """

    done: dict[int, Any]
    received: set[int]
    later: Callable[[Any, Any], Any] = max

    def add_up(self, chains: Iterable[Chain], operation: SumCycles, profile: Profile) -> None:
        """Follow the chains of one phase of a reduction, those with all positions on this line.

        Each element adds its own tile, in an `operation`, and passes the sum on.
        """
        for chain in chains:
            if chain.positions[-1] not in self.done:
                continue
            before, *others = chain.positions
            goes_on = before in self.received and not chain.stores
            sent = self.done[before] + (0 if goes_on else operation.send)
            for position in others:
                arrived = sent + link_cycles(abs(position - before), profile)
                added = self.done[position] + operation.add
                sent = self.done[position] = self.later(added, arrived)
                before = position
            self.received.update(others)


def sums_cycles(
    groups: Sequence[int], scheme: ReductionScheme, words: int, profile: Profile
) -> float:
    """Return the cycles of a reduction: from a common start until the group's sums are done.

    `groups`: elements that add up, along X and along Y. scheme: of the reduction. `words`: of a
    tile.
    """
    cycles = operation_cycles(words, profile)
    operation = SumCycles(cycles, cycles)
    if scheme.order == "snake":
        return cycles + (prod(groups) - 1) * float(link_cycles(1, profile))
    done, received = 0.0, False
    for group in groups if scheme.order == "x_first" else reversed(groups):
        places = range(group)
        line = LineSums(dict.fromkeys(places, done), set(places) if received else set())
        for chains in line_chains(group, scheme.line, words):
            line.add_up(chains, operation, profile)
        done, received = float(line.done[group - 1]), received or group > 1
    return done


def snakes_end(ready: Cycles, snake: Snake, operation: SumCycles, profile: Profile) -> float:
    """Return the least cycle at which the chains through some neighbouring columns are done.

    `ready`: (rows, columns) cycles at which each element has its own tile.
    """
    links = ready.shape[1] * snake.rows - 1 - snake.places
    ends = np.where(snake.places, operation.add, operation.send)
    later = ends + links * link_cycles(1, profile)
    return float(max((ready[row : row + snake.rows] + later).max()
                     for row in range(0, ready.shape[0], snake.rows)))  # fmt: skip
