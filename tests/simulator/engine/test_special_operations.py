"""How far the registers of a special operation move that save their address."""

import numba
import numpy as np
import pytest

from tilewright.simulator.compile import columns as at
from tilewright.simulator.engine.rare.special_operations import steps_covered

ROW, COLUMN = 100, 300
ROWS, VALUES = 3, 4


@numba.njit
def steps(store, at_end):
    return steps_covered(store, COLUMN, ROW, at_end)


@pytest.mark.parametrize("count", range(ROWS * VALUES + 1))
def test_a_step_of_the_outermost_dimension_counts_once_it_has_begun(count: int) -> None:
    """`count` values of three rows of four: at the end all counters are 0 again."""
    store = np.zeros(600, dtype=np.int64)
    store[ROW + at.D_DIMENSIONS] = 2
    store[ROW + at.D_EXTENT : ROW + at.D_EXTENT + 2] = VALUES, ROWS
    store[COLUMN + at.COUNTERS] = count % VALUES
    store[COLUMN + at.COUNTERS + at.OPERANDS] = count // VALUES % ROWS
    assert steps(store, int(count == ROWS * VALUES)) == -(-count // VALUES)
