"""Sets of partial mappings, and which of them are worth keeping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

from tilewright.mapper.searches.kernels import Floats, Ints


@dataclass(frozen=True, slots=True)
class Labels:
    """`states`: shape (labels, variables); `fields`: (labels, width); `origin`: the label of the
    step before."""

    states: Ints
    fields: Floats
    origin: Ints

    def __len__(self) -> int:
        return len(self.origin)

    def take(self, rows: Any) -> Labels:
        """Return some labels, by number or mask."""
        return Labels(self.states[rows], self.fields[rows], self.origin[rows])


def undominated(labels: Labels, leading: tuple[int, ...]) -> Ints:
    """Return the numbers of the labels that none with the same states beats in `leading`."""
    key = np.zeros(len(labels), np.int64)
    for v in range(labels.states.shape[1]):
        column = labels.states[:, v]
        size = int(column.max()) + 1
        if int(key.max()) >= (1 << 62) // size:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * size + column
    values = np.ascontiguousarray(labels.fields[:, list(leading)])
    order = np.lexsort((*(values[:, c] for c in range(values.shape[1] - 1, -1, -1)), key))
    kept = _first_of_groups(key[order], values[order])
    return np.asarray(order[kept], np.int64)


@njit(cache=True)
def _first_of_groups(keys: Ints, values: Floats) -> Any:
    """Mark the rows that no earlier row of their group dominates; sorted by key and values."""
    count, width = values.shape
    kept = np.zeros(count, np.bool_)
    front = np.empty(count, np.int64)
    size = 0
    for row in range(count):
        if row > 0 and keys[row] != keys[row - 1]:
            size = 0
        dominated = False
        for place in range(size):
            smaller = True
            for column in range(1, width):
                if values[front[place], column] > values[row, column]:
                    smaller = False
                    break
            if smaller:
                dominated = True
                break
        if not dominated:
            front[size] = row
            size += 1
            kept[row] = True
    return kept


def split(labels: Labels, cuts: int) -> list[Labels]:
    """Split labels into `cuts` + 1 parts, as far as there are labels."""
    if cuts <= 0 or len(labels) < 2:
        return [labels]
    rows = np.array_split(np.arange(len(labels)), min(cuts + 1, len(labels)))
    return [labels.take(slice(int(part[0]), int(part[-1]) + 1)) for part in rows]


def joined(parts: list[Labels]) -> Labels:
    return Labels(
        np.concatenate([part.states for part in parts]),
        np.concatenate([part.fields for part in parts]),
        np.concatenate([part.origin for part in parts]),
    )
