"""Lower bounds of cycles and energy for all mappings that divide the work of an Einsum alike.

They hold whatever tiles pass, tensors stay or shift, and schemes add up (theory/grid.md §7): so
divisions with more work than the least can be left out without looking at their mappings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Final, NamedTuple

from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.grid.grid_shares import Share, local_sizes
from tilewright.mapper.grid.host_streams import Lines, line_streams, links_to_last
from tilewright.mapper.grid.number_types import dtype_of, values_per_wavelet
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.workload.einsum import Affine, TensorAccess
from tilewright.simulator.lowering.cycle_bound import AXES, crosses_line, way_in, words_end
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.search.bounds.element_cycles import ElementCycles
from tilewright.simulator.search.bounds.family_energy import BorderWords, FamilyEnergy
from tilewright.simulator.search.bounds.family_tiles import FamilyTiles, share_of
from tilewright.simulator.search.bounds.quick_bound import QuickBound

PAIR: Final = 2
"""Values that a wavelet has at most: an even number of 16 bits goes in pairs."""


class _Way(NamedTuple):
    """How an input may enter the grid: who shares a stream, its words, and the links it crosses."""

    lines: Lines
    words: float
    links: int


@dataclass(frozen=True)
class DivisionBound:
    """Lower bounds for the divisions of a mapspace; `quick`: those of its families."""

    quick: QuickBound

    @property
    def _space(self) -> GridMapspace:
        return self.quick.space

    @property
    def _profile(self) -> Profile:
        return self.quick.profile

    @cached_property
    def _element(self) -> ElementCycles:
        return ElementCycles(self._space, self._profile)

    @cached_property
    def _energy(self) -> FamilyEnergy:
        return FamilyEnergy(self._space, self.quick.flat)

    @property
    def least_point(self) -> float:
        """Cycles that an element takes at least for each of its points."""
        return self._element.least_point

    def cycles(self, shares: tuple[Share, ...]) -> float:
        """Return a number of cycles that no execution of a mapping with this division goes below.

        It is that of an element with its operations and transfers, or that in which the words of a
        line have crossed its last link.
        """
        tiles = self._tiles(shares)
        entering = self._entering(tiles, tiles.input_words)
        ways = [list(self._ways(access, words, tiles)) for access, words in entering]
        ends = (min(way.words + way_in(way.links, self._profile) for way in each) for each in ways)
        lines = (self._line_end(axis, ways, tiles) for axis in AXES)
        column = self._first_column_end(ways, tiles)
        return max(self._element_end(tiles), column, *ends, *lines)

    def energy(self, shares: tuple[Share, ...]) -> float:
        """Return an energy (J) that no mapping with this division goes below, leakage left out.

        The links that words cross from the border are left out.
        """
        scalars = self._space.scalars(local_sizes(self._space.einsum, shares))
        least = min(self._energy_with(self._family(shares, scalar)) for scalar in scalars)
        return least * self._space.einsum.n_instances

    def _energy_with(self, family: GridFamily) -> float:
        """Return the least energy (J) of a family and of those that cut its share into tiles.

        It goes up or down with the values of the output, so that both ends are tried.
        """
        whole = FamilyTiles.of(self._space, family)
        least = self._least(whole)
        elements = prod(whole.elements)
        entered = {
            access.tensor: BorderWords(self._parts(access, least) * values, elements * values, 0)
            for access, values in self._entering(least, least.inputs)
        }
        ends = least, replace(least, output=whole.output)
        return float(min(self._energy.of(tiles, None, entered) for tiles in ends))

    def _tiles(self, shares: tuple[Share, ...]) -> FamilyTiles:
        return self._least(FamilyTiles.of(self._space, self._family(shares, None)))

    def _least(self, tiles: FamilyTiles) -> FamilyTiles:
        """Return the sizes of an element's share with the least values that tiles have of it."""
        einsum = self._space.computed
        accesses = (*einsum.inputs, einsum.outputs[0])
        *inputs, output = values = [least_values(access, tiles.local) for access in accesses]
        *input_words, output_words = (
            -(-number // values_per_wavelet(PAIR, dtype_of(access, einsum)))
            for access, number in zip(accesses, values, strict=True)
        )
        return replace(
            tiles,
            inputs=tuple(inputs),
            output=output,
            input_words=tuple(input_words),
            output_words=output_words,
        )

    def _family(self, shares: tuple[Share, ...], scalar: str | None) -> GridFamily:
        """Return the mappings that work on the whole share at once, as much in the elements."""
        resident = max(self._space.residence(), key=len)
        return GridFamily(shares, None, resident, scalar, buffers=1)

    def _entering(
        self, tiles: FamilyTiles, numbers: Sequence[int]
    ) -> Iterator[tuple[TensorAccess, int]]:
        """Yield the inputs that come over the border, each with its one of these numbers."""
        for access, number in zip(self._space.einsum.inputs, numbers, strict=True):
            if access.tensor not in tiles.family.resident:
                yield access, number

    def _parts(self, access: TensorAccess, tiles: FamilyTiles) -> int:
        """Return into how many parts elements divide an input."""
        along_x, along_y = (_parts_along(access, tiles.family.shares, axis) for axis in AXES)
        return along_x * along_y

    def _element_end(self, tiles: FamilyTiles) -> float:
        element, space = self._element, self._space
        work = min(element.least_work(tiles.local, s) for s in space.scalars(tiles.local))
        received = sum(words for _, words in self._entering(tiles, tiles.input_words))
        leaves = not space.output_stays or max(tiles.groups) > 1
        return work + element.least_transfers(received + leaves * tiles.output_words)

    def _ways(self, access: TensorAccess, words: int, tiles: FamilyTiles) -> Iterator[_Way]:
        """Yield the ways of an input: to all elements that need it, or to one each of a ring."""
        columns, rows = tiles.elements
        entered = self._parts(access, tiles) * words
        for ring in self._rings(access, tiles):
            along_x, along_y = (
                share_of(tiles.family.shares, axis)
                if axis == ring
                else _parts_along(access, tiles.family.shares, axis)
                for axis in AXES
            )
            lines, number, _, _ = line_streams(along_x, along_y, columns, rows)
            yield _Way(lines, entered / number, links_to_last(lines, columns, rows))

    def _rings(self, access: TensorAccess, tiles: FamilyTiles) -> Iterator[Axis | None]:
        """Yield the axes along which the tiles of an input may go round rings, and None."""
        yield None
        if self._space.constraints.allows("movement", "shift"):
            shares = tiles.family.shares
            yield from (axis for axis in AXES if _parts_along(access, shares, axis) == 1)

    def _line_end(self, axis: Axis, ways: list[list[_Way]], tiles: FamilyTiles) -> float:
        """Return the least cycle at which all words have crossed the last link along an axis."""
        words = sum(
            min(int(way.words) if crosses_line(way.lines, axis) else 0 for way in each)
            for each in ways
        )
        if axis == "Y":
            words += self._gathered(tiles)
        links = min(tiles.elements[AXES.index(axis)] - 1, 1)
        return float(words_end(words, links, self._profile))

    def _first_column_end(self, ways: list[list[_Way]], tiles: FamilyTiles) -> float:
        """Return the least cycle at which all words have come down the first column.

        Those of the whole grid go down it, too.
        """
        words = sum(min(int(w.words) if w.lines != "rows" else 0 for w in each) for each in ways)
        if tiles.groups[0] == 1:
            words += self._gathered(tiles)
        return float(words_end(words, min(tiles.elements[1] - 1, 1), self._profile))

    def _gathered(self, tiles: FamilyTiles) -> int:
        """Return the words of results that the last element of a column with results passes on."""
        columns, rows = tiles.groups
        heads = tiles.elements[1] // rows
        gathers = not self._space.output_stays and heads > 1 and columns < tiles.elements[0]
        return (heads - 1) * tiles.output_words if gathers else 0


def _parts_along(access: TensorAccess, shares: tuple[Share, ...], axis: Axis) -> int:
    """Return into how many parts the elements along an axis divide a tensor."""
    return share_of([s for s in shares if s.variable in access.rank_variables], axis)


def least_values(access: TensorAccess, local: Mapping[str, int]) -> int:
    """Return how many values of a tensor all tiles of a share have together at least.

    `local`: values of each rank variable in the share. Tiles may leave out what the share spans: of
    `A[2 * p]` with p = 4, which spans 7 values, tiles of one value have 4; of `A[m, m]` with m = 4
    the tiles of the diagonal have 4 of 16. A rank counts whole if its indices have no gaps, else by
    its largest variable; and only if no rank before it has one of its variables.
    """
    size, used = 1, set[str]()
    for _, form in access.projection:
        names = {name for name, _ in form.terms}
        if names & used:
            continue
        used |= names
        size *= (
            form.extent(local) if _has_no_gaps(form, local) else max(local[name] for name in names)
        )
    return size


def _has_no_gaps(form: Affine, local: Mapping[str, int]) -> bool:
    """Return whether the positions of an index over a share are all that it spans."""
    reach = form.point_extent
    for name, factor in sorted(form.terms, key=lambda term: abs(term[1])):
        if local[name] > 1 and abs(factor) > reach:
            return False
        reach += abs(factor) * (local[name] - 1)
    return True
