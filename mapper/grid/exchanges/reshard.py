"""A reshard: elements have parts of a tensor and need others (theory/grid.md §10).

An element copies what it has of the part that it needs. Every other piece comes from the nearest
element that has it, in a flow: one box of values from one element to all those that it serves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.host_streams import Integers
from tilewright.mapper.grid.number_types import words_of_values

Place = tuple[int, int]
"""Row and column of an element."""
Position = tuple[int, ...]
MOST_PAIRS = 1 << 20
"""Pairs of a part that is held and one that is needed; with more there is no reshard."""
MOST_FLOWS = 1 << 11
"""Flows of a reshard; with more there is none."""
MOST_ELEMENTS = 1 << 12


@dataclass(frozen=True, slots=True, order=True)
class Piece:
    """A box of a tensor: its first position and its extent in each rank."""

    first: Position
    extents: Position

    @property
    def values(self) -> int:
        """Number of values."""
        return prod(self.extents)


@dataclass(frozen=True)
class Flow:
    """A piece that the element `source` sends to all `targets`: along its row, then columns."""

    piece: Piece
    source: Place
    targets: tuple[Place, ...]

    @cached_property
    def spans(self) -> dict[int, tuple[int, int]]:
        """By column with a target, and the source's: the first and the last row on the way."""
        row, column = self.source
        spans = {column: (row, row)}
        for target_row, target_column in self.targets:
            first, last = spans.get(target_column, (row, row))
            spans[target_column] = min(first, target_row), max(last, target_row)
        return spans

    @cached_property
    def links(self) -> int:
        """Links that each of its words crosses: those of the row, and those of each column."""
        along = sum(last - first for first, last in self.spans.values())
        return max(self.spans) - min(self.spans) + along


@dataclass(frozen=True, eq=False)
class Reshard:
    """The copies and flows that turn the parts that elements have (`held`) into those `needed`.

    `copies`: what an element has itself of its part. `filled`: elements whose part reaches beyond
    the tensor, where values are zeros.
    """

    tensor: str
    held: Distribution
    needed: Distribution
    copies: Mapping[Place, Piece]
    filled: frozenset[Place]
    flows: tuple[Flow, ...]

    @cached_property
    def reads(self) -> int:
        """Values that all elements read in their memories: copies, and what they send."""
        return sum(piece.values for piece in self.copies.values()) + sum(
            flow.piece.values for flow in self.flows
        )

    @cached_property
    def writes(self) -> int:
        """Values that all elements write: zeros, copies, and what they receive."""
        zeros = len(self.filled) * self.needed.values
        copied = sum(piece.values for piece in self.copies.values())
        return zeros + copied + sum(len(f.targets) * f.piece.values for f in self.flows)

    def hops(self, dtype: str) -> int:
        """Return words of each flow times its links, for values of a type."""
        return sum(flow.links * words_of_values(flow.piece.values, dtype) for flow in self.flows)

    @property
    def rows(self) -> int:
        """Rows of elements."""
        return max(self.held.has.shape[0], self.needed.has.shape[0])

    @property
    def columns(self) -> int:
        """Columns of elements."""
        return max(self.held.has.shape[1], self.needed.has.shape[1])


def reshard(tensor: str, held: Distribution, needed: Distribution) -> Reshard | None:
    """Return the copies and flows that turn what elements hold into what they need.

    None if some value that is needed is in no element, or in several different parts that overlap;
    and if there are too many pairs of parts, flows or elements.
    """
    overlaps = None if is_too_large(held, needed) else _Overlaps.of(held, needed)
    if overlaps is None:
        return None
    copies: dict[Place, Piece] = {}
    targets: dict[tuple[Piece, Place], list[Place]] = defaultdict(list)
    for part, need in zip(*np.nonzero(overlaps.values), strict=True):
        piece = overlaps.piece(part, need)
        holders = set(overlaps.holders[part])
        distant = []
        for place in overlaps.needers[need]:
            if place in holders:
                copies[place] = piece
            else:
                distant.append(place)
        for place, source in zip(distant, _nearest(overlaps.holders[part], distant), strict=True):
            targets[piece, source].append(place)
    if len(targets) > MOST_FLOWS:
        return None
    flows = [Flow(piece, source, tuple(places)) for (piece, source), places in targets.items()]
    flows.sort(key=lambda flow: (flow.source, flow.piece))
    filled = frozenset(place for need in overlaps.beyond for place in overlaps.needers[need])
    return Reshard(tensor, held, needed, copies, filled, tuple(flows))


def is_too_large(held: Distribution, needed: Distribution) -> bool:
    """Tell whether there are more elements than `MOST_ELEMENTS`: then `reshard` gives None."""
    return max(held.has.size, needed.has.size) > MOST_ELEMENTS


def _clipped(low: Integers, high: Integers, shape: Position | None) -> tuple[Integers, Integers]:
    """Return `low` and `high` of boxes, cut to a tensor of `shape`: from 0 to its size.

    Without a shape `high` stays.
    """
    last = high if shape is None else np.minimum(high, np.array(shape, dtype=np.int64))
    return np.maximum(low, 0), last


@dataclass(frozen=True, eq=False)
class _Overlaps:
    """What each different part that elements hold has in common with each part that they need.

    `low`, `size`: (held, needed, ranks) first position and extent of the common box; `values`:
    (held, needed) its values. `holders`, `needers`: the elements of each part. `beyond`: numbers of
    the needed parts that reach beyond the tensor.
    """

    low: Integers
    size: Integers
    values: Integers
    holders: list[list[Place]]
    needers: list[list[Place]]
    beyond: list[int]

    @staticmethod
    def of(held: Distribution, needed: Distribution) -> _Overlaps | None:
        """Return the overlaps; None unless every needed value is in exactly one of the held parts.

        None, too, with more than `MOST_PAIRS` pairs of parts.
        """
        parts, needs = _by_part(held), _by_part(needed)
        if not parts or len(parts) * len(needs) > MOST_PAIRS:
            return None
        ranks = len(held.extents)
        first = np.array(list(parts), dtype=np.int64).reshape(len(parts), 1, ranks)
        wanted = np.array(list(needs), dtype=np.int64).reshape(1, len(needs), ranks)
        end = wanted + np.array(needed.extents, dtype=np.int64)
        low, high = _clipped(wanted, end, held.shape)
        inside = (high - low).clip(min=0).prod(axis=2)[0]
        low = np.maximum(first, low)
        high = np.minimum(first + np.array(held.extents, dtype=np.int64), high)
        size = (high - low).clip(min=0)
        values = size.prod(axis=2)
        if (values.sum(axis=0) != inside).any():
            return None
        beyond = np.flatnonzero(inside != needed.values).tolist()
        return _Overlaps(low, size, values, [*parts.values()], [*needs.values()], beyond)

    def piece(self, part: int, need: int) -> Piece:
        """Return the box that a held and a needed part have in common."""
        return Piece(tuple(self.low[part, need].tolist()), tuple(self.size[part, need].tolist()))


def _by_part(place: Distribution) -> dict[Position, list[Place]]:
    """Return the elements that have each different part; the key is the part's first position."""
    parts: dict[Position, list[Place]] = {}
    for row, column in np.argwhere(place.has).tolist():
        first = tuple(place.first[row, column].tolist())
        parts.setdefault(first, []).append((row, column))
    return parts


def _nearest(holders: list[Place], targets: list[Place]) -> list[Place]:
    """Return the nearest holder of each target, by links.

    Of equally near ones first one in its row.
    """
    if len(holders) == 1 or not targets:
        return [holders[0]] * len(targets)
    away: npt.NDArray[np.int64] = np.abs(
        np.array(targets)[:, None, :] - np.array(holders)[None, :, :]
    )
    order = 2 * away.sum(axis=2) + (away[:, :, 0] > 0)
    return [holders[number] for number in order.argmin(axis=1).tolist()]
