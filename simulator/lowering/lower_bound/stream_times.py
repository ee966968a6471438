"""When elements have the tiles of a border stream, where all elements of a line take its words.

A word stops where one before it is not taken yet, in an element further on or one that was passed:
only so many words go on as the buffers between the two hold (theory/grid.md §6).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.host_streams import HostStream, place_in_period
from tilewright.mapper.grid.reductions import Axis
from tilewright.simulator.lowering.lower_bound.stream_cycles import way_in
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.profiles.profile import Profile

Cycles = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
MOST_PLACES: Final = 32
"""Rows or columns of which the elements wait for each other; of more, so many are looked at."""
MOST_TURNS_BACK: Final = 2
"""Periods of a stream after which an element that waits is not looked at any more."""


@dataclass(frozen=True, eq=False)
class _Waits:
    """For how long the elements of a line wait for each other's words.

    An element p has its tile of a period at the earliest `cycles[back][p, q]` cycles after the
    element q could take the first word of its tile `back` periods before.
    """

    cycles: dict[int, Cycles]

    def ends(self, begun: list[Cycles]) -> Cycles:
        """Return when elements have a tile at the earliest: (lines, elements).

        `begun`: when they could take the first words of this one and those before it, the last one
        first.
        """
        ends = np.zeros_like(begun[0])
        for back, cycles in self.cycles.items():
            if back < len(begun):
                ends = np.maximum(ends, (begun[back][:, None, :] + cycles).max(axis=2))
        return ends


@dataclass(eq=False)
class StreamTimes:
    """Follow a border stream of a plan, tile by tile: when each element has it.

    All arrays are by element: (rows, columns).
    """

    plan: Plan
    stream: HostStream
    profile: Profile
    _begun: list[Cycles] = field(default_factory=list)
    """When the elements could take the first word of the last tiles, the last one first."""
    _periods: int = 0

    def received(self, begun: Cycles, moving: float) -> Cycles:
        """Return when elements have the next tile, at the earliest.

        `begun`: when they can take its first word; `moving`: cycles of its words.
        """
        self._begun = [begun, *self._begun[:MOST_TURNS_BACK]]
        self._periods += 1
        period = self.stream.words_of_period * self.stream.interval
        arrived = self._first_arrived + (self._periods - 1) * period
        ends: Cycles = np.maximum(begun + moving, arrived)
        if not self._waits.cycles:
            return ends
        seen = np.ix_(*self._lines)
        waited = self._waits.ends([self._by_line(times[seen]) for times in self._begun])
        waited = waited.T if self.stream.lines == "columns" else waited.reshape(ends[seen].shape)
        ends[seen] = np.maximum(ends[seen], waited)
        return ends

    @cached_property
    def _first_arrived(self) -> Numbers:
        """Cycles in which all words of each element's first tile have come, if none waits."""
        words = (self._places + 1) * self.stream.tile_words
        entered = (words - 1) * self.stream.interval + 1
        arrived: Numbers = entered + way_in(self.links, self.profile)
        return arrived

    @property
    def words(self) -> Numbers:
        """Words of a stream up to the last one of each element's last tile; 0 before the first."""
        stream = self.stream
        if not self._periods:
            return np.zeros_like(self._places)
        before = (self._periods - 1) * stream.words_of_period
        return before + (self._places + 1) * stream.tile_words

    def crosses(self, axis: Axis) -> npt.NDArray[np.bool_]:
        """Return to which elements the words come over a link along an axis."""
        row, column = self._at
        if self.stream.lines == "whole":
            return column > 0 if axis == "X" else (column == 0) & (row > 0)
        if (self.stream.lines == "rows") != (axis == "X"):
            return np.zeros(self._places.shape, dtype=bool)
        return column > 0 if axis == "X" else row > 0

    @cached_property
    def _at(self) -> tuple[Numbers, Numbers]:
        shape = self.plan.read.rows, self.plan.read.columns
        row, column = np.ogrid[: shape[0], : shape[1]]
        return row, column

    @cached_property
    def _places(self) -> Numbers:
        return place_in_period(self.plan.read, self.stream)

    @cached_property
    def links(self) -> Numbers:
        """Links between the border and each element."""
        row, column = self._at
        return row * (self.stream.lines != "rows") + column * (self.stream.lines != "columns")

    @cached_property
    def _lines(self) -> tuple[Numbers, Numbers]:
        """Rows and columns whose elements are looked at."""
        read, most = self.plan.read, MOST_PLACES
        if self.stream.lines == "whole":
            most //= 4
        return _spread(read.rows, most), _spread(read.columns, most)

    def _by_line(self, times: Cycles) -> Cycles:
        """Return times by line of the stream, and by element of it."""
        if self.stream.lines == "whole":
            return times.reshape(1, -1)
        return times.T if self.stream.lines == "columns" else times

    @cached_property
    def _waits(self) -> _Waits:
        rows, columns = self._lines
        if self.stream.lines == "rows":
            places = self._places[0, columns], np.zeros_like(columns), columns
        elif self.stream.lines == "columns":
            places = self._places[rows, 0], rows, np.zeros_like(rows)
        else:
            row, column = (part.ravel() for part in np.meshgrid(rows, columns, indexing="ij"))
            places = self._places[row, column], row, column
        return _waits(self.stream, self.profile, places)


def _spread(number: int, most: int) -> Numbers:
    """Return the first and last of a number of places, and others between them, `most` at most."""
    return np.unique(np.linspace(0, number - 1, min(number, most)).round().astype(np.int64))


def _waits(
    stream: HostStream, profile: Profile, places: tuple[Numbers, Numbers, Numbers]
) -> _Waits:
    """Return for how long the elements of a line wait for each other.

    `places`: of each element its place in a period, its row and its column.
    """
    place, row, column = places
    up, down = _links_apart(row, column)
    words, period = stream.tile_words, stream.words_of_period
    arrival = profile.arrival_to_execute_cycles
    router = profile.router_buffer_words + profile.hop_cycles - 1
    queue = max(profile.input_queue_words) + arrival - 1
    # the last word of p's tile has passed the router in which both ways part; the word that is as
    # many before it as the buffers hold has passed that of q; which of q's own words that is at
    # least, and how many words it is behind it:
    last = (place[:, None] + 1) * words - 1 - router * down
    periods, number = np.divmod(last - place[None, :] * words, period)
    behind = np.maximum(number - (words - 1), 0)
    # q has taken the word that is as many before it as its queue holds
    taken = periods * words + np.minimum(number, words - 1) - queue
    back, taken = np.divmod(taken, words)
    rate = profile.cycles_per_wavelet
    ways = up * profile.hop_cycles + down + behind
    cycles = taken * rate.numerator // rate.denominator + 1 + ways + arrival + 1
    np.fill_diagonal(back, -MOST_TURNS_BACK - 1)  # its own words wait for its main thread
    turns = (turn for turn in range(MOST_TURNS_BACK + 1) if (back == -turn).any())
    return _Waits({turn: np.where(back == -turn, cycles, -np.inf) for turn in turns})


def _links_apart(row: Numbers, column: Numbers) -> tuple[Numbers, Numbers]:
    """Return the links from the router in which the ways to two elements part to each of them.

    Ways go down the first column, then along rows: (elements, elements), to the first and to the
    second element of each pair.
    """
    is_same_row = row[:, None] == row[None, :]
    parts_row = np.minimum(row[:, None], row[None, :])
    parts_column = np.where(is_same_row, np.minimum(column[:, None], column[None, :]), 0)
    links = row + column
    parts = parts_row + parts_column
    return links[:, None] - parts, links[None, :] - parts
