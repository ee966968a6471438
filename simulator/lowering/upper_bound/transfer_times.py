"""Cycles until the tiles of a turn have come and gone, at most, once all elements have begun it.

A word waits in an element, and at a link or ramp that colors share, for at most one word of each
other thread or color, since equal ones take turns; so no FIFO passes words slower than its credits
allow with such waits at both of its ends (theory/grid.md §12).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import NamedTuple

from tilewright.mapper.grid.host_streams import HostStream
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.profiles.profile import Profile

MOST_LINKS = 2
"""Links of a way along a ring."""


class _WordQueue(NamedTuple):
    """A FIFO on the way of a word: its latency, and its places but for words on their way."""

    latency: int
    places: int

    def step(self, threads: int) -> int:
        """Return cycles by which a word is here later than in the FIFO before, with all waits."""
        return self.latency + 2 * threads + 2

    def pace(self, threads: int) -> int:
        """Return cycles in which it passes at least one word."""
        return ceil(self.step(threads) / (self.places + self.latency - 1))


def ring_transfers(plan: Plan, profile: Profile) -> float:
    """Return the cycles in which every element of a plan sends and receives its shifted tiles."""
    threads, slowest = 2 * len(plan.read.shifted), 0.0
    sending = profile.dispatch_to_link_cycles - profile.hop_cycles
    for number, tensor in enumerate(plan.read.shifted):
        way = [
            _WordQueue(sending, profile.output_queue_words[2 * number]),
            *[_router(profile)] * (MOST_LINKS + 1),
            _WordQueue(
                profile.arrival_to_execute_cycles, profile.input_queue_words[2 * number + 1]
            ),
        ]
        slowest = max(slowest, _time(plan.read.words(tensor), way, threads))
    return slowest


def line_transfers(plan: Plan, profile: Profile) -> float:
    """Return the cycles in which a tile of each stream of a plan reaches all elements of a line."""
    return max(_line(plan, profile, number, s) for number, s in enumerate(plan.streams))


def _line(plan: Plan, profile: Profile, number: int, stream: HostStream) -> float:
    elements = plan.read.columns if stream.lines == "rows" else plan.read.rows
    ramp = _WordQueue(profile.arrival_to_execute_cycles, profile.input_queue_words[number])
    way = [*[_router(profile)] * (elements + 1), ramp]
    return _time(stream.tile_words, way, len(plan.streams), stream.interval)


def _router(profile: Profile) -> _WordQueue:
    return _WordQueue(profile.hop_cycles, profile.router_buffer_words)


def _time(words: int, way: Iterable[_WordQueue], threads: int, interval: int = 1) -> float:
    """Return the cycles of a tile's words through the FIFOs of a way.

    `interval`: cycles in which a word of the tile enters at most.
    """
    fifos = list(way)
    pace = max(threads, interval, *(fifo.pace(threads) for fifo in fifos))
    start = sum(fifo.step(threads) for fifo in fifos)
    return float(start + (words + 1) * pace)
