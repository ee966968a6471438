"""One chain through all elements of a group, row by row, every second row backwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Snake:
    """The chain through a group of `columns` × `rows` elements that ends in its last element.

    The last row runs to the east, the one above it to the west, and so on; from each row the sum
    goes south to the next one.
    """

    columns: int
    rows: int

    def runs_east(self, row: int) -> bool:
        """Return whether sums run to the east in a row of the group."""
        return (self.rows - 1 - row) % 2 == 0

    @property
    def first_column(self) -> int:
        """Column of the first element, in row 0."""
        return 0 if self.runs_east(0) else self.columns - 1

    @property
    def places(self) -> npt.NDArray[np.int64]:
        """Places of the elements in the chain, from 0 on: (rows, columns)."""
        places = np.arange(self.rows * self.columns).reshape(self.rows, self.columns)
        places[-2::-2] = places[-2::-2, ::-1]
        return places

    def way(self) -> Iterator[tuple[int, int]]:
        """Yield row and column of each element of the chain, in order."""
        for row in range(self.rows):
            columns = range(self.columns)
            for column in columns if self.runs_east(row) else reversed(columns):
                yield row, column
