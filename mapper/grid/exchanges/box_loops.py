"""A part of a box in row-major order as nested loops over memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MOST_STRIDE: Final = 127
"""Elements from one value to the next in a vector of one dimension (mem1d) at most: 8 bits."""


@dataclass(frozen=True, slots=True)
class BoxLoops:
    """Loops over the values of a part of a box.

    `loops`: (turns, elements moved) of each dimension, outermost first; stretches of memory are
    joined. `offset`: element of the first value.
    """

    loops: tuple[tuple[int, int], ...]
    offset: int

    @property
    def is_extended(self) -> bool:
        """Whether the descriptor has several dimensions, or one with a long stride."""
        return len(self.loops) > 1 or any(stride > MOST_STRIDE for _, stride in self.loops)

    @property
    def stride_registers(self) -> int:
        """Stride registers of a descriptor with these loops (theory/wafer.md §6.3)."""
        if len(self.loops) <= 1:
            return 0
        return max(0, len(self.loops) - (2 if self.loops[-1][1] == 1 else 1))


def box_loops(first: Sequence[int], extents: Sequence[int], whole: Sequence[int]) -> BoxLoops:
    """Return the loops over a part of a box.

    `first`, `extents`: of the part, counted in the box; `whole`: extents of the box.
    """
    loops: list[tuple[int, int]] = []
    offset, stride = 0, 1
    for start, extent, size in zip(first[::-1], extents[::-1], whole[::-1], strict=True):
        offset += start * stride
        if extent > 1:
            if loops and loops[0][0] * loops[0][1] == stride:
                count, inner = loops.pop(0)
                loops.insert(0, (extent * count, inner))
            else:
                loops.insert(0, (extent, stride))
        stride *= size
    return BoxLoops(tuple(loops), offset)
