"""The five parts together: where every scalar lies, and back."""

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


@pytest.mark.row("004.02", "004.21", "004.22", "004.23")
def test_uneven_grid_of_the_document() -> None:
    """53 × 63 on <3x2>: shards 18 × 32, one tile each; 14, 14, 15 padded rows (layouts.md §3)."""
    collapse = Collapse.of((53, 63))
    split = GridSplit.ceil(collapse.extents, (3, 2))
    tiled = Layout.on_grid(collapse, split, Tiling((32, 32), number_format("bfp8")))
    assert tiled.shard_shape == (18, 32)
    assert tiled.shard_tiles == (1, 1)
    assert tiled.bytes_per_unit == 1024
    assert [32 - split.valid((row, 0))[0] for row in range(3)] == [14, 14, 15]
    assert tiled.padding_total == 6 * 1024 - 53 * 63
    assert tiled.phantom_cells == ()


def test_a_bank_with_two_shards_has_two_addresses() -> None:
    collapse = Collapse.of((4, 4, 3), ())
    split = GridSplit.ceil(collapse.extents, (2, 2, 1))
    layout = Layout.on_grid(collapse, split, grid_map=round_robin((2, 2, 1), (3,)), memory="dram")
    assert layout.locate((0, 0, 0)).address == 0
    assert layout.locate((2, 2, 0)).unit == (0,)
    assert layout.locate((2, 2, 0)).address == 2 * 2 * 3 * 4
    assert layout.bytes_per_unit == 2 * 48


def test_parts_that_do_not_fit_are_refused() -> None:
    collapse = Collapse.of((8, 8))
    with pytest.raises(SpecError, match="the split divides other extents"):
        Layout.on_grid(collapse, GridSplit.ceil((9, 8), (1, 1)))
    split = GridSplit.ceil((8, 8), (2, 2))
    with pytest.raises(SpecError, match="the map is of another grid"):
        Layout.on_grid(collapse, split, grid_map=row_major((1, 4), (4,)))
    layout = Layout.on_grid(collapse, split)
    with pytest.raises(SpecError, match="do not cut a shard"):
        layout.with_place(TilePlacement(blocks=(3, 1), tile_bytes=4, address=ModuloRotation(0, 4)))
    with pytest.raises(SpecError, match="blocks take 32 bytes in each of 1 partitions"):
        layout.with_place(
            TilePlacement(blocks=(2, 1), tile_bytes=16, address=ModuloRotation(0, 16))
        )


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Layouts of every part: joins with alignments, cyclic splits, tiles, shared units, turns."""
    shape = draw(st.lists(st.integers(1, 4), min_size=2, max_size=3).map(tuple))
    cut = draw(st.integers(0, len(shape)))
    alignments = draw(st.one_of(st.just(()), st.tuples(*[st.integers(1, 3)] * len(shape))))
    collapse = Collapse.of(shape, ((0, cut),), alignments=alignments)
    rank = len(collapse.extents)
    grid = draw(st.tuples(*[st.integers(1, 3)] * rank))
    split = GridSplit.ceil(collapse.extents, grid)
    if draw(st.booleans()):
        split = GridSplit(collapse.extents, grid, draw(st.tuples(*[st.integers(1, 3)] * rank)))
    sides = draw(st.sampled_from([(), (2,)] + ([(2, 2)] if rank > 1 else [])))
    cells = prod(grid)
    grid_map = draw(
        st.sampled_from(
            [
                row_major(grid, (1, cells)),
                row_major(grid, (2, 1, -(-cells // 2))),  # two devices
                round_robin(grid, (draw(st.integers(1, 4)),)),
            ]
        )
    )
    layout = Layout.on_grid(collapse, split, Tiling(sides), grid_map)
    return layout.with_place(_turns(draw, layout, rank))


def _turns(draw: st.DrawFn, layout: Layout, rank: int) -> TilePlacement:
    tiles = layout.shard_tiles
    blocks = tuple(draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0])) for n in tiles)
    axis = None if layout.tiling.sides else draw(st.sampled_from([None, *range(rank)]))
    box = [n // b for n, b in zip(tiles, blocks, strict=True)]
    partitions = 1 if axis is None else box[axis]
    size = prod(box) // partitions * layout.tiling.tile_bytes
    counts = draw(st.one_of(st.just(()), st.tuples(*[st.integers(1, 2)] * rank)))
    return TilePlacement(
        blocks=blocks,
        tile_bytes=size,
        partitions=partitions,
        partition_axis=axis,
        address=ModuloRotation(16, size, counts),
        bank=ModuloRotation(
            0, 1, draw(st.one_of(st.just(()), st.tuples(*[st.integers(1, 2)] * rank)))
        ),
    )


@pytest.mark.row("004.01", "004.03", "004.30", "004.31")
@given(layouts())
def test_every_scalar_has_one_place_and_the_rest_is_padding(layout: Layout) -> None:
    places, locations = {}, {}
    for index in product(*map(range, layout.shape)):
        cell, offset = layout.owner(index)
        assert layout.index(cell, offset) == index
        places[cell, offset] = index
        location = layout.locate(index)
        assert layout.index_at(location) == index
        assert location not in locations
        locations[location] = index
    assert len(places) == prod(layout.shape)
    held = dict.fromkeys(layout.cells(), 0)
    for cell, _ in places:
        held[cell] += 1
    for cell, count in held.items():
        assert layout.valid(cell) == count
        assert layout.padding(cell) == prod(layout.allocated_shape) - count
        for offset in product(*map(range, layout.shard_shape)):
            assert layout.index(cell, offset) == places.get((cell, offset))
    assert layout.padding_total == sum(layout.padding(cell) for cell in held)
    assert layout.phantom_cells == tuple(cell for cell, count in held.items() if not count)


@given(layouts())
def test_bytes_of_a_unit_cover_all_locations(layout: Layout) -> None:
    """Tiles of different scalars overlap only where blocks take turns."""
    tiles: dict[tuple[object, ...], set[tuple[object, ...]]] = {}
    size = layout.tiling.tile_bytes
    for index in product(*map(range, layout.shape)):
        at = layout.locate(index)
        cell, _ = layout.owner(index)
        start = (at.unit, at.bank, at.partition, at.address)
        tiles.setdefault(start, set()).add((cell, at.block))
        assert at.address % size == 16 % size
    for users in tiles.values():
        assert len({cell for cell, _ in users}) == 1
    units: dict[object, int] = {}
    for unit, *_ in tiles:
        units[unit] = units.get(unit, 0) + size
    assert max(units.values()) <= layout.bytes_per_unit


@pytest.mark.row("004.20", "004.31")
@given(layouts(), st.sampled_from([Tiling(), Tiling((3,)), Tiling((2,), number_format("bf16"))]))
def test_to_tilize_and_untilize_is_a_round_trip(layout: Layout, tiling: Tiling) -> None:
    """The shards' scalars stay where they are; a compiler of 2024 kept the padded shard."""
    tilized = layout.with_tiling(tiling)
    whole = layout.with_tiling(layout.tiling)
    assert tilized.with_tiling(layout.tiling) == whole
    assert tilized.shape == layout.shape
    for index in product(*map(range, layout.shape)):
        assert tilized.owner(index) == layout.owner(index)


def test_a_notebook_shows_the_picture_and_the_text() -> None:
    layout = Layout.on_grid(Collapse.of((53, 63), ()), GridSplit.ceil((53, 63), (3, 2)))
    svg = layout._repr_svg_()
    assert svg is not None
    assert svg.startswith("<svg")
    page = layout._repr_html_()
    assert svg in page
    assert "grid 3 × 2" in page
    many = Layout.on_grid(Collapse.of((9000,), ()), GridSplit.ceil((9000,), (9000,)))
    assert many._repr_svg_() is None
    assert many._repr_html_().startswith("<pre>")
