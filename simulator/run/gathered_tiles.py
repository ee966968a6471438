"""Data of a buffer in all elements as places in an array, without a copy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.generic]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GatheredTiles:
    """Data of a buffer as places in an array, which are read when an element runs.

    `source`: any array. `first`: (elements,) place in its flat order where an element's values
    begin, -1 for those in `others`. `places`: (values,) places from there, in the order of the
    buffer. `others`: (number, values) data of elements that are not gathered, in their order.
    """

    source: Values
    first: Ints
    places: Ints
    others: Values

    def values(self) -> Values:
        """Return the data of the buffer in all elements: (elements, values)."""
        there = self.first >= 0
        values = np.empty((self.first.size, self.places.size), dtype=self.source.dtype)
        values[there] = self.source.ravel()[self.first[there, None] + self.places]
        values[~there] = self.others
        return values
