"""Deal tensors out to the elements and collect them again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from tilewright.mapper.grid.candidate import Candidate, GridTensor

Floats = npt.NDArray[np.float32]


def deal(candidate: Candidate, tensor: GridTensor, values: Floats) -> Floats:
    """Return each element's share: (rows, columns, tiles, elements of a tile), in memory order."""
    shares = _shares(candidate, tensor, np.ascontiguousarray(values))
    return shares.reshape(*shares.shape[:3], -1)


def collect(candidate: Candidate, tensor: GridTensor, shares: Floats) -> Floats:
    """Return the tensor from the shares of all elements: the inverse of `deal`."""
    whole = np.zeros(tensor.sharding.collapse.shape, dtype=np.float32)
    places = _shares(candidate, tensor, whole)
    # of elements that hold the same share the last one counts
    one = tuple(slice(-1, None) if stride == 0 else slice(None) for stride in places.strides[:3])
    places[one] = shares.reshape(places.shape)[one]
    return whole


def _shares(candidate: Candidate, tensor: GridTensor, values: Floats) -> Floats:
    """Return the shares as a view of a tensor: (rows, columns, tiles, ranks of a tile)."""
    grid, choices = candidate.grid, candidate.choices
    shape = tensor.sharding.collapse.shape
    pitches = [int(pitch) for pitch in np.cumprod((1, *shape[:0:-1]))[::-1]]
    row = column = tile = 0
    for rank in tensor.order:
        name, share = tensor.variables[rank], tensor.sharding.shard_shape[rank] * pitches[rank]
        row += share if name == choices.shard_y else 0
        if name == choices.shard_x:
            column += share * (grid.rows if name == choices.shard_y else 1)
        if name == candidate.tile_variable and tensor.tiles > 1:
            tile += candidate.tile * pitches[rank]
    extents = (grid.rows, grid.columns, tensor.tiles, *(tensor.tile[rank] for rank in tensor.order))
    strides = (row, column, tile, *(pitches[rank] for rank in tensor.order))
    last = sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))
    assert last < values.size, (extents, strides, shape)
    return as_strided(values, extents, [stride * values.itemsize for stride in strides])
