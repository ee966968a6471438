"""Find how much each holder above the lowest tensor on chip must reserve for its tile.

A holder keeps what the loops below it use at a time. A loop over a variable relevant to its tensor
only streams through the tile; a loop along which the tile slides does so, too, but the next loop
makes the tile stay (theory/model.md §4.1). The walk down ends at spatial loops and at another
holder. By default it passes holders at the same place, with no loop between (docs/conventions.md
§4).

Example: a holder of `A[m, k]` above loops m, n, k. The loop m streams, the loop n stops: the tile
has 1 loop above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from tilewright.mapper.templates.placement import Holder
from tilewright.mapper.templates.problem import Problem

# variable (below 0: spatial, see shared_spatial.py), tile below the loop (0: that of the state)
NumberedLoop = tuple[int, int]
LoopOrder = tuple[NumberedLoop, ...]  # outermost first


class TileReservation(NamedTuple):
    """The tile that a holder reserves.

    `loops_above`: number of loops above the tile. `tiles`: (variable, tile) above the other loops,
    for each variable of these, sorted; tile 0 stands for the whole.
    """

    loops_above: int
    tiles: tuple[NumberedLoop, ...]


OrdersByReservation = dict[tuple[TileReservation, ...], list[LoopOrder]]


class Region:
    """The holders of one fused template that shared loops may stand between.

    `varied_windows`: tensors that several Einsums may hold there, seen through different windows.
    """

    def __init__(
        self,
        problem: Problem,
        holders: Sequence[Holder],
        varied_windows: frozenset[str] = frozenset(),
    ) -> None:
        self.holders = tuple(holders)
        self._varied_windows = varied_windows
        self._passes_neighbours = problem.conventions.adjacent_holders_shrink
        names = tuple(problem.einsum.bounds)
        accesses = [problem.einsum.access(holder.tensor) for holder in holders]
        self._relevance = [tuple(map(access.relevance, names)) for access in accesses]

    def orders_by_reservation(
        self, depths: Sequence[int], orders: Iterable[LoopOrder]
    ) -> OrdersByReservation:
        """Sort orders of all loops by what the holders reserve; `depths`: loops above each holder.

        A tensor that several Einsums hold there reserves the largest tile of any of them: any
        tile larger than that of this Einsum is a choice of its own.
        """
        sorted_orders: OrdersByReservation = {}
        unstreamed: tuple[TileReservation, ...] | None = None  # the same in every order
        for order in orders:
            unstreamed = unstreamed or tuple(_reservation(depth, order) for depth in depths)
            tile_depths = [self._tile_depth(place, depths, order) for place in range(len(depths))]
            choices = [
                [unstreamed_tile]
                if tile_depth == depth
                else self._reservations(holder, range(depth, tile_depth + 1), order)
                for holder, depth, tile_depth, unstreamed_tile in zip(
                    self.holders, depths, tile_depths, unstreamed, strict=True
                )
            ]
            for chosen in product(*choices):
                sorted_orders.setdefault(chosen, []).append(order)
        return sorted_orders

    def _reservations(
        self, holder: Holder, tile_depths: range, order: LoopOrder
    ) -> list[TileReservation]:
        """Return the reservations that a holder may make: of the smallest tile or larger ones."""
        chosen = tile_depths if holder.tensor in self._varied_windows else tile_depths[-1:]
        return [_reservation(depth, order) for depth in chosen]

    def _tile_depth(self, place: int, depths: Sequence[int], order: LoopOrder) -> int:
        """Return the number of loops above the tile that holder `place` keeps."""
        start = depths[place]
        if self.holders[place].backing:
            return start
        last = self._last_depth(depths[place:])
        for depth in range(start, last):
            variable = order[depth][0]
            if variable < 0:
                return depth
            relevance = self._relevance[place][variable]
            if relevance != "relevant":
                return depth + (relevance == "partial")
        return last

    def _last_depth(self, depths: Sequence[int]) -> int:
        """Return how many loops stand above the next holder that stops the tile of the first."""
        if self._passes_neighbours:
            return next((depth for depth in depths if depth > depths[0]), depths[0])
        return depths[min(1, len(depths) - 1)]


def _reservation(loops_above: int, order: LoopOrder) -> TileReservation:
    tiles = tiles_above(order[:loops_above], order[loops_above:])
    return TileReservation(loops_above, tuple(sorted(tiles.items())))


def tiles_above(upper: Sequence[NumberedLoop], deeper: Sequence[NumberedLoop]) -> Mapping[int, int]:
    """Return the tiles of the variables of `deeper` loops above them; 0 for the whole."""
    tile_of = dict(upper)
    return {variable: tile_of.get(variable, 0) for variable, _ in deeper}
