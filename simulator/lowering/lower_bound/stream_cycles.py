"""Words of a border stream and the work behind them, in a bound (theory/grid.md §6)."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.arch.memo import IdentityCache
from tilewright.mapper.grid.host_streams import HostStream, Lines, place_in_period
from tilewright.mapper.grid.reductions import Axis
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.lowering.sums.sum_chains import word_cycles
from tilewright.simulator.profiles.profile import Profile, profile_number

Numbers = npt.NDArray[np.int64]
Cycles = npt.NDArray[np.float64]
L = TypeVar("L", int, Numbers)
_FIRST_TILES = IdentityCache(64)
"""Cycles of first tiles by stream: plans that differ in the sums only have the same streams."""


def behind_stream(
    plan: Plan, profile: Profile, stream: HostStream, place: tuple[int, int], work: BodyCycles
) -> float:
    """Return when an element (row, column) is done that takes its last word of a stream."""
    rows, columns = (np.array([number]) for number in place)
    return float(behind_streams(plan, profile, stream, (rows, columns), work)[0, 0])


def behind_streams(
    plan: Plan,
    profile: Profile,
    stream: HostStream,
    places: tuple[Numbers, Numbers],
    work: BodyCycles,
) -> Cycles:
    """Return the least cycles at which elements that take a stream are done: (rows, columns).

    All their work but the receive comes after their first tile, some of it after the last one. The
    tiles of a row or column before theirs pass other elements of it first.
    `places`: rows and columns of the elements. `work`: what each of them does.
    """
    rows, columns = places
    first = _FIRST_TILES.of(
        stream,
        (profile_number(profile), rows.tobytes(), columns.tobytes()),
        lambda: _first_tiles(plan, profile, stream, places),
    )
    label, words = f"receive {stream.tensor.name}", stream.tile_words
    passing = passing_cycles(words, profile)
    period = (stream.tiles - 1) * words + passing
    last = (stream.periods - 1) * max(period, stream.words_of_period * stream.interval)
    behind_first = work.total - work.until.get(label, work.total)
    behind = max(behind_first, last + work.since.get(label, 0.0))
    return np.asarray(first + behind)


def _first_tiles(
    plan: Plan, profile: Profile, stream: HostStream, places: tuple[Numbers, Numbers]
) -> Cycles:
    """Return the least cycles at which elements have their first tile: (rows, columns).

    `places`: rows and columns of the elements.
    """
    rows, columns = places
    along = {"rows": (0, 1), "columns": (1, 0), "whole": (1, 1)}[stream.lines]
    links = along[0] * rows[:, None] + along[1] * columns[None, :]
    words = stream.tile_words
    before = words if stream.lines == "whole" else passing_cycles(words, profile)
    number = place_in_period(plan.read, stream)[np.ix_(rows, columns)]
    passed = number * before + word_cycles(words, profile)
    entered = ((number + 1) * words - 1) * stream.interval + 1
    return np.asarray(np.maximum(passed, entered) + way_in(links, profile))


def words_end(words: Any, links: Any, profile: Profile) -> Any:
    """Return the earliest cycle in which the last of so many words is at the end of a line.

    words: number that cross the line's last link; links: that the first of them passes at least.
    Numbers give a float, arrays an array.
    """
    crosses = (links > 0) & (words > 0)
    return crosses * 1.0 * (words + way_in(links, profile))


def passing_cycles(words: int, profile: Profile) -> int:
    """Return the least cycles in which the words of a tile pass the element that takes them.

    An operation may take them more slowly than a link brings them; then those wait that the input
    queue has no place for, and all that come behind them.
    """
    places = max(profile.input_queue_words) + profile.arrival_to_execute_cycles - 1
    return max(words, word_cycles(max(0, words - places), profile))


def way_in(links: L, profile: Profile) -> L:
    """Return the cycles that a word takes from the border over some links into an operation.

    links: number of links; an array gives an array.
    """
    return links * profile.hop_cycles + profile.arrival_to_execute_cycles


def crosses_line(lines: Lines, axis: Axis) -> bool:
    """Return whether the words of a border stream cross the link to the last element along an axis.

    lines: whom a stream serves. Streams for columns cross links along Y, those for rows or for the
    whole grid along X.
    """
    return lines == "columns" if axis == "Y" else lines != "columns"
