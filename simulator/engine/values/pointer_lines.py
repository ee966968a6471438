"""Chains of pointers: find the end of every row, with sums along the way."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.simulator.engine.jit import inner_kernel

Ids = npt.NDArray[np.int64]


@inner_kernel
def follow(pointer: Ids, sums: Ids, ends: Ids, stack: Ids) -> bool:
    """Find the end of every row's chain of pointers, and add up `sums` along the chains.

    pointer: (rows,) next row, or -1 at an end. sums: (k, rows), changed: each row gets the sum from
    itself to its end. ends: (rows,) -1 at the start, changed: number of the last row of each chain.
    stack: (rows,) working space. Returns False for a chain that leads back to itself.
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
