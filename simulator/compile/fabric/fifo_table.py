"""The engine's table of FIFOs while a network is compiled: rows are appended block by block."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import EDGE_OUT, Ids, Rows


class FifoTable:
    """Rows of FIFOs, appended block by block; those of at most `most` FIFOs.

    `table`: (most, columns), also the rows that are not in use, which cost no memory; `added`: the
    rows of the last block.
    """

    def __init__(self, most: int) -> None:
        # by columns: those that nobody writes here take no memory
        self.table: Rows = np.zeros((most, at.F_WIDTH), dtype=np.int32, order="F")
        self.added: Rows = self.table[:0]
        self._count = 0
        self._kinds = [np.zeros(0, dtype=np.int8)]
        self._elements = [np.zeros(0, dtype=np.int64)]

    def add(self, kind: int, elements: Ids, capacity: Ids | int, latency: int) -> Ids:
        """Append one FIFO per element; return their numbers.

        kind: OUTPUT, INPUT, ROUTER, EDGE_IN or EDGE_OUT; capacity: words; latency: cycles.
        """
        end = self._count + elements.size
        numbers = np.arange(self._count, end, dtype=np.int64)
        self.added = self.table[self._count : end]
        self.added[:, at.F_CAP] = capacity
        self.added[:, at.F_LATENCY] = latency
        self.added[:, at.F_CREDIT] = 1
        self.added[:, at.F_WAY] = -1
        self.added[:, at.F_USER] = -1 if kind == EDGE_OUT else numbers
        self.added[:, at.F_WAKE] = 0 if kind == EDGE_OUT else 1
        self._kinds.append(np.full(elements.size, kind, dtype=np.int8))
        self._elements.append(elements)
        self._count = end
        return numbers

    def rows(self) -> Rows:
        """Return the rows in use."""
        return self.table[: self._count]

    def kinds(self) -> npt.NDArray[np.int8]:
        """Return (FIFOs,) the kind of each."""
        return np.concatenate(self._kinds)

    def elements(self) -> Rows:
        """Return (FIFOs,) the element of each."""
        return np.concatenate(self._elements).astype(np.int32)
