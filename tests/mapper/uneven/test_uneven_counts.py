"""The values that move under uneven tiles, compared with a slow walk of all tiles."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.uneven.costs.uneven_counts import (
    CountedSize,
    groups_of,
    least_moved,
    moved_values,
)
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.mapper.workload.workload_loading import load_workload

BOUNDS = {"p": 7, "r": 3, "c": 5}


def access(index: str) -> TensorAccess:
    text = (
        "workload:\n  rank_sizes: {P: 7, R: 3, C: 5}\n  bits_per_value: {All: 8}\n"
        f'  einsums:\n  - "Z[p, r, c] = A[{index}]"\n'
    )
    return load_workload(text).einsums[0].access("A")


def pieces(extent: int, tile: int) -> list[int]:
    return [min(tile, extent - first) for first in range(0, extent, tile)]


def slow_count(one: TensorAccess, tiles: dict[str, int]) -> int:
    names = [v for v in BOUNDS if v in one.rank_variables]
    total = 0
    for sizes in product(*(pieces(BOUNDS[v], tiles[v]) for v in names)):
        total += one.tile_size(dict(zip(names, sizes, strict=True)) | dict.fromkeys(
            set(BOUNDS) - set(names), 1))  # fmt: skip
    return total


@pytest.mark.parametrize("index", ["p, c", "H: p + r, C: c", "H: p + r", "H: 2 * p + r, C: c"])
@pytest.mark.parametrize("tiles", [(7, 3, 5), (3, 2, 2), (2, 1, 5), (4, 3, 1)])
def test_counts_equal_a_walk(index: str, tiles: tuple[int, int, int]) -> None:
    tensor = access(index)
    tile_of = dict(zip(BOUNDS, tiles, strict=True))

    def sizes(v: str) -> list[CountedSize]:
        full, rest = divmod(BOUNDS[v], tile_of[v])
        counted = [(np.array([float(full)]), np.array([float(tile_of[v])]))]
        return [*counted, (np.ones(1), np.array([float(rest)]))] if rest else counted

    def extent(v: str) -> Floats:
        return np.array([float(BOUNDS[v])])

    groups = groups_of(tensor)
    total = np.prod([moved_values(group, sizes, extent) for group in groups])
    assert total == slow_count(tensor, tile_of)

    def fewest(v: str) -> Floats:
        return np.array([float(-(-BOUNDS[v] // tile_of[v]))])

    bound = np.prod([least_moved(group, dict(BOUNDS), fewest) for group in groups])
    assert bound <= total


def test_expressions_that_share_a_variable_are_one_group() -> None:
    groups = groups_of(access("H: p + r, G: r + c"))
    assert [set(group.variables) for group in groups] == [{"p", "r", "c"}]
    apart = groups_of(access("H: p + r, C: c"))
    assert [(set(g.variables), g.is_single) for g in apart] == [({"p", "r"}, False), ({"c"}, True)]
