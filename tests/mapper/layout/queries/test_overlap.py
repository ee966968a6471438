"""Overlaps of layouts against a list of all bytes that each has."""

from dataclasses import replace
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import (
    Collapse,
    GridSplit,
    Layout,
    ModuloRotation,
    TilePlacement,
    Tiling,
    number_format,
)
from tilewright.mapper.layout.grid_map import round_robin, row_major
from tilewright.mapper.layout.queries.overlap import overlap
from tilewright.mapper.layout.schemes.modulo_allocation import ModuloAllocation
from tilewright.mapper.layout.unit_lookup import Unit

Byte = tuple[Unit, int]
INT8 = number_format("int8")


def bytes_of(layout: Layout) -> set[Byte]:
    """Every byte that a layout has, of tiles of one byte per scalar."""
    found = set()
    for cell, block in product(layout.cells(), layout.place.indices()):
        start = layout.place.at(block).address
        start += layout.grid_map.slot(cell) * layout.slot_bytes
        found |= {(layout.grid_map.unit(cell), start + n) for n in range(layout.place.tile_bytes)}
    return found


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 4)))
    grid = draw(st.tuples(st.integers(1, 2), st.integers(1, 2)))
    tiling = Tiling(draw(st.sampled_from([(), (2, 2)])), INT8)
    grid_map = draw(st.sampled_from([row_major, round_robin]))(grid, (4,))
    layout = Layout.on_grid(Collapse.of(shape, ()), GridSplit.ceil(shape, grid), tiling, grid_map)
    rows = layout.shard_tiles[0]
    size = prod(layout.shard_tiles) * tiling.tile_bytes // rows
    turns = draw(st.integers(1, rows))
    base = draw(st.integers(0, 20))
    return layout.with_place(
        TilePlacement(
            blocks=(rows, 1), tile_bytes=size, address=ModuloRotation(base, size, (turns, 1))
        )
    )


@given(layouts(), layouts())
def test_a_shared_byte_is_named_iff_there_is_one(first: Layout, second: Layout) -> None:
    common = bytes_of(first) & bytes_of(second)
    found = overlap(first, second)
    assert (found is not None) == bool(common)
    if found is not None:
        assert (found.unit, found.address) in common
        for layout, index in ((first, found.first), (second, found.second)):
            if index is not None:
                place = layout.locate(index)
                assert (place.unit, place.address + place.scalar) == (found.unit, found.address)


def test_the_witness_is_a_scalar_of_each() -> None:
    """Two tensors of 4 × 4 bytes on 2 units of rows: bytes 6 and 7 are shared."""
    both = Layout.on_grid(Collapse.of((4, 4), ()), GridSplit.ceil((4, 4), (2, 1)), Tiling((), INT8))
    moved = both.with_place(TilePlacement(tile_bytes=8, address=ModuloRotation(6, 8)))
    found = overlap(both, moved)
    assert found is not None
    assert (found.unit, found.address, found.first, found.second) == ((0, 0), 6, (1, 2), (0, 0))
    assert overlap(both, replace(moved, memory="dram")) is None
    other = Layout.on_grid(both.collapse, GridSplit.ceil((4, 4), (4, 1)), Tiling((), INT8))
    with pytest.raises(SpecError, match="different units"):
        overlap(both, other)


def test_two_tensors_in_sbuf_overlap_in_the_bytes_of_the_guide() -> None:
    """Two tiles of 1024 bytes from byte 0 and two from byte 1024 share 1024 to 2047."""
    bf16, shape = number_format("bf16"), (4, 128, 512)
    first, second = (
        ModuloAllocation(space="sbuf", base_addr=base, num_free_tiles=(2,)).layout(shape, 1, bf16)
        for base in (0, 1024)
    )
    found = overlap(first, second)
    assert found is not None
    assert (found.address, found.first, found.second) == (1024, (1, 0, 0), (0, 0, 0))
    halves = [
        ModuloAllocation(space="sbuf", base_partition=start).layout((1, 64, 512), 1, bf16)
        for start in (0, 64)
    ]
    assert overlap(*halves) is None
    assert overlap(halves[1], first) is not None
    banks = [ModuloAllocation(base_bank=bank).layout((1, 64, 512), 1, bf16) for bank in (0, 1)]
    assert overlap(*banks) is None
