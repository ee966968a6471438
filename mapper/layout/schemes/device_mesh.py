"""A grid of devices, rows and columns as one sharded tensor per device (layouts.md §7.7)."""

from __future__ import annotations

from dataclasses import replace

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.layout import Layout
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor


def device_layouts(layout: Layout) -> tuple[Layout, ...]:
    """Return the layout of each device's slice of the batch, all dimensions but the last joined.

    `layout`: on a grid of devices, rows and columns, with dimension 0, the batch, alone over the
    devices. A slice has the indices of dimension 0 that are on the device. Its shards are those of
    a runtime that pads the two inner dimensions to tiles and knows rows and columns only. Where a
    device has one index, each scalar stays in its row and column of units. Raises SpecError for
    another grid, and for a device without data, with the number of devices that have some.
    """
    devices, *rest = layout.grid
    if len(rest) != 2 or layout.collapse.groups[0] != (0,):
        raise SpecError(
            "a mesh of devices needs a grid of devices, rows and columns, and dimension 0 alone",
            value=str(layout.collapse.affine),
            instead="collapse intervals [(1, -1)] on a grid of 3 dimensions",
        )
    slices = [
        sum(length for _, _, length in layout.split.runs(0, device)) for device in range(devices)
    ]
    if not all(slices):
        raise SpecError(
            f"{sum(map(bool, slices))} of {devices} devices have data: dimension 0 has "
            f"{layout.shape[0]} indices in parts of {layout.split.block[0]}",
            value=layout.grid,
        )
    return tuple(_slice(layout, (count, *layout.shape[1:]), (rest[0], rest[1])) for count in slices)


def _slice(layout: Layout, shape: tuple[int, ...], grid: tuple[int, int]) -> Layout:
    tensor = ShardedTensor(shape, grid, layout.tiling, layout.memory)
    return replace(tensor.block_sharded(*grid), padding_value=layout.padding_value)
