"""The start values of one buffer in all elements of a grid, as places in one array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.generic]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GatheredTiles:
    """Start values of a buffer in all elements, as places in an array that is read when needed.

    `source`: the array. `first`: (elements,) index in the flat array at which an element's values
    begin, -1 for an element whose values are in `others`. `places`: (values of the buffer,) index
    of each value behind `first`. `others`: (elements with -1, values) in the order of these
    elements. Example: places (0, 1, 8, 9) and first 2 give the values 2, 3, 10 and 11 of the array.
    """

    source: Values
    first: Ints
    places: Ints
    others: Values

    def values(self) -> Values:
        """Return the start values of the buffer in all elements: (elements, values)."""
        there = self.first >= 0
        values = np.empty((self.first.size, self.places.size), dtype=self.source.dtype)
        values[there] = self.source.ravel()[self.first[there, None] + self.places]
        values[~there] = self.others
        return values
