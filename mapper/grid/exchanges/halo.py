"""An exchange of halos: elements hold a part of a tensor and need more on its sides.

Each element passes slabs of its part to its neighbours, one rank after the other, so that corners
come by way of the neighbour. A halo wider than a part takes several steps (theory/grid.md §9).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.number_types import words_of_values
from tilewright.mapper.grid.reductions import Axis

Mask = npt.NDArray[np.bool_]
Box = tuple[tuple[int, int], ...]
"""First position and extent in each rank, counted in the box that an element needs."""


@dataclass(frozen=True, eq=False)
class Shift:
    """A slab that elements pass to their neighbours along an axis.

    `step`: 1 if it goes to the element with the next higher number, -1 to the next lower one.
    `sent`, `received`: the slab in the box of the sender and of the receiver. `links`: whether the
    element of each number along the axis has the neighbour from which it receives.
    """

    axis: Axis
    step: int
    sent: Box
    received: Box
    links: Mask

    @property
    def values(self) -> int:
        """Values of one slab."""
        return prod(extent for _, extent in self.received)

    @cached_property
    def sends(self) -> Mask:
        """Whether the element of each number along the axis has a neighbour to send to."""
        return np.roll(self.links, -self.step)


@dataclass(frozen=True, eq=False)
class HaloExchange:
    """The shifts that turn the parts that elements have (`held`) into those that they need.

    `inner`: where the part that an element holds lies in the box that it needs. Positions outside
    of the tensor are zeros.
    """

    tensor: str
    held: Distribution
    needed: Distribution
    inner: Box
    shifts: tuple[Shift, ...]

    @property
    def rows(self) -> int:
        """Rows of elements."""
        return self.needed.has.shape[0]

    @property
    def columns(self) -> int:
        """Columns of elements."""
        return self.needed.has.shape[1]

    @property
    def passed(self) -> int:
        """Values that all elements together pass to neighbours."""
        return sum(self._slabs(shift) * shift.values for shift in self.shifts)

    def hops(self, dtype: str) -> int:
        """Return the words that all elements together pass to neighbours; each crosses one link.

        `dtype`: type of the values.
        """
        return sum(self._slabs(s) * words_of_values(s.values, dtype) for s in self.shifts)

    def _slabs(self, shift: Shift) -> int:
        """Return in how many slabs a shift is passed on."""
        return int(shift.links.sum()) * (self.rows if shift.axis == "X" else self.columns)

    @property
    def reads(self) -> int:
        """Values that all elements together read in memory: their parts, and what they pass on."""
        return self.rows * self.columns * self.held.values + self.passed

    @property
    def writes(self) -> int:
        """Values that all elements together write: the boxes that they need."""
        return self.rows * self.columns * self.needed.values


def halo_exchange(tensor: str, held: Distribution, needed: Distribution) -> HaloExchange | None:
    """Return the exchange that turns what elements hold into what they need.

    None if there is no such exchange: not all elements have a part; what they need is not their
    part with the same halo around it everywhere; the part next to it is not in a neighbour; the
    tensor has padding in the elements, whose values are not zeros.
    """
    halo = _halo_around(held, needed)
    if halo is None:
        return None
    inner = tuple((below, part) for (below, _), part in zip(halo, held.extents, strict=True))
    shifts: list[Shift] = []
    box = inner
    for rank, (below, above) in enumerate(halo):
        if not below and not above:
            continue
        line = _line_of(held, rank)
        if line is None:
            return None
        shifts += _shifts(line, box, below, above)
        box = _replaced(box, rank, 0, needed.extents[rank])
    return HaloExchange(tensor, held, needed, inner, tuple(shifts))


def _halo_around(held: Distribution, needed: Distribution) -> list[tuple[int, int]] | None:
    """Return by rank how many positions elements need below and above those that they hold.

    None if not all elements have a part, or these numbers differ between elements or are negative.
    """
    if held.has.shape != needed.has.shape or not held.has.all() or held.padded:
        return None
    before = held.first - needed.first
    if before.size == 0 or (before != before[0, 0]).any():
        return None
    low = before[0, 0].tolist()
    sizes = zip(needed.extents, low, held.extents, strict=True)
    halo = [(below, whole - below - part) for whole, below, part in sizes]
    return halo if min(map(min, halo)) >= 0 else None


@dataclass(frozen=True, eq=False)
class _HaloLine:
    """An axis of the grid along which neighbours hold neighbouring parts of a rank.

    `links[i]`: whether element i of a line holds the part that follows that of element i - 1.
    """

    axis: Axis
    rank: int
    links: Mask


def _line_of(held: Distribution, rank: int) -> _HaloLine | None:
    """Return the axis along which neighbours hold neighbouring parts of a rank; None if none does.

    All lines along the axis must have the same parts. For a rank that every element holds whole the
    result has no links: only zeros lie beside the part.
    """
    axes: tuple[Axis, Axis] = ("X", "Y")
    for axis in axes:
        first = held.first if axis == "X" else held.first.swapaxes(0, 1)
        positions = first[0, :, rank]
        if (first[:, :, rank] != positions).any():
            continue
        step = np.zeros(first.shape[2], dtype=np.int64)
        step[rank] = held.extents[rank]
        follows = (np.diff(first, axis=1) == step).all(axis=(0, 2))
        links = np.concatenate([[False], follows])
        if (links == (positions > positions.min())).all():
            return _HaloLine(axis, rank, links)
    return None


def _shifts(line: _HaloLine, box: Box, below: int, above: int) -> Iterator[Shift]:
    """Yield the shifts that put `below` positions before a rank's part and `above` behind it.

    `box`: what the elements have already, as a box in what they need; in this rank it is their
    part. A halo wider than the part takes several shifts on each side.
    """
    first, part = box[line.rank]
    back = np.concatenate([line.links[1:], [False]])
    for done in range(0, max(below, above), part):
        width = min(part, below - done)
        if width > 0:
            received = _replaced(box, line.rank, first - done - width, width)
            sent = _replaced(box, line.rank, first - done - width + part, width)
            yield Shift(line.axis, 1, sent, received, line.links)
        width = min(part, above - done)
        if width > 0:
            received = _replaced(box, line.rank, first + part + done, width)
            sent = _replaced(box, line.rank, first + done, width)
            yield Shift(line.axis, -1, sent, received, back)


def _replaced(box: Box, rank: int, first: int, extent: int) -> Box:
    return (*box[:rank], (first, extent), *box[rank + 1 :])
