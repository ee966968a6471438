"""How the places of a side of the grid share its channels to the outside (theory/grid.md §2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Final, NamedTuple

from tilewright.mapper.grid.host_streams import HostStream
from tilewright.mapper.grid.partial_sums import PartialSums
from tilewright.mapper.grid.space_time import SpaceTime

UNLIMITED: Final = 1 << 30
"""Channels of a side that passes a word at each place in each cycle."""


class SideLoad(NamedTuple):
    """Words that pass a side of the grid: `words` in a turn at each of `places` of it."""

    places: int
    words: int


def word_intervals(loads: Sequence[SideLoad], channels: int) -> list[int]:
    """Return the cycles between two words at a place, for each of the loads of one side.

    A side passes at most as many words in a cycle as it has channels. If there are more places,
    each load has the part of the channels that it has of the words: all words of a turn pass in
    about the same time. Example: 720 places of 60 channels pass a word every 12 cycles each.
    """
    if max((load.places for load in loads), default=0) <= channels:
        return [1] * len(loads)
    total = sum(load.places * load.words for load in loads)
    return [ceil(total / (channels * load.words)) for load in loads]


def paced_streams(streams: Sequence[HostStream], channels: int) -> tuple[HostStream, ...]:
    """Return streams that share the channels of the sides by which they enter."""
    if max((stream.number for stream in streams), default=0) <= channels:
        return tuple(streams)
    paced = list(streams)
    for side in ("W", "N"):
        numbers = [n for n, stream in enumerate(streams) if entry_side(stream) == side]
        loads = [SideLoad(streams[n].number, streams[n].words_of_period) for n in numbers]
        for n, interval in zip(numbers, word_intervals(loads, channels), strict=True):
            paced[n] = replace(streams[n], interval=interval)
    return tuple(paced)


def entry_side(stream: HostStream) -> str:
    """Return the side of the grid, W or N, by which a stream enters."""
    return "W" if stream.lines == "rows" else "N"


def exit_places(read: SpaceTime, sums: PartialSums) -> int:
    """Return at how many places of a side of the grid results leave, 0 if they stay."""
    if sums.exit == "none":
        return 0
    if sums.exit == "east":
        return len(sums.head_rows(read.rows))
    return len(sums.head_columns(read.columns))
