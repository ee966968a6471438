"""Sizes that a family of mappings gives to one element; of one family, or of many alike at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace, TimeTile, tile_sizes
from tilewright.mapper.grid.grid_shares import Share
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.simulator.lowering.lower_bound.cycle_bound import AXES
from tilewright.simulator.search.bounds.elementwise import Numbers, chosen

Shares = tuple[Share, ...]
Counts = Mapping[tuple[Axis, str], Numbers]
"""Into how many parts elements along an axis divide a rank variable, where they divide it."""
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

    def counts(self) -> Counts:
        """Return the counts of the families' shares: arrays, one number for each family."""
        names = dict.fromkeys((s.axis, s.variable) for shares in self.divisions for s in shares)
        columns = {name: np.ones(len(self.divisions), dtype=np.int64) for name in names}
        for place, shares in enumerate(self.divisions):
            for share in shares:
                columns[share.axis, share.variable][place] = share.count
        return {name: column[self.number] for name, column in columns.items()}


def structure(family: GridFamily) -> tuple[object, ...]:
    """Return all of a family but its division and the sizes of its tiles: a key of those alike."""
    tile, outer = (None if loop is None else loop.variable for loop in (family.tile, family.outer))
    return (
        family.resident, tile, outer, family.scalar, family.buffers, family.shared, family.shifts
    )  # fmt: skip


def alike_among(families: Sequence[GridFamily]) -> Iterator[tuple[list[int], Alike]]:
    """Yield the families that are alike, with their positions among all."""
    positions: dict[tuple[object, ...], list[int]] = {}
    for number, family in enumerate(families):
        positions.setdefault(structure(family), []).append(number)
    for numbers in positions.values():
        yield numbers, Alike.of([families[number] for number in numbers])


class _ElementSizes(NamedTuple):
    """What one element has: values by rank variable in its share, and in a tile of it.

    `counts`: of the division of the work.
    """

    counts: Counts
    local: Mapping[str, Numbers]
    tile: Mapping[str, Numbers]


@dataclass(frozen=True, slots=True)
class FamilyTiles:
    """Sizes that a family of mappings gives to one element.

    `local`, `tile`: by rank variable, its values in the element's share and in a tile. `passing`:
    tensors of which tiles need other parts, which pass through. `steps`: number of tiles of the
    work; `passes`: how many of them begin a turn of the outer loop in time.
    `inputs`: by input, in the Einsum's order, the values of a buffer; `output`: those of the
    output. `input_words`, `output_words`: the words in which they go over links. `elements`:
    columns and rows in use; `groups`: columns and rows of the elements that add up. `counts`: of
    the division of the work. `alike`: the families if these are sizes of many, arrays (a number
    where all have one); `family` is then the first one, and nothing is asked of it in which they
    differ.
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
    counts: Counts
    alike: Alike | None = None

    @staticmethod
    def of(space: GridMapspace, family: GridFamily) -> FamilyTiles:
        """Return the sizes that a family of a mapspace gives to one element."""
        counts = {(share.axis, share.variable): share.count for share in family.shares}
        local = _local(space, counts)
        sizes = _ElementSizes(counts, local, {**local, **tile_sizes(family)})
        return _sizes(space, family, sizes)

    @staticmethod
    def together(space: GridMapspace, alike: Alike) -> FamilyTiles:
        """Return the sizes of many families: arrays, one number for each."""
        families, counts = alike.families, alike.counts()
        local = _local(space, counts)
        tile = {
            loop.variable: np.array([family.loops[place].size for family in families])
            for place, loop in enumerate(families[0].loops)
        }
        return _sizes(space, families[0], _ElementSizes(counts, local, {**local, **tile}), alike)

    def parts(self, access: TensorAccess, axis: Axis) -> Numbers:
        """Return into how many parts the elements along an axis divide a tensor."""
        return _along(self.counts, axis, access.rank_variables)

    def turns(self, access: TensorAccess) -> Numbers:
        """Return how many tiles of a tensor pass through an element; 1 for one that stays."""
        if access.tensor not in self.passing:
            return 1
        tile = self.family.tile
        is_inner = tile is not None and tile.variable in access.rank_variables
        return self.steps if is_inner else self.passes


def _local(space: GridMapspace, counts: Counts) -> Mapping[str, Numbers]:
    """Return the values of each rank variable in the share of an element, padding included."""
    return {
        name: -(-bound // prod(counts.get((axis, name), 1) for axis in AXES))
        for name, bound in space.einsum.bounds.items()
    }


def _along(counts: Counts, axis: Axis, names: Collection[str]) -> Numbers:
    """Return into how many parts the elements along an axis divide some rank variables."""
    return prod(n for (along, name), n in counts.items() if along == axis and name in names)


def _sizes(
    space: GridMapspace, family: GridFamily, share: _ElementSizes, alike: Alike | None = None
) -> FamilyTiles:
    counts, local, tile = share
    einsum, passing = space.computed, space.passing_tensors(family)
    outer_turns, inner_turns = (_turns(loop, share) for loop in (family.outer, family.tile))
    accesses = (*einsum.inputs, einsum.outputs[0])
    *inputs, output = values = [
        access.tile_size(tile if access.tensor in passing else local) for access in accesses
    ]
    summed = einsum.bounds.keys() - einsum.outputs[0].rank_variables
    columns, rows = (_along(counts, axis, einsum.bounds) for axis in AXES)
    across, down = (_along(counts, axis, summed) for axis in AXES)
    *input_words, output_words = _words(space, values, (across, down))
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
        (columns, rows),
        (across, down),
        counts,
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
