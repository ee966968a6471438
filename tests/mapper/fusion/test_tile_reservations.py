"""What holders above the lowest tensor on chip reserve."""

from __future__ import annotations

import pytest
from fused_example import WORKLOAD, machine, paths_of

from tilewright.mapper.fusion.pmappings.region.tile_reservations import (
    Region,
    TileReservation,
    tiles_above,
)
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.templates.placement import Holder

HOLDERS = (Holder("A", "BUF"), Holder("Y", "BUF", backing=True))  # A[m, k], Y[m, n]
EINSUM, FLAT = paths_of(WORKLOAD, machine(8))[0]
NUMBERS = {name: number for number, name in enumerate(EINSUM.bounds)}


def reserved_depth(order: str, varied_windows: frozenset[str] = frozenset()) -> list[int]:
    """Return the loops above the tile of A, whose holder has none above it.

    All loops of the order stand between the holder of A and that of Y.
    """
    region = Region(Mapspace(EINSUM, FLAT).problem, HOLDERS, varied_windows)
    loops = tuple((NUMBERS[name], 0) for name in order)
    sorted_orders = region.orders_by_reservation((0, len(order)), [loops])
    return sorted(reservations[0].loops_above for reservations in sorted_orders)


@pytest.mark.parametrize(
    ("order", "depth"), [("mnk", 1), ("nmk", 0), ("mkn", 2), ("kmn", 2), ("km", 2), ("", 0)]
)
def test_relevant_loops_stream_up_to_the_first_irrelevant_one(order: str, depth: int) -> None:
    assert reserved_depth(order) == [depth]


def test_a_tensor_of_several_windows_may_reserve_more() -> None:
    assert reserved_depth("mkn", frozenset({"A"})) == [0, 1, 2]


def test_orders_with_one_reservation_come_together() -> None:
    """Of the six orders of m, n, k: n first; m or k before n; both before n."""
    region = Region(Mapspace(EINSUM, FLAT).problem, HOLDERS)
    orders = [tuple((NUMBERS[v], 0) for v in order)
              for order in ("mnk", "mkn", "nmk", "nkm", "kmn", "knm")]  # fmt: skip
    sorted_orders = region.orders_by_reservation((0, 3), orders)
    sizes = {key[0].loops_above: [] for key in sorted_orders}  # type: ignore[var-annotated]
    for key, same in sorted_orders.items():
        sizes[key[0].loops_above].append(len(same))
    assert {depth: sorted(counts) for depth, counts in sizes.items()} == {0: [2], 1: [1, 1], 2: [2]}


def test_a_backing_holder_reserves_its_whole_tile() -> None:
    region = Region(Mapspace(EINSUM, FLAT).problem, HOLDERS[1:])
    order = ((NUMBERS["m"], 0), (NUMBERS["n"], 0))
    ((reservation,),) = region.orders_by_reservation((1,), [order])
    assert reservation == TileReservation(1, ((NUMBERS["n"], 0),))


def test_tiles_above_are_those_of_the_next_loop_up() -> None:
    """Variable 0 has tiles of 4 above, then 2; variable 1 is whole above."""
    assert tiles_above([(0, 4), (0, 2)], [(1, 3), (0, 1)]) == {1: 0, 0: 2}
