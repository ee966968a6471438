"""Deal tensors out to the elements and collect them again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.mapper.candidate import Candidate, GridTensor

Floats = npt.NDArray[np.float32]


def deal(candidate: Candidate, tensor: GridTensor, values: Floats) -> Floats:
    """Return each element's share: (rows, columns, tiles, elements of a tile), in memory order."""
    return values.reshape(-1)[_positions(candidate, tensor)]


def collect(candidate: Candidate, tensor: GridTensor, shares: Floats) -> Floats:
    """Return the tensor from the shares of all elements: the inverse of `deal`."""
    whole = np.zeros(tensor.sharding.collapse.shape, dtype=np.float32)
    whole.reshape(-1)[_positions(candidate, tensor)] = shares
    return whole


def _positions(candidate: Candidate, tensor: GridTensor) -> npt.NDArray[np.int64]:
    """Index into the flat tensor of every value: (rows, columns, tiles, elements of a tile)."""
    grid = candidate.grid
    shape = tensor.sharding.collapse.shape
    total = np.zeros((grid.rows, grid.columns, tensor.tiles, 1), dtype=np.int64)
    pitches = np.cumprod((1, *shape[:0:-1]))[::-1]
    for rank in tensor.order:
        cell = _cells(candidate, tensor.variables[rank])[:, :, None, None]
        tile = np.zeros((1, 1, tensor.tiles, 1), dtype=np.int64)
        if tensor.variables[rank] == candidate.tile_variable and tensor.tiles > 1:
            tile = (np.arange(tensor.tiles) * candidate.tile)[None, None, :, None]
        start = cell * tensor.sharding.shard_shape[rank] + tile
        index = start[..., None] + np.arange(tensor.tile[rank])
        spread = total[..., None] + index * int(pitches[rank])
        total = spread.reshape(*spread.shape[:3], -1)
    return total


def _cells(candidate: Candidate, name: str) -> npt.NDArray[np.int64]:
    """Number of the share of rank variable `name` that each element owns: (rows, columns)."""
    grid, picked = candidate.grid, candidate.choices
    rows = np.arange(grid.rows)[:, None]
    columns = np.arange(grid.columns)[None, :]
    cell = np.zeros((grid.rows, grid.columns), dtype=np.int64)
    if name == picked.shard_x:
        cell = cell + columns
    if name == picked.shard_y:
        cell = cell * grid.rows + rows
    return cell
