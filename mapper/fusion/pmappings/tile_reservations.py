"""Which tile of each holder above the lowest tensor on chip there must be room for.

A holder keeps what the loops below it use at a time: loops over variables relevant to its tensor
only stream the tile, one along which it slides still does, the next one makes it stay
(model.md §4.1). The walk ends at lanes and at another holder; by default not at those that
stand in the same place, with no loop between (docs/conventions.md §4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from tilewright.mapper.templates.placement import Holder
from tilewright.mapper.templates.problem import Problem

NumberedLoop = tuple[
    int, int
]  # variable (below 0: lanes, see shared_spatial.py), tile below it: 0 for the state's
LoopOrder = tuple[NumberedLoop, ...]  # outermost first
TileReservation = tuple[
    int, tuple[NumberedLoop, ...]
]  # loops above the tile; tiles of the variables of the others
OrdersByReservation = dict[tuple[TileReservation, ...], list[LoopOrder]]


class Region:
    """The holders of one layout that shared loops may stand between.

    `apart`: tensors that several Einsums may hold there, with windows of their own.
    """

    def __init__(
        self, problem: Problem, holders: Sequence[Holder], apart: frozenset[str] = frozenset()
    ) -> None:
        self.holders = tuple(holders)
        self._varied_windows = apart
        self._passes_neighbours = problem.conventions.adjacent_holders_shrink
        names = tuple(problem.einsum.bounds)
        accesses = [problem.einsum.access(holder.tensor) for holder in holders]
        self._relevance = [tuple(map(access.relevance, names)) for access in accesses]

    def orders_by_reservation(
        self, depths: Sequence[int], ways: Iterable[LoopOrder]
    ) -> OrdersByReservation:
        """Sort orders of all loops by the room per holder; `depths`: loops above each.

        What several Einsums hold there has room for the largest tile that one of them needs: any
        larger one than this Einsum needs.
        """
        found: OrdersByReservation = {}
        filled: tuple[TileReservation, ...] | None = None  # the same in every order
        for order in ways:
            filled = filled or tuple(_reservation(depth, order) for depth in depths)
            lows = [self._tile_depth(place, depths, order) for place in range(len(depths))]
            choices = [
                [given] if low == depth else self._reservations(holder, (depth, low), order)
                for holder, depth, low, given in zip(
                    self.holders, depths, lows, filled, strict=True
                )
            ]
            for chosen in product(*choices):
                found.setdefault(chosen, []).append(order)
        return found

    def _reservations(
        self, holder: Holder, span: tuple[int, int], order: LoopOrder
    ) -> list[TileReservation]:
        depth, low = span
        first = depth if holder.tensor in self._varied_windows else low
        return [_reservation(number, order) for number in range(first, low + 1)]

    def _tile_depth(self, place: int, depths: Sequence[int], order: LoopOrder) -> int:
        """Return the number of loops above the tile that holder `place` keeps."""
        start = depths[place]
        if self.holders[place].backing:
            return start
        for low in range(start, self._last_depth(depths[place:])):
            variable = order[low][0]
            if variable < 0:
                return low
            relevance = self._relevance[place][variable]
            if relevance != "relevant":
                return low + (relevance == "partial")
        return self._last_depth(depths[place:])

    def _last_depth(self, depths: Sequence[int]) -> int:
        """Return how many loops stand above the next holder that stops the first one."""
        if self._passes_neighbours:
            return next((depth for depth in depths if depth > depths[0]), depths[0])
        return depths[min(1, len(depths) - 1)]


def _reservation(low: int, order: LoopOrder) -> TileReservation:
    return low, tuple(sorted(tiles_above(order[:low], order[low:]).items()))


def tiles_above(upper: Sequence[NumberedLoop], deeper: Sequence[NumberedLoop]) -> Mapping[int, int]:
    """Return the tiles of the variables of `deeper` loops above them; 0 for the whole."""
    left = dict(upper)
    return {variable: left.get(variable, 0) for variable, _ in deeper}
