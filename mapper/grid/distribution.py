"""Which part of a tensor each element of a grid holds, so that one Einsum's result serves the next.

A tensor that two Einsums exchange stays in the elements' memories if every element that needs a
part of it already has this part (theory/grid.md §8).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.mapper.grid.host_streams import Integers, element_starts
from tilewright.mapper.grid.partial_sums import partial_sums
from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.mapper.workload.errors import InfeasibleMapping


@dataclass(frozen=True, eq=False)
class Distribution:
    """The part of a tensor in each element: a box of positions.

    `first`: (rows, columns, ranks) first position in each rank. `extents`: positions of each rank,
    the same for all elements. `has`: (rows, columns) whether the element has its part.
    """

    first: Integers
    extents: tuple[int, ...]
    has: np.ndarray[tuple[int, int], np.dtype[np.bool_]]

    def serves(self, needed: Distribution) -> bool:
        """Return whether every element that needs a part of the tensor has it."""
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
        return repr((self.first.shape, self.extents)).encode() + (
            np.where(self.has[:, :, None], self.first, -1).tobytes() + self.has.tobytes()
        )


def produced(read: SpaceTime) -> Distribution:
    """Return where the result of a mapping is that stays in the elements.

    It is at the ends of the sums, or everywhere if it is shared.
    """
    sums = partial_sums(read)
    has = np.full((read.rows, read.columns), sums.shared)
    rows, columns = sums.head_rows(read.rows), sums.head_columns(read.columns)
    has[np.ix_(np.array(rows), np.array(columns))] = True
    return Distribution(_first(read, read.output), read.output.extents, has)


def needed(read: SpaceTime, tensor: HeldTensor) -> Distribution:
    """Return which part of an input every element of a mapping works on."""
    has = np.ones((read.rows, read.columns), dtype=bool)
    return Distribution(_first(read, tensor), tensor.extents, has)


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


def check_serves(producer: Distribution, read: SpaceTime, tensor: HeldTensor) -> None:
    """Check that a tensor that stays in the elements is where an Einsum needs it.

    Raises InfeasibleMapping if it lies elsewhere, or if padding would be added up: an element's
    padding of a tensor that stays has values, not zeros.
    """
    name, einsum = tensor.name, read.einsum
    if not producer.serves(needed(read, tensor)):
        raise InfeasibleMapping(
            f"{name} stays in the elements, but {einsum.name} needs other parts of it than they "
            "hold",
            instead=f"the same loops over {read.grid.fanout} above {name} as in the Einsum that "
            f"computes it, or {name} in {read.grid.host.name} for both",
        )
    for variable in tensor.access.rank_variables:
        grown = einsum.bounds[variable] != read.workload_einsum.bounds[variable]
        if grown and read.is_reduced(variable):
            raise InfeasibleMapping(
                f"{einsum.name} adds up padding of {name}, which stays in the elements",
                instead=f"tiles of {variable} that divide its values, or {name} in "
                f"{read.grid.host.name}",
            )
