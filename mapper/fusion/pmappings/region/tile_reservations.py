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
    """Describe the tile for which a holder of the region must have capacity.

    `loops_above`: number of fused loops above the tile. `tiles`: (variable, tile) for each variable
    that has a fused loop further down: its tile at this place. Sorted; tile 0 stands for the whole
    bound, a variable below 0 for a spatial loop.
    """

    loops_above: int
    tiles: tuple[NumberedLoop, ...]


OrdersByReservation = dict[tuple[TileReservation, ...], list[LoopOrder]]


class Region:
    """Find what the holders of a region must reserve for their tiles.

    The region: the holders of one Einsum below the outermost memory, down to the lowest that backs
    a tensor on chip; fused loops stand among them. `problem`: the Einsum and the conventions.
    `holders`: outermost first. `varied_windows`: tensors that several Einsums may hold there, seen
    through different windows. A tile shrinks with loops below its holder over relevant variables,
    until another loop or holder stops it (theory/model.md §4.1).
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
        """Group orders of the fused loops by the tiles that the holders reserve under them.

        `depths`: number of fused loops above each holder. `orders`: (variable, tile) pairs,
        outermost first, for all loops; a variable below 0 is a spatial loop. Return the orders by
        the tuple of reservations, one per holder. A tensor with varied windows reserves the largest
        tile that any of its Einsums needs, so that every tile larger than this Einsum's own is a
        choice as well.
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
        """Return the tiles that a holder may reserve.

        One, the smallest; for a tensor with varied windows one for each number of loops in
        `tile_depths`.
        """
        chosen = tile_depths if holder.tensor in self._varied_windows else tile_depths[-1:]
        return [_reservation(depth, order) for depth in chosen]

    def _tile_depth(self, place: int, depths: Sequence[int], order: LoopOrder) -> int:
        """Return the number of loops above the tile that holder `place` reserves.

        `depths`: loops above each holder. The tile shrinks with relevant loops below the holder.
        """
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
        """Return how many loops stand above the holder that ends the shrinking of the first.

        `depths`: loops above the first holder and those below it.
        """
        if self._passes_neighbours:
            return next((depth for depth in depths if depth > depths[0]), depths[0])
        return depths[min(1, len(depths) - 1)]


def _reservation(loops_above: int, order: LoopOrder) -> TileReservation:
    tiles = tiles_above(order[:loops_above], order[loops_above:])
    return TileReservation(loops_above, tuple(sorted(tiles.items())))


def tiles_above(upper: Sequence[NumberedLoop], deeper: Sequence[NumberedLoop]) -> Mapping[int, int]:
    """Return, for the variables of some loops, the tile above these loops.

    `upper`: loops that stand above the `deeper` ones. Both are (variable, tile below the loop)
    pairs, outermost first. A variable of `deeper` loops has the tile of its last `upper` loop, or
    0, which stands for its whole bound. Example: upper ((m, 4),), deeper ((n, 2), (m, 1)): n has 0,
    m has 4.
    """
    tile_of = dict(upper)
    return {variable: tile_of.get(variable, 0) for variable, _ in deeper}
