"""Pmappings of copies: what they occupy, and the loops that they may stand below."""

from __future__ import annotations

import numpy as np
from copied_cases import workload_with_copies

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.copies.copy_nodes import CopySpatialLoop
from tilewright.mapper.fusion.copies.copy_occupancy import CopyOccupancy, copy_occupancy
from tilewright.mapper.fusion.copies.copy_pmappings import (
    CopyLoops,
    CopyPmapping,
    CopyPmappingMaker,
    lanes_per_variable,
)
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Spatial, Storage, Temporal
from tilewright.mapper.model.occupancy.occupancy import Occupancy

COPY = workload_with_copies(("Y[m, n] = A[m] * B[n]", "copy X[m, n] = Y[m, n]"), {"m": 4, "n": 2})
PLACES = TensorPlace("Y", "BUF"), TensorPlace("X", "BUF")
LANES = CopySpatialLoop("m", 2, ("TILE", "x"))
PLAIN = CopyPmapping((5.0, 2.0), {"m": 1, "n": 1}, CopyOccupancy(frozenset(), (), (1.0,)), 0)


def tile(component: str, tensor: str, bits: int, origin: int, backing: bool) -> Occupancy:
    return Occupancy(component, tensor, bits, 1, origin, 0, False, backing, "")


def maker(capacity: float, loops_per_variable: int = 1) -> CopyPmappingMaker:
    """Return the maker of a copy of 8 values of one bit."""
    variables = frozenset({"m", "n"})
    return CopyPmappingMaker(
        COPY.einsums[1],
        PLACES,
        dict.fromkeys(PLACES, 1.0),
        {"Y": variables, "X": variables},
        {"m": "m", "n": "n"},
        loops_per_variable,
        (capacity,),
    )


def test_occupancy_is_sorted_by_where_it_changes_with_loops() -> None:
    """Y has no tile of its own: X stands at its node, 2 bits per value. The rest is fixed."""
    occupied = [
        tile("BUF", "X", 16, origin=1, backing=False),
        tile("BUF", "X", 3, origin=5, backing=False),
        tile("REG", "Y", 7, origin=6, backing=False),
        tile("DRAM", "Y", 9, origin=0, backing=True),
    ]
    occupancy = copy_occupancy(occupied, {"Y": 1}, ("BUF", "REG"), {"Y": 8.0})
    assert occupancy == CopyOccupancy(frozenset({"Y"}), (("Y", 2.0),), (3.0, 7.0))


def test_a_backed_tensor_counts_apart() -> None:
    occupied = [tile("BUF", "Y", 8, origin=1, backing=True)]
    occupancy = copy_occupancy(occupied, {"Y": 1}, ("BUF",), {"Y": 8.0})
    assert occupancy == CopyOccupancy(frozenset(), (), (0.0,))


def test_lanes_of_a_variable_multiply() -> None:
    """8 values: two lanes of 4, a loop of tiles of 2, two lanes of 1."""
    nodes = (Storage(("Y",), "DRAM"), Spatial("m", 4, "x", "TILE"), Temporal("m", 2),
             Spatial("m", 1, "y", "PE"), ComputeNode("X", "MAC"))  # fmt: skip
    assert lanes_per_variable(Mapping(nodes), {"m": 8, "n": 2}) == {"m": 4, "n": 1}


def test_tiles_below_temporal_and_spatial_loops() -> None:
    """The loop over m leaves 4 of 8 in all lanes, two lanes 2 each; the loop over n leaves 1."""
    loops = CopyLoops(("m", "n"), {"Y": 3}, 1, (LANES,))
    assert loops.variables == ("m", "m", "n")
    assert loops.named({"m": "a", "n": "b"}) == (
        LoopName("a"), LoopName("a", ("TILE", "x")), LoopName("b"),
    )  # fmt: skip
    assert loops.tiles(np.array([[4, 1]]), {"m": 8, "n": 2}).tolist() == [[4, 2, 1]]


def test_groups_without_loops_have_whole_tensors() -> None:
    (group,) = maker(9.0).groups_without_loops(("Y",), [PLAIN])
    assert (group.loops, group.depths) == ((), (0, -1))
    assert group.sizes.tolist() == [[8.0, 0.0]]
    assert group.values.tolist() == [[5.0, 2.0, 1.0]]


def test_groups_below_loops_are_those_that_fit() -> None:
    """Y below a loop over m has 2 or 4 bits, below one over n 4; the copy itself takes one more."""
    groups = maker(4.0).groups_below_loops(("Y",), False, [PLAIN])
    names = {tuple(loop.variable for loop in g.loops): g.tiles.tolist() for g in groups}
    assert names == {
        ("m",): [[1]],
        ("m", "n"): [[1, 1], [2, 1]],
        ("n", "m"): [[1, 1], [1, 2]],
    }


def test_tiles_leave_enough_for_the_lanes() -> None:
    """Two lanes over m need tiles of 2 or more."""
    spread = CopyPmapping((5.0, 2.0), {"m": 2, "n": 1}, PLAIN.occupancy, 0)
    groups = maker(100.0).groups_below_loops(("Y",), False, [spread])
    tiles = {tuple(loop.variable for loop in g.loops): g.tiles.tolist() for g in groups}
    assert tiles[("m",)] == [[2]]
    assert tiles[("n",)] == [[1]]
