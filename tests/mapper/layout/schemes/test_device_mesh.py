"""One sharded tensor per device of a grid of rank 3."""

from itertools import product

import pytest

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import Tiling, number_format
from tilewright.mapper.layout.schemes.device_mesh import device_layouts
from tilewright.mapper.layout.schemes.linear_map import linear_map_layout

TILES = Tiling((32, 32), number_format("bfp8"))


@pytest.mark.row("004.29", "004.35")
def test_the_documented_grid_of_two_devices() -> None:
    """2 × 3 × 64 × 128 on 2 × 2 × 4: each device has 3 × 1 tiles per core, as the document has."""
    layout = linear_map_layout((2, 3, 64, 128), (2, 2, 4), [(1, -1)], TILES)
    devices = device_layouts(layout)
    assert [at.shape for at in devices] == [(1, 3, 64, 128)] * 2
    assert [at.shard_tiles for at in devices] == [(3, 1)] * 2
    for index in product(range(2), range(3), range(0, 64, 7), range(0, 128, 9)):
        (device, *cell), (_, *offset) = layout.owner(index)
        assert devices[device].owner((0, *index[1:])) == (tuple(cell), tuple(offset))


def test_every_scalar_is_on_one_device() -> None:
    """Five batches over two devices: three and two."""
    layout = linear_map_layout((5, 40, 48), (2, 2, 2), [(1, -1)], TILES)
    devices = device_layouts(layout)
    assert [at.shape[0] for at in devices] == [3, 2]
    assert sum(at.collapse.volume for at in devices) == 5 * 40 * 48
    assert [at.memory for at in devices] == ["l1", "l1"]


def test_other_grids_are_refused() -> None:
    with pytest.raises(SpecError, match="dimension 0 alone"):
        device_layouts(linear_map_layout((2, 64, 128), (2, 4), tiling=TILES))
    with pytest.raises(SpecError, match="3 of 4 devices have data"):
        device_layouts(linear_map_layout((5, 64, 128), (4, 2, 2), [(1, -1)], TILES))
