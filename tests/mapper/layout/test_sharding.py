"""Splitting over a grid: every element has one owner, padding is what is left."""

from itertools import product
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from tilewright.mapper.layout import Collapse, Sharding


def test_uneven_grid_of_the_document() -> None:
    """53×63 on <3x2>: shards 18×32, rows 18, 18, 17 valid (layouts.md §3)."""
    sharding = Sharding(Collapse.of((53, 63)), (3, 2))
    assert sharding.shard_shape == (18, 32)
    assert [sharding.valid((row, 0))[0] for row in range(3)] == [18, 18, 17]
    assert sharding.valid((0, 1))[1] == 31
    tiled = Sharding(Collapse.of((53, 63)), (3, 2), (32, 32))
    assert tiled.shard_tiles == (1, 1)
    assert [32 - tiled.valid((row, 0))[0] for row in range(3)] == [14, 14, 15]


def test_ceil_shards_can_leave_cells_empty() -> None:
    """9 rows on 8 cells: shards of 2, cells 5 to 7 empty (layouts.md §2)."""
    sharding = Sharding(Collapse.of((9,)), (8,))
    assert sharding.empty_cells() == ((5,), (6,), (7,))


shardings = st.builds(
    lambda shape, cells, tile: Sharding(Collapse.of(shape), cells[: min(2, len(shape))], tile),
    st.lists(st.integers(1, 6), min_size=2, max_size=4).map(tuple),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.sampled_from([(), (2,), (2, 3)]),
)


@given(shardings)
def test_each_element_has_one_place_and_the_rest_is_padding(sharding: Sharding) -> None:
    shape = sharding.collapse.shape
    places = {}
    for index in product(*(range(extent) for extent in shape)):
        cell, offset = sharding.owner(index)
        assert sharding.index(cell, offset) == index
        places[cell, offset] = index
    assert len(places) == prod(shape)
    cells = list(product(*(range(count) for count in sharding.grid)))
    assert sum(prod(sharding.valid(cell)) for cell in cells) == prod(shape)
    allocated = prod(sharding.allocated_shape) * len(cells)
    assert sum(sharding.padding(cell) for cell in cells) == allocated - prod(shape)
