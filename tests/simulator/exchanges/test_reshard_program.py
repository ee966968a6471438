"""Programs of reshards run on numbers: parts and counts are right, no bound is above the cycles."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from reshards import along_a_line, checked_run, drawn_reshard

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.exchanges.box_loops import MOST_STRIDE
from tilewright.mapper.grid.exchanges.reshard import reshard
from tilewright.simulator.descriptors.memory_vectors import STRIDES_1D

MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim", "wse3-silicon")


def check(seeds: Sequence[int]) -> None:
    shares = []
    for seed in seeds:
        run = checked_run(*drawn_reshard(seed), MACHINES[seed % 3], ("f32", "f16")[seed // 3 % 2])
        bounds = [*run.bounds[::-1], run.cycles]
        assert bounds == sorted(bounds), seed
        if run.cycles:
            shares.append(run.bounds[0] / run.cycles)
    assert np.median(shares) > 0.9


def test_random_reshards() -> None:
    check(range(30))


@pytest.mark.nightly
def test_more_random_reshards() -> None:
    check([*range(60, 120), *range(1000, 4000)])


@pytest.mark.parametrize(("elements", "size"), [(4, 8), (8, 8), (5, 8)])
@pytest.mark.parametrize("needed", [1, None])
def test_a_transpose_and_a_gather_along_a_line(
    elements: int, size: int, needed: int | None
) -> None:
    """From shares of rows to shares of columns, all to all, or to the whole in every element."""
    case = reshard("T", along_a_line(elements, 0, size), along_a_line(elements, needed, size))
    assert case is not None
    run = checked_run(case, np.random.default_rng(0), MACHINES[0], "f32")
    assert run.bounds[0] >= 0.7 * run.cycles


@pytest.mark.parametrize("needed", [1, None])
def test_two_values_of_16_bits_go_in_a_word(needed: int | None) -> None:
    """Pieces of 2 x 2 values, or of 2 x 8: half of the words of f32 cross half as often."""
    case = reshard("T", along_a_line(4, 0, 8), along_a_line(4, needed, 8))
    assert case is not None
    assert 2 * case.hops("f16") == case.hops("f32")
    for machine in MACHINES:
        runs = [
            checked_run(case, np.random.default_rng(0), machine, dtype) for dtype in ("f16", "f32")
        ]
        assert runs[0].cycles < runs[1].cycles


def test_a_column_of_long_rows_moves() -> None:
    """Its values are 300 apart: more than a vector of one dimension reaches, with 8 bits."""
    assert max(STRIDES_1D) == MOST_STRIDE
    rows = Distribution(
        np.array([[[0, 0], [3, 0]]]), (3, 300), np.ones((1, 2), bool), shape=(6, 300)
    )
    columns = replace(rows, first=np.array([[[0, 7], [0, 150]]]), extents=(6, 1))
    case = reshard("T", rows, columns)
    assert case is not None
    for machine, dtype in zip(MACHINES, ("f32", "f16"), strict=False):
        run = checked_run(case, np.random.default_rng(0), machine, dtype)
        assert run.bounds[0] >= 0.7 * run.cycles
