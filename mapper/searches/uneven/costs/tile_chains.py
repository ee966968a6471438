"""The states of one rank variable on the way down a template (imperfect.md §5.1).

A state is the nominal tile, whether an uneven loop may still come, and per `CountKind` the tiles
that are visited: `full` of the nominal size and `odd` of a smaller `remainder`. Loops cut them as
Theorem 1 says; since every loop below an uneven one divides evenly, there are never more sizes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.uneven.costs.tile_candidates import (
    Tail,
    can_finish_open,
    candidates,
)

Lane = tuple[str, str]  # component and dimension of a fanout
TileCounts = tuple[float, float, float]  # full, odd, remainder


class LaneRange(NamedTuple):
    """The fewest and the most lanes (instances) that a spatial loop may have, both included."""

    fewest_lanes: int
    most_lanes: int

    @classmethod
    def of(cls, lanes: Iterable[int]) -> LaneRange:
        """Return the range from the least to the greatest of some numbers of lanes (instances)."""
        numbers = tuple(lanes)
        return cls(min(numbers), max(numbers))


ONE_LANE = LaneRange(1, 1)  # a temporal loop


@dataclass(frozen=True, slots=True, order=True)
class CountKind:
    """Which tiles of a rank variable a cost counts.

    Without fields set, all tiles visited. `busiest`: pairs (component, dimension) of spatial loops
    at which only the largest tile counts; `first`: at temporal loops only the tile of the first
    turn.
    """

    first: bool = False
    busiest: tuple[Lane, ...] = ()

    def takes_largest(self, lane: Lane | None) -> bool:
        """Tell whether of a loop's tiles only the largest counts (the first of a temporal loop).

        `lane`: (component, dimension) of a spatial loop, None for a temporal one.
        """
        return self.first if lane is None else lane in self.busiest


ALL = CountKind()


@dataclass(frozen=True, slots=True)
class StateColumn:
    """Tiles and counts of one kind for all states of a rank variable, shape (states,) each.

    `tile`: nominal size in values. `full`: tiles of that size visited; `odd`: smaller last tiles
    visited, of size `remainder`.
    """

    tile: Ints
    full: Floats
    odd: Floats
    remainder: Floats

    @property
    def count(self) -> Floats:
        """Number of tiles visited in each state, full ones and smaller last ones.

        Shape (states,). A state is a tile size of a rank variable with its counts of tiles
        visited.
        """
        return self.full + self.odd

    @property
    def extent(self) -> Floats:
        """Sum of the sizes of the tiles visited in each state, in values.

        Shape (states,). A state is a tile size of a rank variable with its counts of tiles
        visited.
        """
        return self.full * self.tile + self.odd * self.remainder

    def shares(self, lanes: int) -> Floats:
        """Return the fewest steps in time that the tiles of each state need with some lanes.

        Shape (states,). Over 4 lanes a tile of 10 values takes at least 3 steps, a tile of 1 value
        one.
        """
        full_steps, odd_steps = np.ceil(self.tile / lanes), np.ceil(self.remainder / lanes)
        steps: Floats = self.full * full_steps + self.odd * odd_steps
        return steps


class TileChains:
    """The states of one rank variable's tile on the way down a template with uneven loops.

    A state is the tile size, whether an uneven loop may still come, and per kind of count the
    tiles visited: full ones and smaller last ones. They are numbered as they appear. `bound`:
    values of the variable; `cuttable`: sizes that an uneven loop may cut, none if the variable is
    even; `kinds`: which tiles costs count (theory/imperfect.md §5.1). A template is a mapping
    without its loops.
    """

    def __init__(self, bound: int, cuttable: Collection[int], kinds: Iterable[CountKind]) -> None:
        self.bound = bound
        self.kinds = tuple(kinds)
        self._wholes = frozenset(cuttable)
        self._rows: list[tuple[float, ...]] = []
        self._known: dict[tuple[float, ...], int] = {}
        self._below: dict[tuple[int, Tail, Lane | None, LaneRange], tuple[Ints, Ints]] = {}
        self._tables: dict[frozenset[CountKind], Ints] = {}
        self._columns: dict[CountKind, tuple[int, StateColumn]] = {}
        self.start = self._intern(bound, bound in cuttable, 0, [self._once] * len(self.kinds))

    _once: ClassVar[TileCounts] = (1, 0, 0)

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def _number(self) -> dict[CountKind, int]:
        return {kind: number for number, kind in enumerate(self.kinds)}

    def _intern(self, tile: int, may_cut: bool, cut_tile: int, stats: list[TileCounts]) -> int:
        row = (tile, int(may_cut), cut_tile, *(value for stat in stats for value in stat))
        number = self._known.get(row)
        if number is None:
            number = self._known[row] = len(self._rows)
            self._rows.append(row)
        return number

    def _stats(self, state: int) -> list[TileCounts]:
        row = self._rows[state]
        return [(row[i], row[i + 1], row[i + 2]) for i in range(3, len(row), 3)]

    def tile(self, state: int) -> int:
        """Return the tile size of a state, in values; a smaller last tile does not count.

        `state`: its number. A state is a tile with its counts of tiles visited.
        """
        return int(self._rows[state][0])

    def cuts(self, states: Ints) -> tuple[Ints, Ints, Ints]:
        """Return how the variable is cut into tiles in some states, shape (states,) each.

        Its bound, the period with which tiles begin anew (the tile that the uneven loop cuts), and
        the tile. `states`: their numbers.
        """
        distinct, inverse = np.unique(states, return_inverse=True)
        heads = [self._head(state) for state in distinct.tolist()]
        tiles = np.array([tile for tile, _, _ in heads], np.int64)[inverse]
        periods = np.array([cut or self.bound for _, _, cut in heads], np.int64)[inverse]
        return np.full(len(states), self.bound, np.int64), periods, tiles

    def column(self, kind: CountKind) -> StateColumn:
        """Return, as arrays over all states so far, tile sizes and one kind of count of tiles.

        `kind`: all tiles visited, or only the largest or first of some loops.
        """
        size, column = self._columns.get(kind, (0, None))
        if column is None or size != len(self._rows):
            place = 3 + 3 * self._number[kind]
            table = np.array(self._rows, np.float64)
            tile, counts = table[:, 0].astype(np.int64), table[:, place : place + 3].T.copy()
            column = self._column(tile, counts)
            self._columns[kind] = (len(self._rows), column)
        return column

    def _column(self, tile: Ints, counts: Floats) -> StateColumn:
        return StateColumn(tile, *counts)

    def forget(self, states: Ints, needed: frozenset[CountKind]) -> Ints:
        """Return the states without the counts that no cost further down needs, shape (labels,).

        Labels with equal costs then fall together. `states`: numbers; `needed`: kinds still
        needed. A label is the tuple of costs of a partial mapping.
        """
        table = self._tables.get(needed)
        if table is None or len(table) < len(self._rows):
            enlarged = np.full(2 * len(self._rows), -1, np.int64)
            enlarged[: 0 if table is None else len(table)] = table if table is not None else -1
            table = self._tables[needed] = enlarged
        for state in np.unique(states[table[states] < 0]).tolist():
            table[state] = self._forget(state, needed)
        return table[states]

    def _forget(self, state: int, needed: frozenset[CountKind]) -> int:
        tile, may_cut, cut_tile = self._head(state)
        stats = [
            stat if kind in needed else (0, 0, 0)
            for kind, stat in zip(self.kinds, self._stats(state), strict=True)
        ]
        return self._intern(tile, may_cut, cut_tile, stats)

    def _head(self, state: int) -> tuple[int, bool, int]:
        """Return (tile size, whether an uneven loop may still come, tile size that one has cut)."""
        tile, may_cut, cut_tile = self._rows[state][:3]
        return int(tile), bool(may_cut), int(cut_tile)

    def below(
        self, state: int, tail: Tail, lane: Lane | None, lanes: LaneRange = ONE_LANE
    ) -> tuple[Ints, Ints]:
        """Return the states that one slot can leave, and the lanes that each takes.

        Two arrays of one length; lanes are 1 for a temporal loop. `state`: the one above; `tail`:
        later slots that can loop over the variable; `lane`: (component, dimension) of a spatial
        slot; `lanes`: the fewest and most lanes it may have. A slot is a place of a template (a
        mapping without loops) for loops, a fill or a reserved tile; a lane is one instance along a
        dimension of a fanout.
        """
        key = (state, tail, lane, lanes)
        if key not in self._below:
            tiles = self._tiles_below(state, tail, lanes if lane else None)
            states = [self._cut(state, tile, may_cut, lane) for tile, may_cut, _ in tiles]
            lanes_taken = [n if lane else 1 for _, _, n in tiles]
            self._below[key] = (np.array(states, np.int64), np.array(lanes_taken, np.int64))
        return self._below[key]

    def _even_ok(self, state: int, tile: int, tail: Tail) -> bool:
        _, may_cut, cut_tile = self._head(state)
        if may_cut and tile in self._wholes:
            return can_finish_open(tile, tail)
        return bool(candidates(cut_tile or self.bound, tail)[tile])

    def _tiles_below(
        self, state: int, tail: Tail, lanes: LaneRange | None
    ) -> list[tuple[int, bool, int]]:
        """Return the tiles that a slot can leave: (tile, whether an uneven loop may come, turns).

        `lanes`: of a spatial slot, whose turns are lanes; None for a temporal one.
        """
        tile, may_cut, _ = self._head(state)
        fewest, most = lanes or (1, tile)
        turns = divisors(tile) if lanes else divisors(tile)[::-1]
        even = [(tile // n, n) for n in turns if fewest <= n <= most]
        options = [
            (t, may_cut and t in self._wholes, n) for t, n in even if self._even_ok(state, t, tail)
        ]
        odd = _odd_tiles(tile, tail) if may_cut else []
        return options + [(t, False, n) for t, n in odd if fewest <= n <= most]

    def _cut(self, state: int, tile_below: int, may_cut: bool, lane: Lane | None) -> int:
        tile, _, cut_tile = self._head(state)
        if tile_below == tile:
            return state
        odd = tile % tile_below != 0
        stats = [
            self._cut_tiles(stat, tile, tile_below, largest_only=kind.takes_largest(lane))
            for kind, stat in zip(self.kinds, self._stats(state), strict=True)
        ]
        return self._intern(tile_below, may_cut, tile if odd else cut_tile, stats)

    def _cut_tiles(
        self, stat: TileCounts, tile: int, below: int, *, largest_only: bool
    ) -> TileCounts:
        """Return the counts of tiles below a loop from those above it.

        `tile`, `below`: nominal sizes above and below. `largest_only`: one piece of each tile
        counts, the largest; else all pieces. Example: 2 full tiles of 10 cut to 4: 4 full and 2 odd
        of 2 values.
        """
        full, odd, odd_tile = stat
        if full + odd == 0:  # forgotten
            return stat
        if largest_only:
            return (full + odd, 0, 0) if odd_tile >= below else stat
        pieces, remainder = divmod(tile, below)
        if remainder:  # the uneven loop: no loop above it has a remainder
            return (full * pieces, full, remainder)
        odd_pieces, odd_remainder = divmod(odd_tile, below)
        return (full * pieces + odd * odd_pieces, odd if odd_remainder else 0, odd_remainder)


def _odd_tiles(tile: int, tail: Tail) -> list[tuple[int, int]]:
    """Return the tiles that an uneven loop can leave of a tile, each with the turns of the loop."""
    below = np.flatnonzero(candidates(tile, tail)[:tile]).tolist()
    return [(t, -(-tile // t)) for t in below if tile % t]
