"""Messages on networks: exact hops, the longest way and the busiest link, worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from running_example import ARCH, grid_of_lanes, loops_and_nest, view_of

from tilewright.mapper.model.traffic.messages import hops_of_messages

MESH = ARCH.replace(
    "  - !Compute",
    "  - !Network {name: NOC, topology: mesh, area: 0, leak_power: 0, "
    "actions: [{name: hop, energy: 1, throughput: 1, latency: 1}]}\n  - !Compute",
).replace(
    "{name: x, fanout: 2}, {name: y, fanout: 2}", "{name: x, fanout: 9}, {name: y, fanout: 9}"
)
SWITCH = MESH.replace("topology: mesh", "topology: all_to_all")


def hops(tensor, nodes, sizes, arch=MESH, einsum="Z[m, n] = A[m] * B[n]"):
    _, nest = loops_and_nest(tensor, nodes, view_of(einsum, sizes, arch))
    (leg,) = hops_of_messages(nest)
    return leg.hops, leg.farthest, dict(leg.traffic)


GRID = """
Storage {tensors: [A, B, Z], component: DRAM}
Temporal {rank_variable: m, tile_shape: 4}
Spatial {rank_variable: n, tile_shape: 1, name: y, component: MAC}
Spatial {rank_variable: m, tile_shape: 1, name: x, component: MAC}
Compute {einsum: Z, component: MAC}
"""


def test_every_round_counts_on_the_first_link_of_each_dimension() -> None:
    """theory/model.md §7.2: m = 8 in two rounds of 4 over x, n = 2 over y."""
    # A: own value for each of 4 lanes of x (0 + 1 + 2 + 3 links) in 2 lanes of y, which share it.
    assert hops("A", GRID, "M: 8, N: 2") == (2 * (2 * 6 + 4), 4, {"x": 2 * 3, "y": 2 * 4})
    # B: own value for each lane of y, shared along x.
    assert hops("B", GRID, "M: 8, N: 2") == (2 * (2 * 3 + 1), 4, {"x": 2 * 1, "y": 2 * 1})
    assert hops("Z", GRID, "M: 8, N: 2") == (2 * (2 * 6 + 4), 4, {"x": 2 * 3, "y": 2 * 4})


def test_a_switch_is_one_hop_from_everybody() -> None:
    moved, farthest, links = hops("A", GRID, "M: 8, N: 2", SWITCH)
    assert (moved, farthest) == (2 * (2 * 3 + 4), 2)
    assert links == {"x": 2 * 3, "y": 2 * 4}


ROW = """
Storage {{tensors: [A, B, Z], component: DRAM}}
Spatial {{rank_variable: m, tile_shape: {tile}, name: x, component: MAC}}
Temporal {{rank_variable: m, tile_shape: 1}}
Compute {{einsum: Z, component: MAC}}
"""


@given(st.integers(1, 20), st.integers(1, 8))
def test_uneven_tiles_travel_as_they_are(size: int, tile: int) -> None:
    """Instance i of a row takes its tile over i links; the first link carries all but the first."""
    tile = max(min(tile, size), -(-size // 9))
    sizes = [min(tile, size - start) for start in range(0, size, tile)]
    moved, farthest, links = hops(
        "A", ROW.format(tile=tile), f"M: {size}", einsum="Z[m] = A[m] * B[m]"
    )
    assert moved == sum(number * values for number, values in enumerate(sizes))
    assert farthest == len(sizes) - 1
    assert links == {"x": sum(sizes[1:])}


@pytest.mark.parametrize(("reuse", "moved"), [("All", 3), ("Nothing", 0 + 1 + 2 + 3)])
def test_what_may_not_be_shared_goes_to_each_lane_by_itself(reuse: str, moved: int) -> None:
    arch = MESH.replace("{name: x, fanout: 9}", f"{{name: x, fanout: 9, may_reuse: {reuse}}}")
    nodes = ROW.format(tile=1).replace("Temporal {rank_variable: m, tile_shape: 1}\n", "")
    counts = hops("B", nodes, "M: 4, O: 1", arch, "Z[m, o] = A[m, o] * B[o]")
    assert counts == (moved, 3, {"x": 1 if reuse == "All" else 3})


@pytest.mark.parametrize(
    ("places", "moved", "farthest", "link"), [(1, 6, 3, 3), (2, 2, 1, 1), (4, 0, 0, 0)]
)
def test_each_lane_is_served_by_the_nearest_place(places, moved, farthest, link) -> None:
    """Lanes 0 to 3: distances 0 1 2 3 from one place, 0 1 0 1 from two, none from four."""
    nodes = """
Storage {tensors: [A, Z], component: MEM}
Spatial {rank_variable: m, tile_shape: 1, name: x, component: GRID}
Compute {einsum: Z, component: MAC}
"""
    arch = grid_of_lanes(places, network=True)
    counts = hops("A", nodes, "M: 4", arch, "Z[m] = A[m]")
    assert counts == (moved, farthest, {"x": link})
