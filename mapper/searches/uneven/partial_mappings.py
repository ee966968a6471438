"""Sets of partial mappings as arrays, and the undominated ones among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.shared.group_pareto import pareto


@dataclass(frozen=True, slots=True)
class PartialMappings:
    """A set of partial mappings (labels) on the way down one template.

    `states`, shape (labels, variables): number of each variable's tile state. `fields`, shape
    (labels, width): the costs paid so far. `origin`, shape (labels,): the label of the step
    before. A template is a mapping without its loops.
    """

    states: Ints
    fields: Floats
    origin: Ints

    def __len__(self) -> int:
        return len(self.origin)

    @property
    def numbered(self) -> PartialMappings:
        """The same partial mappings, each with its own number as origin."""
        return PartialMappings(self.states, self.fields, np.arange(len(self)))

    def take(self, rows: Any) -> PartialMappings:
        """Return some of the partial mappings, by their numbers, by a slice or by a mask."""
        return PartialMappings(self.states[rows], self.fields[rows], self.origin[rows])


def undominated(labels: PartialMappings, leading: tuple[int, ...]) -> Ints:
    """Return the numbers of the labels that no label with equal states beats.

    `leading`: the columns of costs that are compared; less is better. One of equal labels stays. A
    label is the tuple of costs of a partial mapping.
    """
    key = np.zeros(len(labels), np.int64)
    for v in range(labels.states.shape[1]):
        column = labels.states[:, v]
        size = int(column.max()) + 1
        if int(key.max()) >= (1 << 62) // size:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * size + column
    return pareto(key, labels.fields[:, list(leading)], 0.0)


def split(labels: PartialMappings, cuts: int) -> list[PartialMappings]:
    """Split a set of partial mappings into `cuts` + 1 sets of similar size, in order.

    Fewer sets if there are fewer mappings; the set itself for no cuts.
    """
    if cuts <= 0 or len(labels) < 2:
        return [labels]
    rows = np.array_split(np.arange(len(labels)), min(cuts + 1, len(labels)))
    return [labels.take(slice(int(chunk[0]), int(chunk[-1]) + 1)) for chunk in rows]


def joined(label_sets: list[PartialMappings]) -> PartialMappings:
    """Return several sets of partial mappings as one, in the same order."""
    return PartialMappings(
        np.concatenate([labels.states for labels in label_sets]),
        np.concatenate([labels.fields for labels in label_sets]),
        np.concatenate([labels.origin for labels in label_sets]),
    )
