"""What elements write into the padding of tensors that stay, before they add it up.

The padding of such a tensor has what the Einsum before it left there. The elements with the last
share of a rank variable put zeros in its place, or minus infinity before a maximum; the others have
no padding (theory/grid.md §8).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.padding import is_plain, padding_value
from tilewright.mapper.grid.space_time import HeldTensor, SpaceLoop, SpaceTime
from tilewright.mapper.workload.errors import InfeasibleMapping


@dataclass(frozen=True, slots=True)
class PaddingFill:
    """The padding behind the last value of a rank variable, in a tensor of elements that have it.

    `tensor`: its name; `value`: what is written. `loop`: the loop over elements whose last share
    has padding. `stretches`: how many stretches of the tile are written, each of `length` values,
    the first from value `offset` on, and each `pitch` values behind the one before.
    """

    tensor: str
    value: float
    loop: SpaceLoop
    stretches: int
    pitch: int
    offset: int
    length: int

    @property
    def values(self) -> int:
        """Values that an element writes."""
        return self.stretches * self.length

    def places(self, read: SpaceTime) -> npt.NDArray[np.bool_]:
        """Return which elements write: (rows, columns)."""
        along = read.along(self.loop.axis)
        inner = prod(loop.count for loop in along[along.index(self.loop) + 1 :])
        is_last = np.arange(read.rows if self.loop.axis == "Y" else read.columns) // inner
        is_last = is_last % self.loop.count == self.loop.count - 1
        lines = is_last[:, None] if self.loop.axis == "Y" else is_last[None, :]
        return np.broadcast_to(lines, (read.rows, read.columns))


def padding_fills(read: SpaceTime) -> tuple[PaddingFill, ...]:
    """Return what elements write before a mapping's work, by input that stays and rank variable.

    Nothing where no padding of such a tensor is added up. Raises InfeasibleMapping where it is, but
    lies in no stretches of the last share of one loop.
    """
    staying = (tensor for tensor in read.inputs if tensor.name in read.staying)
    return tuple(fill for tensor in staying for fill in _fills(read, tensor))


def added_padding(read: SpaceTime, tensor: HeldTensor) -> list[str]:
    """Return the rank variables of a tensor whose padding is added up."""
    return [
        name
        for name in tensor.access.rank_variables
        if read.is_reduced(name) and read.einsum.bounds[name] != read.workload_einsum.bounds[name]
    ]


def padding_is_added(read: SpaceTime, tensor: HeldTensor, variable: str) -> InfeasibleMapping:
    """Return the error for a tensor that stays, and whose padding would be added up."""
    return InfeasibleMapping(
        f"{read.einsum.name} adds up padding of {tensor.name}, which stays in the elements",
        instead=f"tiles of {variable} that divide its values, or {tensor.name} in "
        f"{read.grid.host.name}",
    )


def _fills(read: SpaceTime, tensor: HeldTensor) -> Iterator[PaddingFill]:
    forms = [form for _, form in tensor.access.projection]
    for variable in added_padding(read, tensor):
        loops = [loop for loop in read.space if loop.variable == variable]
        ranks = [n for n, form in enumerate(forms) if variable in dict(form.terms)]
        is_in_stretches = len(loops) == 1 and loops[0].tile == tensor.tile[variable]
        if not is_in_stretches or not all(is_plain(forms[rank]) for rank in ranks):
            raise padding_is_added(read, tensor, variable)
        for rank in ranks:
            yield _fill(read, tensor, rank, loops[0])


def _fill(read: SpaceTime, tensor: HeldTensor, rank: int, loop: SpaceLoop) -> PaddingFill:
    """Return the fill of the padding of a rank, whose tile is in row-major order."""
    extents = tensor.extents
    inner = prod(extents[rank + 1 :])
    valid = read.workload_einsum.bounds[loop.variable] - (loop.count - 1) * loop.tile
    return PaddingFill(
        tensor=tensor.name,
        value=padding_value(read.einsum),
        loop=loop,
        stretches=prod(extents[:rank]),
        pitch=extents[rank] * inner,
        offset=valid * inner,
        length=(extents[rank] - valid) * inner,
    )
