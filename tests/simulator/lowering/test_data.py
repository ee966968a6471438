"""Shares of tensors: the view against indices written out element by element."""

from pathlib import Path

import numpy as np
import pytest

from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.candidate import grid_candidate
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.lowering.data import collect, distribute

HARDWARE = Path(__file__).resolve().parents[3] / "studies" / "hardware" / "wafer_grid.yaml"
WORKLOAD = """
workload:
  rank_sizes: {M: 8, N: 4, K: 16}
  bits_per_value: {All: 32}
  persistent_tensors: W
  einsums:
  - einsum: "y[m, n] = W[m, k] * x[k, n]"
    renames: {input: x, weight: W, output: y}
"""


def positions(candidate, tensor):
    """Where every value of every share is in the flat tensor."""
    grid, choices = candidate.grid, candidate.choices
    shape = tensor.layout.collapse.shape
    found = np.zeros((grid.rows, grid.columns, tensor.tiles, tensor.tile_elements), dtype=int)
    for row, column, tile, value in np.ndindex(*found.shape):
        index, rest = [0] * len(shape), value
        for rank in reversed(tensor.order):
            rest, inside = divmod(rest, tensor.tile[rank])
            name, cell = tensor.variables[rank], 0
            if name == choices.shard_x:
                cell = column
            if name == choices.shard_y:
                cell = cell * grid.rows + row
            index[rank] = cell * tensor.layout.shard_shape[rank] + inside
            if name == candidate.tile_variable and tensor.tiles > 1:
                index[rank] += tile * candidate.tile
        found[row, column, tile, value] = np.ravel_multi_index(index, shape)
    return found


@pytest.mark.parametrize("shard_x", ["m", "n", "k"])
@pytest.mark.parametrize("shard_y", ["m", "n", "k"])
@pytest.mark.parametrize("tile", ["m", "n", "k"])
def test_shares_are_where_the_indices_say(shard_x, shard_y, tile):
    workload = load_workload(load_document("matmul.yaml", text=WORKLOAD))
    einsum = workload.einsums[0]
    arch = load_arch(HARDWARE)
    arch = arch.with_values({"variables.GridX": 2, "variables.GridY": 2})
    flat = flatten(arch, workload.scope(einsum.name))[0]
    choices = {"shard_x": shard_x, "shard_y": shard_y, "tile_variable": tile, "tile": 2}
    try:
        candidate = grid_candidate(flat, einsum, choices)
    except InfeasibleMapping:
        pytest.skip("no such candidate")
    for tensor in candidate.tensors:
        shape = tensor.layout.collapse.shape
        values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        shares = distribute(candidate, tensor, values)
        assert np.array_equal(shares, values.reshape(-1)[positions(candidate, tensor)])
        assert np.array_equal(collect(candidate, tensor, shares), values)
