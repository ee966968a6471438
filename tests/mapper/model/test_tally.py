"""All counts of one Einsum: steps, lanes, instances in use, places of distributed memories."""

from __future__ import annotations

import pytest
from running_example import ARCH, LANES, LOOPS, grid_of_lanes, path_of, view_of

from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.tally import tally
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError

DEFAULT, ACCELFORGE = (conventions_called(name) for name in ("default", "accelforge"))


def test_counts_of_the_running_example() -> None:
    counts = tally(path_of(), view_of(), DEFAULT)
    assert (counts.operations, counts.steps, counts.lanes) == (64, 64, 1)
    assert [(t.tensor, t.holder.component.name, t.reads, t.writes) for t in counts.traffic] == [
        ("Z", "DRAM", 48, 64),
        ("A", "DRAM", 32, 0),
        ("A", "BUF", 64, 32),
        ("B", "DRAM", 64, 0),
    ]
    assert {tile.key: tile.bits for tile in counts.occupancy} == {
        "Z/DRAM/A": 32, "Z/DRAM/B": 8, "Z/DRAM/Z": 16, "Z/BUF/A": 8,
    }  # fmt: skip
    assert counts.used == {("MAC", "x"): 1, ("MAC", "y"): 1}
    assert (counts.hops, counts.places) == ((), {})


def test_lanes_divide_the_steps() -> None:
    counts = tally(path_of(LANES), view_of(), DEFAULT)
    assert (counts.operations, counts.steps, counts.lanes) == (64, 16, 4)
    assert counts.used == {("MAC", "x"): 2, ("MAC", "y"): 2}


def test_uneven_lanes_take_whole_rounds_or_average_ones() -> None:
    """7 over two lanes: rounds of 2, 2, 2 and 1 by default, 7 / 2 for AccelForge."""
    nodes = LOOPS.replace("tile_shape: 2", "tile_shape: 2").replace(
        "Temporal {rank_variable: m, tile_shape: 1}",
        "Spatial {rank_variable: m, tile_shape: 1, name: x, component: MAC}",
    )
    view = view_of(sizes="M: 7, K: 1, N: 1")
    assert tally(path_of(nodes), view, DEFAULT).steps == 4
    assert tally(path_of(nodes), view, ACCELFORGE).steps * 2 == 7


def test_more_instances_than_there_are_is_infeasible() -> None:
    nodes = LANES.replace("m, tile_shape: 2", "m, tile_shape: 4")
    with pytest.raises(InfeasibleMapping) as caught:
        tally(path_of(nodes), view_of(), DEFAULT)
    assert caught.value.what == (
        "Einsum Z: the mapping uses 4 instances of dimension y of MAC, but its fanout is 2"
    )
    assert (caught.value.value, caught.value.where.line) == (4.0, 8)
    arch = ARCH.replace("{name: y, fanout: 2}", "{name: y, fanout: 2, usage_scale: 1.5}")
    with pytest.raises(InfeasibleMapping, match=r"uses 2 instances \(times usage_scale 1.5\)"):
        tally(path_of(LANES), view_of(arch=arch), DEFAULT)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[A], component: BUF", "[A], component: GLB", "'GLB' is not a Memory or Toll on the way"),
        ("[A], component: BUF", "[A], component: DRAM", "held in DRAM again"),
        ("[A, B, Z], component: DRAM", "[B, Z], component: DRAM", None),
        ("[A, B, Z], component: DRAM", "[A, Z], component: DRAM", "tensor B is held nowhere"),
    ],
)
def test_holders_are_checked(old: str, new: str, words: str | None) -> None:
    path = path_of(LOOPS.replace(old, new))
    if words is None:  # A is backed in the buffer
        assert tally(path, view_of(), DEFAULT).operations == 64
        return
    with pytest.raises(MappingError, match=words) as caught:
        tally(path, view_of(), DEFAULT)
    assert caught.value.where is not None


@pytest.mark.parametrize(("lanes", "default", "theirs"), [(4, 2, 2), (1, 1, 0.5)])
def test_places_of_a_distributed_memory_share_the_bits(lanes, default, theirs) -> None:
    """theory/model.md §4.3: two places on a grid of four lanes."""
    nodes = f"""
Storage {{tensors: [A, Z], component: MEM}}
Spatial {{rank_variable: m, tile_shape: {4 // lanes}, name: x, component: GRID}}
Temporal {{rank_variable: m, tile_shape: 1}}
Compute {{einsum: Z, component: MAC}}
"""
    view = view_of("Z[m] = A[m]", "M: 4", grid_of_lanes(2))
    for conventions, places in ((DEFAULT, default), (ACCELFORGE, theirs)):
        counts = tally(path_of(nodes), view, conventions)
        assert counts.places == {"MEM": places}
        assert {tile.bits for tile in counts.occupancy} == {4 / places}
