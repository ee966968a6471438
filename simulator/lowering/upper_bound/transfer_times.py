"""Cycles until the tiles of a turn have come and gone, at most, once all elements have begun it.

A word waits in an element, and at a link or ramp that colors share, for at most one word of each
other thread or color, since equal ones take turns; so no FIFO passes words slower than its credits
allow with such waits at both of its ends (theory/grid.md §12).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import NamedTuple

from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.profiles.profile import Profile

MOST_LINKS = 2
"""Links of a way along a ring."""


class WordQueue(NamedTuple):
    """A FIFO on the way of a word: its latency, and its places but for words on their way."""

    latency: int
    places: int

    @property
    def words(self) -> int:
        """Words that it holds, with those on their way (`NetworkCompiler`)."""
        return self.places + self.latency - 1

    def step(self, threads: int) -> int:
        """Return cycles by which a word is here later than in the FIFO before, with all waits."""
        return self.latency + 2 * threads + 2

    def pace(self, threads: int) -> int:
        """Return cycles in which it passes at least one word."""
        return ceil(self.step(threads) / self.words)


def ring_transfers(plan: Plan, profile: Profile, beside: int = 0) -> float:
    """Return the cycles in which every element of a plan sends and receives its shifted tiles.

    beside: other threads or colors whose words may go between these.
    """
    threads, slowest = 2 * len(plan.read.shifted) + beside, 0.0
    sending = profile.dispatch_to_link_cycles - profile.hop_cycles
    for number, tensor in enumerate(plan.read.shifted):
        way = [
            WordQueue(sending, profile.output_queue_words[2 * number]),
            *[router_queue(profile)] * (MOST_LINKS + 1),
            WordQueue(profile.arrival_to_execute_cycles, profile.input_queue_words[2 * number + 1]),
        ]
        slowest = max(slowest, _time(plan.read.words(tensor), way, threads))
    return slowest


def line_transfers(plan: Plan, profile: Profile, beside: int = 0) -> float:
    """Return the cycles in which a tile of each stream of a plan reaches all elements of a line.

    beside: other colors whose words may go between these.
    """
    colors = len(plan.streams) + beside
    return max(_line(plan, profile, number, colors) for number in range(len(plan.streams)))


def _line(plan: Plan, profile: Profile, number: int, colors: int) -> float:
    stream = plan.streams[number]
    elements = plan.read.columns if stream.lines == "rows" else plan.read.rows
    ramp = WordQueue(profile.arrival_to_execute_cycles, profile.input_queue_words[number])
    way = [*[router_queue(profile)] * (elements + 1), ramp]
    return _time(stream.tile_words, way, colors, stream.interval)


def router_queue(profile: Profile) -> WordQueue:
    """Return the buffer of a color in a router."""
    return WordQueue(profile.hop_cycles, profile.router_buffer_words)


def _time(words: int, way: Iterable[WordQueue], threads: int, interval: int = 1) -> float:
    """Return the cycles of a tile's words through the FIFOs of a way.

    `interval`: cycles in which a word of the tile enters at most.
    """
    fifos = list(way)
    pace = max(threads, interval, *(fifo.pace(threads) for fifo in fifos))
    start = sum(fifo.step(threads) for fifo in fifos)
    return float(start + (words + 1) * pace)
