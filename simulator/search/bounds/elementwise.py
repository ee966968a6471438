"""Formulas for the numbers of one family of mappings, or for arrays with those of many at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

Numbers = Any
"""An int, float or bool of one family; an array of them, one for each of many families."""


def most(*values: Numbers) -> Numbers:
    """Return the greatest of some numbers, of each family by itself."""
    if any(isinstance(value, np.ndarray) for value in values):
        return reduce(np.maximum, values)
    return max(values)


def least(*values: Numbers) -> Numbers:
    """Return the least of some numbers, of each family by itself."""
    if any(isinstance(value, np.ndarray) for value in values):
        return reduce(np.minimum, values)
    return min(values)


def chosen(condition: Numbers, yes: Numbers, no: Numbers) -> Numbers:
    """Return one number where a condition holds, and the other one where it does not."""
    if isinstance(condition, np.ndarray):
        return np.where(condition, yes, no)
    return yes if condition else no


def by_several(
    sizes: Mapping[str, Numbers], number: int
) -> Iterator[tuple[frozenset[str], Integers]]:
    """Yield each set of names that have more than one value, and the places of those where it is.

    `sizes`: by name, a number or an array of so many (`number`).
    """
    code: Numbers = np.zeros(number, dtype=np.int64)
    for place, size in enumerate(sizes.values()):
        code = code + (size > 1) * (1 << place)
    for each in np.unique(code).tolist():
        names = (name for place, name in enumerate(sizes) if each >> place & 1)
        yield frozenset(names), np.flatnonzero(code == each)
