"""Sizes that a family of mappings gives to one element; of one family, or of many alike at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace, TimeTile, tile_sizes
from tilewright.mapper.grid.grid_shares import Share, local_sizes
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.simulator.search.bounds.elementwise import Numbers, chosen

Shares = tuple[Share, ...]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Alike:
    """Families that differ in their division of the work and in the sizes of their tiles only.

    `families`: they; `divisions`: their divisions, each once; `number`: by family, which it has.
    """

    families: Sequence[GridFamily]
    divisions: Sequence[Shares]
    number: Integers

    @staticmethod
    def of(families: Sequence[GridFamily]) -> Alike:
        """Return families as alike; those with one division have one object for it."""
        numbers: dict[int, int] = {}
        number = [numbers.setdefault(id(family.shares), len(numbers)) for family in families]
        first = {id(family.shares): family.shares for family in families}
        return Alike(families, list(first.values()), np.array(number, dtype=np.int64))

    def of_each(self, figures: Callable[[Shares], tuple[float, ...]]) -> tuple[Numbers, ...]:
        """Return figures that follow from the division of the work: arrays, one for each family."""
        of_divisions = np.array([figures(shares) for shares in self.divisions])
        return tuple(of_divisions.T[:, self.number])


def structure(family: GridFamily) -> tuple[object, ...]:
    """Return all of a family but its division and the sizes of its tiles: a key of those alike."""
    tile, outer = (None if loop is None else loop.variable for loop in (family.tile, family.outer))
    return (
        family.resident, tile, outer, family.scalar, family.buffers, family.shared, family.shifts
    )  # fmt: skip


class _ElementSizes(NamedTuple):
    """What one element has: values by rank variable in its share, and in a tile of it.

    `elements`: columns and rows in use; `groups`: columns and rows of the elements that add up.
    """

    local: Mapping[str, Numbers]
    tile: Mapping[str, Numbers]
    elements: tuple[Numbers, Numbers]
    groups: tuple[Numbers, Numbers]


@dataclass(frozen=True, slots=True)
class FamilyTiles:
    """Sizes that a family of mappings gives to one element.

    `local`, `tile`: by rank variable, its values in the element's share and in a tile. `passing`:
    tensors of which tiles need other parts, which pass through. `steps`: number of tiles of the
    work; `passes`: how many of them begin a turn of the outer loop in time.
    `inputs`: by input, in the Einsum's order, the values of a buffer; `output`: those of the
    output. `input_words`, `output_words`: the words in which they go over links. `elements`:
    columns and rows in use; `groups`: columns and rows of the elements that add up. `alike`: the
    families if these are sizes of many, arrays; `family` is then the first one, and nothing is
    asked of it in which they differ.
    """

    family: GridFamily
    local: Mapping[str, Numbers]
    tile: Mapping[str, Numbers]
    passing: tuple[str, ...]
    steps: Numbers
    passes: Numbers
    inputs: tuple[Numbers, ...]
    output: Numbers
    input_words: tuple[Numbers, ...]
    output_words: Numbers
    elements: tuple[Numbers, Numbers]
    groups: tuple[Numbers, Numbers]
    alike: Alike | None = None

    @staticmethod
    def of(space: GridMapspace, family: GridFamily) -> FamilyTiles:
        """Return the sizes that a family of a mapspace gives to one element."""
        local, shares = local_sizes(space.einsum, family.shares), family.shares
        tile = {**local, **tile_sizes(family)}
        elements = share_of(shares, "X"), share_of(shares, "Y")
        return _sizes(space, family, _ElementSizes(local, tile, elements, space.groups(shares)))

    @staticmethod
    def together(space: GridMapspace, alike: Alike) -> FamilyTiles:
        """Return the sizes of many families: arrays, one number for each."""
        names, families = list(space.einsum.bounds), alike.families
        local = alike.of_each(lambda shares: tuple(local_sizes(space.einsum, shares).values()))
        columns, rows, across, down = alike.of_each(
            lambda s: (share_of(s, "X"), share_of(s, "Y"), *space.groups(s))
        )
        sizes = dict(zip(names, local, strict=True))
        tile = {
            loop.variable: np.array([family.loops[place].size for family in families])
            for place, loop in enumerate(families[0].loops)
        }
        share = _ElementSizes(sizes, {**sizes, **tile}, (columns, rows), (across, down))
        return _sizes(space, families[0], share, alike)

    def turns(self, access: TensorAccess) -> Numbers:
        """Return how many tiles of a tensor pass through an element; 1 for one that stays."""
        if access.tensor not in self.passing:
            return 1
        tile = self.family.tile
        is_inner = tile is not None and tile.variable in access.rank_variables
        return self.steps if is_inner else self.passes

    def of_division(self, figures: Callable[[Shares], tuple[float, ...]]) -> tuple[Numbers, ...]:
        """Return figures that follow from the division of the work: of one, or arrays."""
        if self.alike is None:
            return figures(self.family.shares)
        return self.alike.of_each(figures)


def _sizes(
    space: GridMapspace, family: GridFamily, share: _ElementSizes, alike: Alike | None = None
) -> FamilyTiles:
    local, tile, elements, groups = share
    einsum, passing = space.computed, space.passing_tensors(family)
    outer_turns, inner_turns = (_turns(loop, share) for loop in (family.outer, family.tile))
    accesses = (*einsum.inputs, einsum.outputs[0])
    *inputs, output = values = [
        access.tile_size(tile if access.tensor in passing else local) for access in accesses
    ]
    *input_words, output_words = _words(space, values, groups)
    return FamilyTiles(
        family,
        local,
        tile,
        passing,
        outer_turns * inner_turns,
        outer_turns,
        tuple(inputs),
        output,
        tuple(input_words),
        output_words,
        elements,
        groups,
        alike,
    )


def _turns(loop: TimeTile | None, share: _ElementSizes) -> Numbers:
    if loop is None:
        return 1
    return share.local[loop.variable] // share.tile[loop.variable]


def _words(
    space: GridMapspace, values: Sequence[Numbers], groups: tuple[Numbers, Numbers]
) -> Iterator[Numbers]:
    """Yield the words in which tiles of so many values go: those of each input, then the output's.

    `groups`: columns and rows of elements that add up.
    """
    is_added = groups[0] * groups[1] > 1
    for number, alone, added in zip(values, *space.may_pair, strict=True):
        in_pairs = chosen(is_added, added, alone) & (number % 2 == 0)
        yield number // chosen(in_pairs, 2, 1)


def share_of(shares: Sequence[Share], axis: str) -> int:
    """Return the number of parts into which shares divide the work along an axis, X or Y."""
    return prod(share.count for share in shares if share.axis == axis)
