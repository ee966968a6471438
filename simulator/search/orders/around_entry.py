"""The kernel that finds the fewest cycles around operations: its arguments and its signature."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.arch.compiled import Kernel

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
FIRSTS, TILES = 0, 1
"""Columns of `OuterLoops.tiles`."""
BEGIN, BACK, OPERATION, MAP, TURN = 0, 1, 2, 3, 4
"""Places of `OuterLoops.prices`."""


class OuterLoops(NamedTuple):
    """The loops around the vector operation of many families: (families, loops), in any order.

    `turns`: of each loop; `walks`: whether it may be a map, if it is innermost; `summed`: by loop,
    whether it is over a variable that is summed over. `tiles`: by family, those with new values of
    the output, and all. `prices`: cycles of a loop and of each of its turns, of an operation
    without the moving of values, of a map and of each of its turns.
    """

    turns: Integers
    walks: Flags
    summed: Flags
    tiles: Integers
    prices: Floats


least_around: Final = Kernel(
    "tilewright.simulator.search.orders.around_kernel",
    "least_around",
    "void(OuterLoops, float64[::1], float64[::1])",
    (__file__,),
    {"OuterLoops": "int64[:, ::1], bool[:, ::1], bool[::1], int64[:, ::1], float64[::1]"},
)
