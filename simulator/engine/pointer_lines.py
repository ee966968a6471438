"""Lines of pointers, each followed once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.simulator.engine.jit import inner_kernel

Ids = npt.NDArray[np.int64]


@inner_kernel
def follow(pointer: Ids, sums: Ids, ends: Ids, stack: Ids) -> bool:
    """Set every row's end and add the sums of the rows on the way; return False for a loop.

    `ends` comes as -1 everywhere; `stack` is room for one line.
    """
    for first in range(pointer.size):
        row = first
        height = 0
        while ends[row] < 0 and pointer[row] >= 0:
            if height == stack.size:
                return False
            stack[height] = row
            height += 1
            row = pointer[row]
        if ends[row] < 0:
            ends[row] = row
        while height > 0:
            height -= 1
            below = stack[height]
            ends[below] = ends[row]
            for k in range(sums.shape[0]):
                sums[k, below] += sums[k, row]
            row = below
    return True
