"""Which part of a tensor each element of a grid holds, so that one Einsum's result serves the next.

A tensor that two Einsums exchange stays in the elements' memories if every element that needs a
part of it already has this part (theory/grid.md §8).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from tilewright.mapper.grid.host_streams import Integers, element_starts
from tilewright.mapper.grid.partial_sums import partial_sums
from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.mapper.workload.errors import InfeasibleMapping


@dataclass(frozen=True, eq=False)
class Distribution:
    """The part of a tensor in each element: a box of positions.

    `first`: (rows, columns, ranks) first position in each rank. `extents`: positions of each rank,
    the same for all elements. `has`: (rows, columns) whether the element has its part. `padded`:
    the last parts reach beyond the tensor, where the elements' memories have any values. `shape`:
    positions in each rank that the Einsum has of it, None for any.
    """

    first: Integers
    extents: tuple[int, ...]
    has: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
    padded: bool = False
    shape: tuple[int, ...] | None = None

    @property
    def values(self) -> int:
        """Number of values of one part: the product of its extents."""
        return prod(self.extents)

    def position(self, element: tuple[int, int]) -> tuple[int, ...]:
        """Return the first position in each rank of the part of an element (row, column)."""
        return self._positions[element[0]][element[1]]

    @cached_property
    def _positions(self) -> list[list[tuple[int, ...]]]:
        return [[tuple(part) for part in row] for row in self.first.tolist()]

    @cached_property
    def starts(self) -> tuple[Integers, ...]:
        """The different first positions of parts in each rank, rising: one array for each rank."""
        parts = self.first[self.has]
        return tuple(np.unique(parts[:, rank]) for rank in range(parts.shape[1]))

    @cached_property
    def rank_starts(self) -> tuple[tuple[int, ...], ...]:
        """The first positions of each rank as numbers, for keys of caches."""
        return tuple(tuple(starts.tolist()) for starts in self.starts)

    @cached_property
    def places(self) -> tuple[Integers, ...]:
        """The number of each element's first position in `starts`: (rows, columns) by rank.

        Any number where an element has no part.
        """
        ranks = zip(self.starts, np.moveaxis(self.first, 2, 0), strict=True)
        return tuple(np.searchsorted(s, f).clip(max=len(s) - 1) for s, f in ranks)

    @cached_property
    def number(self) -> Integers:
        """A number of each element's part: (rows, columns), the same for equal parts.

        They are below the product of the numbers of first positions of all ranks; -1 without one.
        """
        number = np.zeros(self.has.shape, dtype=np.int64)
        for starts, place in zip(self.starts, self.places, strict=True):
            number = number * len(starts) + place
        return np.where(self.has, number, -1)

    @cached_property
    def holders(self) -> Integers:
        """Number of elements that have each element's part: (rows, columns), 1 without one."""
        counts = np.bincount(self.number[self.has], minlength=1)
        return np.where(self.has, counts[self.number.clip(min=0)], 1)

    @cached_property
    def is_single(self) -> bool:
        """Whether each part is in one element."""
        return bool(self.holders.max(initial=1) == 1)

    @cached_property
    def parts(self) -> int:
        """Number of different parts; elements with the same first positions have the same part."""
        return len(np.unique(self.number[self.has]))

    @cached_property
    def is_full(self) -> bool:
        """Whether each combination of a first position of every rank is the start of some part."""
        return self.parts == prod(map(len, self.starts))

    @cached_property
    def is_disjoint(self) -> bool:
        """Whether no two different parts overlap, and their first positions form a full grid."""
        spaced = all(
            (np.diff(starts) >= extent).all()
            for starts, extent in zip(self.starts, self.extents, strict=True)
        )
        return spaced and self.is_full

    def serves(self, needed: Distribution) -> bool:
        """Tell whether every element that needs a part has exactly that part already.

        `self` is what the elements have, `needed` what each of them works on. The grid of `needed`
        may be smaller; its element (row, column) is the same one.
        """
        rows, columns = needed.has.shape
        if rows > self.has.shape[0] or columns > self.has.shape[1]:
            return False
        same = (self.first[:rows, :columns] == needed.first).all(axis=2)
        return self.extents == needed.extents and bool(
            (~needed.has | (self.has[:rows, :columns] & same)).all()
        )

    @property
    def key(self) -> bytes:
        """Bytes that are equal for equal distributions."""
        return repr((self.first.shape, self.extents, self.padded, self.shape)).encode() + (
            np.where(self.has[:, :, None], self.first, -1).tobytes() + self.has.tobytes()
        )


def produced(read: SpaceTime) -> Distribution:
    """Return which elements have which part of the output after a mapping that leaves it in them.

    The result of a sum over elements is in the last element of each group (`partial_sums`), or in
    every element of the group if the mapping shares it.
    """
    sums = partial_sums(read)
    has = np.full((read.rows, read.columns), sums.shared)
    rows, columns = sums.head_rows(read.rows), sums.head_columns(read.columns)
    has[np.ix_(np.array(rows), np.array(columns))] = True
    padded = any(
        read.einsum.bounds[name] != read.workload_einsum.bounds[name]
        for name in read.output.access.rank_variables
    )
    shape = _shape(read, read.output)
    return Distribution(_first(read, read.output), read.output.extents, has, padded, shape)


def needed(read: SpaceTime, tensor: HeldTensor) -> Distribution:
    """Return which part of an input each element of a mapping works on: all elements have one."""
    has = np.ones((read.rows, read.columns), dtype=bool)
    return Distribution(_first(read, tensor), tensor.extents, has, shape=_shape(read, tensor))


def _shape(read: SpaceTime, tensor: HeldTensor) -> tuple[int, ...]:
    """Return how many positions of each rank the Einsum uses, counted from 0, without padding.

    Example: with p < 8 and r < 3 an index p + r uses 10.
    """
    forms = [form for _, form in tensor.access.projection]
    return tuple(1 + form.ends(read.workload_einsum.bounds)[1] for form in forms)


def _first(read: SpaceTime, tensor: HeldTensor) -> Integers:
    starts = element_starts(read)
    ranks = []
    for _, form in tensor.access.projection:
        low = np.full((read.rows, read.columns), form.constant)
        for name, factor in form.terms:
            below = factor * (tensor.tile[name] - 1) if factor < 0 else 0
            low = low + factor * starts[name] + below
        ranks.append(low)
    return np.stack(ranks, axis=2) if ranks else np.zeros((read.rows, read.columns, 0), np.int64)


def lies_elsewhere(read: SpaceTime, tensor: HeldTensor) -> InfeasibleMapping:
    """Return the error for an input that is in the elements, but not where an Einsum needs it."""
    name = tensor.name
    return InfeasibleMapping(
        f"{name} stays in the elements, but {read.einsum.name} needs other parts of it than they "
        "hold, and no exchange between elements brings them",
        instead=f"the same loops over {read.grid.fanout} above {name} as in the Einsum that "
        f"computes it, or {name} in {read.grid.host.name} for both",
    )
