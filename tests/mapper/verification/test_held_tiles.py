"""What holders reserve, worked by hand on the examples of theory/model.md §4."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mapping_inputs import mapping
from running_example import ARCH, EINSUM, LANES, LOOPS, SIZES

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.verification.einsum_schedule import schedules_of
from tilewright.mapper.verification.held_tiles import EinsumTiles, ReservedTile
from tilewright.mapper.workload.workload_loading import load_workload

COPY = """
Storage {tensors: [A], component: DRAM}
Storage {tensors: [Z], component: BUF}
Storage {tensors: [A], component: BUF}
Temporal {rank_variable: m, tile_shape: 1}
Compute {einsum: Z, component: MAC}
"""
SPREAD = """
arch:
  nodes:
  - !Memory {name: DRAM, size: inf, area: 0, leak_power: 0, BOTH}
  - !Array
    name: GRID
    spatial: [{name: x, fanout: 4}]
    nodes:
    - !Memory {name: BUF, size: 64, area: 0, leak_power: 0, spatial: [{name: x, fanout: 2}], BOTH}
    - !Compute {name: MAC, area: 0, leak_power: 0, actions: [{name: compute, energy: 1, RATE}]}
"""


def tiles_of(
    nodes: str, einsum: str = EINSUM, sizes: str = SIZES, arch: str = ARCH, copies: bool = False
) -> EinsumTiles:
    work = load_workload(
        f"workload:\n  rank_sizes: {{{sizes}}}\n  bits_per_value: {{All: 1}}\n"
        f'  einsums: [{{einsum: "{einsum}", is_copy_operation: {str(copies).lower()}}}]\n'
    )
    (flat,) = flatten(load_arch(arch), work.scope(work.einsums[0]))
    (schedule,) = schedules_of(mapping(nodes))
    return EinsumTiles(schedule, work.einsums[0], flat)


def buffer_tile(tiles: EinsumTiles, tensor: str = "A") -> ReservedTile:
    return next(t for t in tiles.tiles() if t.key[1] == tensor and t.holder.component == "BUF")


def test_the_outermost_holder_keeps_all() -> None:
    sizes = {tile.key[1]: tile.values for tile in tiles_of(LOOPS).tiles() if tile.is_outermost}
    assert sizes == {"A": 8 * 4, "B": 4 * 2, "Z": 8 * 2}


@pytest.mark.parametrize(
    ("order", "values", "loops_above"),
    [("nkm", 8, 1), ("knm", 2, 2), ("kmn", 1, 3), ("mkn", 1, 3)],
)
def test_a_lower_holder_keeps_what_the_loops_below_use_again(
    order: str, values: int, loops_above: int
) -> None:
    """n is irrelevant to A: what is left above its loop stays, the rest streams."""
    head, tail = (
        LOOPS.split("Temporal {rank_variable: n", 1)[0],
        "Compute {einsum: Z, component: MAC}",
    )
    loops = "".join(f"Temporal {{rank_variable: {v}, tile_shape: 1}}\n" for v in order)
    tile = buffer_tile(tiles_of(head + loops + tail))
    assert (tile.values, tile.loops_above) == (values, loops_above)


def test_lanes_below_a_holder_use_its_whole_tile_at_a_time() -> None:
    tiles = tiles_of(LANES)
    assert buffer_tile(tiles).values == 8
    assert tiles.lanes() == {("MAC", "x"): 2, ("MAC", "y"): 2}
    assert tiles.capacity("BUF") == 64


def test_a_window_slides_along_one_loop() -> None:
    """Of I[p + r] the values of one p stay: 3, in the order r, p those of one r: 4."""
    for order, values in (("pr", 3), ("rp", 4)):
        nodes = "Storage {tensors: [A, B, Z], component: DRAM}\n"
        nodes += "Storage {tensors: [A], component: BUF}\n"
        nodes += "".join(f"Temporal {{rank_variable: {v}, tile_shape: 1}}\n" for v in order)
        tiles = tiles_of(
            nodes + "Compute {einsum: Z, component: MAC}",
            "Z[p] = A[W: p + r] * B[r]",
            "P: 4, R: 3, W: 6",
        )
        assert buffer_tile(tiles).values == values


def test_a_copy_has_its_source_and_its_destination_once() -> None:
    """A at the place of Z is Z's own tile (docs/conventions.md §5)."""
    copied = [
        (t.key[1], t.holder.component)
        for t in tiles_of(COPY, "Z[m] = A[m]", "M: 4", copies=True).tiles()
    ]
    assert copied == [("A", "DRAM"), ("Z", "BUF")]


@pytest.mark.parametrize(("lanes", "values"), [(4, 2), (2, 4), (1, 4)])
def test_places_at_work_share_a_tile(lanes: int, values: int) -> None:
    """Two places serve two lanes each (theory/model.md §4.3)."""
    both = "actions: [{name: read, energy: 1, RATE}, {name: write, energy: 1, RATE}]"
    nodes = f"""
Storage {{tensors: [A, B, Z], component: DRAM}}
Storage {{tensors: [A], component: BUF}}
Spatial {{rank_variable: m, tile_shape: {4 // lanes}, name: x, component: GRID}}
Temporal {{rank_variable: m, tile_shape: 1}}
Compute {{einsum: Z, component: MAC}}
"""
    arch = SPREAD.replace("BOTH", both).replace("RATE", "throughput: 1")
    tile = buffer_tile(tiles_of(nodes, "Z[m] = A[m] * B[m]", "M: 4", arch))
    assert tile.values == Fraction(values)
