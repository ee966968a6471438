"""Distribute tensors over the elements of a grid, and collect them again.

The share of an element is a strided view of the tensor, so nothing is copied twice.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from tilewright.mapper.grid.candidate import Candidate, GridTensor

Floats = npt.NDArray[np.float32]


def distribute(candidate: Candidate, tensor: GridTensor, values: Floats) -> Floats:
    """Split a tensor into the elements' shares: (rows, columns, tiles, values of a tile).

    tensor: how the candidate splits it over the grid and into tiles (passes in time); values: the
    whole tensor, float32, in the shape of its ranks. The values of a tile are in the order in which
    they lie in memory. Elements that a tensor is not split over have equal shares.
    """
    shares = _share_view(candidate, tensor, np.ascontiguousarray(values))
    return shares.reshape(*shares.shape[:3], -1)


def collect(candidate: Candidate, tensor: GridTensor, shares: Floats) -> Floats:
    """Put the shares of all elements together to the whole tensor: the inverse of `distribute`.

    shares: (rows, columns, tiles, values of a tile), float32. Of elements (or tiles) with the same
    part of the tensor the last one counts. Returns the tensor in the shape of its ranks.
    """
    whole = np.zeros(tensor.layout.collapse.shape, dtype=np.float32)
    view = _share_view(candidate, tensor, whole)
    # of elements that hold the same share the last one counts
    last = tuple(slice(-1, None) if stride == 0 else slice(None) for stride in view.strides[:3])
    view[last] = shares.reshape(view.shape)[last]
    return whole


def _share_view(candidate: Candidate, tensor: GridTensor, values: Floats) -> Floats:
    """Return the shares as a view of a tensor: (rows, columns, tiles, ranks of a tile)."""
    grid, shape = candidate.grid, tensor.layout.collapse.shape
    pitches = [int(pitch) for pitch in np.cumprod((1, *shape[:0:-1]))[::-1]]
    extents = (grid.rows, grid.columns, tensor.tiles, *(tensor.tile[rank] for rank in tensor.order))
    steps = _grid_steps(candidate, tensor, pitches)
    strides = (*steps, *(pitches[rank] for rank in tensor.order))
    last = sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))
    assert last < values.size, (extents, strides, shape)
    return as_strided(values, extents, [stride * values.itemsize for stride in strides])


def _grid_steps(
    candidate: Candidate, tensor: GridTensor, pitches: list[int]
) -> tuple[int, int, int]:
    """Return the values of a tensor from a row, a column, a tile to the next one."""
    choices, row, column, tile = candidate.choices, 0, 0, 0
    for rank in tensor.order:
        name, share = tensor.variables[rank], tensor.layout.shard_shape[rank] * pitches[rank]
        if name == choices.shard_y:
            row += share
        if name == choices.shard_x:
            column += share * (candidate.grid.rows if name == choices.shard_y else 1)
        if name == candidate.tile_variable and tensor.tiles > 1:
            tile += candidate.tile * pitches[rank]
    return row, column, tile
