"""Nests of single tensors, and the places where their tiles are reserved."""

from __future__ import annotations

import pytest
from running_example import LANES, LOOPS, loops_and_nest, path_of, view_of

from tilewright.mapper.model.occupancy.occupancy import occupancies
from tilewright.mapper.model.paths.loops import loops_of
from tilewright.mapper.model.paths.nest import (
    Lowering,
    ReservationItem,
    no_loop_sinks,
    reservations,
    some_loop_sinks,
    stop_at_any_holder,
    stop_unless_adjacent,
)
from tilewright.mapper.workload.errors import MappingError

DEFAULT = (stop_unless_adjacent, some_loop_sinks)
ACCELFORGE = (stop_at_any_holder, no_loop_sinks)


def gaps(nodes, rules=DEFAULT, einsum="Z[m, n] = A[m, k] * B[k, n]", sizes="M: 8, K: 4, N: 2"):
    view = view_of(einsum, sizes)
    path = path_of(nodes)
    return reservations(path, loops_of(path, view), view.tensors, Lowering(*rules, view))


def test_the_running_example_reserves_above_the_irrelevant_loop() -> None:
    """DRAM keeps whole tensors (gaps 1 to 3); below BUF the loop over n uses all of A again."""
    assert gaps(LOOPS) == {1: (0,), 2: (1,), 3: (2,), 5: (4,)}
    _, nest = loops_and_nest("A")
    assert nest.items == (0, ReservationItem(0), 3, 4, ReservationItem(4), 5, 6, 7)
    (dram, buf) = occupancies(nest)
    assert (dram.component, dram.bits, dram.backing) == ("DRAM", 32, True)
    assert (buf.component, buf.bits, buf.backing, buf.loops_above) == ("BUF", 8, False, 1)


def test_relevant_loops_only_stream() -> None:
    """With the loops in the order m, k, n the buffer reserves one value, above the loop over n."""
    lines = LOOPS.splitlines()
    lines[4:7] = [lines[6], lines[5], lines[4]]  # n, k, m -> m, k, n
    nodes = "\n".join(lines)
    assert gaps(nodes)[7] == (4,)
    _, nest = loops_and_nest("A", nodes)
    assert [tile.bits for tile in occupancies(nest)] == [32, 1]


def test_a_window_slides_below_one_more_loop() -> None:
    """A[p + r] below a loop over p: its turns share the window, which stays below that loop."""
    nodes = """
        Storage {tensors: [A, B, Z], component: DRAM}
        Storage {tensors: [A], component: BUF}
        Temporal {rank_variable: p, tile_shape: 1}
        Temporal {rank_variable: r, tile_shape: 1}
        Compute {einsum: Z, component: MAC}
    """
    nodes = "\n".join(line.strip() for line in nodes.strip().splitlines())
    einsum, sizes = "Z[p] = A[H: p + r] * B[r]", "P: 4, R: 3"
    assert gaps(nodes, DEFAULT, einsum, sizes)[5] == (3,)
    _, nest = loops_and_nest("A", nodes, view_of(einsum, sizes))
    assert [tile.bits for tile in occupancies(nest)] == [6, 3]


ADJACENT = LOOPS.replace("[A], component: BUF", "[A, B], component: BUF")


def test_holders_of_other_tensors_stop_the_walk_by_convention() -> None:
    """B stands between A and the loops: AccelForge reserves A in front of B's holder."""
    lines = ADJACENT.splitlines()
    lines[4:6] = [lines[5], lines[4]]  # n, k -> k, n
    nodes = "\n".join(lines)
    assert gaps(nodes)[7] == (4,)  # past B and the loop over k, above the loop over n
    assert gaps(nodes, ACCELFORGE)[5] == (4,)


def test_spatial_loops_stand_at_their_fanout() -> None:
    """The loops over x and y of MAC stand right above the Compute, wherever they are written."""
    _, nest = loops_and_nest("B", LANES)
    assert nest.items == (1, ReservationItem(1), 3, 5, 6, 7)
    nodes = LANES.replace(
        "Storage {tensors: [A], component: BUF}\n"
        "Spatial {rank_variable: n, tile_shape: 1, name: x, component: MAC}",
        "Spatial {rank_variable: n, tile_shape: 1, name: x, component: MAC}\n"
        "Storage {tensors: [A], component: BUF}",
    )
    _, nest = loops_and_nest("A", nodes)
    assert nest.items == (0, ReservationItem(0), 3, 5, ReservationItem(5), 4, 6, 7)


def test_loops_over_one_relevant_variable_cannot_change_places() -> None:
    nodes = LOOPS.replace(
        "Temporal {rank_variable: m, tile_shape: 2}",
        "Spatial {rank_variable: m, tile_shape: 4, name: x, component: MAC}\n"
        "Temporal {rank_variable: m, tile_shape: 2}",
    )
    with pytest.raises(
        MappingError, match="tensor A: a spatial and a temporal loop over m"
    ) as caught:
        loops_and_nest("A", nodes)
    assert caught.value.where is not None
    loops_and_nest("B", nodes)  # m is irrelevant to B
