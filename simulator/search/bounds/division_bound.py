"""Lower bounds of cycles and energy for all mappings that divide the work of an Einsum alike.

They hold whatever tiles pass, tensors stay or shift, and schemes add up (theory/grid.md §7): so
divisions with more work than the least can be left out without looking at their mappings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, prod
from typing import Final, NamedTuple

import numpy as np

from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.grid.grid_shares import local_sizes
from tilewright.mapper.grid.number_types import dtype_of, values_per_wavelet
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.workload.einsum import Affine, TensorAccess
from tilewright.simulator.lowering.lower_bound.cycle_bound import AXES
from tilewright.simulator.lowering.lower_bound.stream_cycles import way_in, words_end
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.search.bounds.border_streams import InputLines, ResultExit
from tilewright.simulator.search.bounds.element_cycles import ElementCycles
from tilewright.simulator.search.bounds.elementwise import Numbers, by_several, chosen, least, most
from tilewright.simulator.search.bounds.family_energy import BorderWords, FamilyEnergy
from tilewright.simulator.search.bounds.family_tiles import Alike, FamilyTiles, Shares
from tilewright.simulator.search.bounds.quick_bound import QuickBound

PAIR: Final = 2
"""Values that a wavelet has at most: an even number of 16 bits goes in pairs."""


class _Way(NamedTuple):
    """How an input may enter the grid: its lines and its words, and whether it is a way at all."""

    lines: InputLines
    words: Numbers
    is_open: Numbers

    def on_line(self, is_counted: Numbers) -> Numbers:
        """Return the words of a stream where it counts, 0 where it does not, inf without a way."""
        words = chosen(is_counted, self.words // self.lines.number, 0)
        return chosen(self.is_open, words, inf)


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
        return self._element.work.least_point

    def cycles(self, shares: Shares) -> float:
        """Return a number of cycles that no execution of a mapping with this division goes below.

        It is that of an element with its operations and transfers, or that in which the words of a
        line have crossed its last link.
        """
        return float(self._cycles(FamilyTiles.of(self._space, self._family(shares, None))))

    def energy(self, shares: Shares) -> float:
        """Return an energy (J) that no mapping with this division goes below, leakage left out.

        The links that words cross from the border are left out.
        """
        scalars = self._space.scalars(local_sizes(self._space.einsum, shares))
        families = [self._family(shares, scalar) for scalar in scalars]
        return min(float(self._joules(FamilyTiles.of(self._space, f))) for f in families)

    def together(
        self, divisions: Sequence[Shares], *, has_energy: bool
    ) -> list[tuple[float, float]]:
        """Return the cycles and the energy (J) of many divisions, each as the functions for one.

        has_energy: whether the energy is asked for; it is 0 otherwise.
        """
        if not divisions:
            return []
        if not self.quick.has_exact_numbers:
            return [(self.cycles(s), self.energy(s) if has_energy else 0.0) for s in divisions]
        cycles = self._cycles(self._together(divisions, None))
        energy = self._energies(divisions) if has_energy else 0.0
        arrays = np.broadcast_arrays(cycles * 1.0, energy, np.empty(len(divisions)))[:-1]
        return list(zip(*(array.tolist() for array in arrays), strict=True))

    def _energies(self, divisions: Sequence[Shares]) -> Numbers:
        """Return the least energy (J) of each of many divisions, by the inputs in the register."""
        energy = np.full(len(divisions), inf)
        for scalar, may_stand in self._standing(self._together(divisions, None)).items():
            numbers = np.flatnonzero(may_stand).tolist()
            tiles = self._together([divisions[number] for number in numbers], scalar)
            energy[numbers] = least(energy[numbers], self._joules(tiles))
        return energy

    def _standing(self, tiles: FamilyTiles) -> Mapping[str | None, Numbers]:
        """Return the inputs that the register may hold, each with whether it may: None for unused.

        That follows from the rank variables with more than one value in the share.
        """
        scalars, local = self._space.scalars, tiles.local
        if tiles.alike is None:
            return dict.fromkeys(scalars(dict(local)), True)
        number = len(tiles.alike.families)
        standing: dict[str | None, Numbers] = {}
        for several, places in by_several(local, number):
            for scalar in scalars({name: 1 + (name in several) for name in local}):
                standing.setdefault(scalar, np.zeros(number, dtype=bool))[places] = True
        return standing

    def _together(self, divisions: Sequence[Shares], scalar: str | None) -> FamilyTiles:
        families = [self._family(shares, scalar) for shares in divisions]
        return FamilyTiles.together(self._space, Alike.of(families))

    def _family(self, shares: Shares, scalar: str | None) -> GridFamily:
        """Return the mappings that work on the whole share at once, as much in the elements."""
        return GridFamily(shares, None, self._resident, scalar, buffers=1)

    @cached_property
    def _resident(self) -> frozenset[str]:
        return max(self._space.residence(), key=len)

    def _joules(self, whole: FamilyTiles) -> Numbers:
        """Return the least energy (J) of families and of those that cut their shares into tiles.

        It goes up or down with the values of the output, so that both ends are tried. `whole`: of
        the families that work on the whole share at once.
        """
        tiles = self._least(whole)
        elements = prod(whole.elements)
        entered = {
            access.tensor: BorderWords(_parts(access, tiles) * values, elements * values, 0)
            for access, values in self._entering(tiles, tiles.inputs)
        }
        ends = tiles, replace(tiles, output=whole.output)
        each = least(*(self._energy.of(end, None, entered) for end in ends))
        return each * self._space.einsum.n_instances

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

    def _cycles(self, whole: FamilyTiles) -> Numbers:
        """Return the least cycles of families, and of those that cut their shares into tiles."""
        tiles = self._least(whole)
        entering = self._entering(tiles, tiles.input_words)
        ways = [list(self._ways(access, words, tiles)) for access, words in entering]
        ends = (least(*(self._way_end(way) for way in each)) for each in ways)
        lines = (self._line_end(axis, ways, tiles) for axis in AXES)
        column = self._first_column_end(ways, tiles)
        channels = self._profile.border_channels
        left = 0 if self._space.output_stays else self._exit_end(tiles, channels)
        return most(self._element_end(tiles), column, left, *ends, *lines)

    @staticmethod
    def _exit_end(tiles: FamilyTiles, channels: int) -> Numbers:
        """Return the least cycle at which all results have left over the border."""
        return ResultExit.of(tiles, channels).end(tiles.output_words, 1, 0)

    def _entering(
        self, tiles: FamilyTiles, numbers: Sequence[Numbers]
    ) -> Iterator[tuple[TensorAccess, Numbers]]:
        """Yield the inputs that come over the border, each with its one of these numbers."""
        for access, number in zip(self._space.einsum.inputs, numbers, strict=True):
            if access.tensor not in tiles.family.resident:
                yield access, number

    def _element_end(self, tiles: FamilyTiles) -> Numbers:
        standing = self._standing(tiles).items()
        work = least(
            *(chosen(m, self._element.work.least_work(tiles.local, s), inf) for s, m in standing)
        )
        received = sum(words for _, words in self._entering(tiles, tiles.input_words))
        leaves = most(*tiles.groups) > 1 if self._space.output_stays else True
        return work + self._element.least_transfers(received + leaves * tiles.output_words)

    def _ways(self, access: TensorAccess, words: Numbers, tiles: FamilyTiles) -> Iterator[_Way]:
        """Yield the ways of an input: to all elements that need it, or to one each of a ring."""
        entered = _parts(access, tiles) * words
        yield _Way(InputLines.of(tiles, access, None), entered, is_open=True)
        if self._space.constraints.allows("movement", "shift"):
            for axis in AXES:
                is_open = tiles.parts(access, axis) == 1
                yield _Way(InputLines.of(tiles, access, axis), entered, is_open)

    def _way_end(self, way: _Way) -> Numbers:
        """Return the least cycle at which the words of an input have come by a way; inf if none."""
        interval = -(-way.lines.number // self._profile.border_channels)
        entered = (way.words / way.lines.number - 1) * interval + 1
        return chosen(way.is_open, entered + way_in(way.lines.links_to_last, self._profile), inf)

    def _line_end(self, axis: Axis, ways: list[list[_Way]], tiles: FamilyTiles) -> Numbers:
        """Return the least cycle at which all words have crossed the last link along an axis."""
        words = sum(least(*(way.on_line(way.lines.crosses(axis)) for way in each)) for each in ways)
        if axis == "Y":
            words = words + self._gathered(tiles)
        links = least(tiles.elements[AXES.index(axis)] - 1, 1)
        return words_end(words, links, self._profile)

    def _first_column_end(self, ways: list[list[_Way]], tiles: FamilyTiles) -> Numbers:
        """Return the least cycle at which all words have come down the first column.

        Those of the whole grid go down it, too.
        """
        words = sum(least(*(way.on_line(way.lines.goes_down) for way in each)) for each in ways)
        words = words + chosen(tiles.groups[0] == 1, self._gathered(tiles), 0)
        return words_end(words, least(tiles.elements[1] - 1, 1), self._profile)

    def _gathered(self, tiles: FamilyTiles) -> Numbers:
        """Return the words of results that the last element of a column with results passes on."""
        if self._space.output_stays:
            return 0
        columns, rows = tiles.groups
        heads = tiles.elements[1] // rows
        gathers = (heads > 1) & (columns < tiles.elements[0])
        return chosen(gathers, (heads - 1) * tiles.output_words, 0)


def _parts(access: TensorAccess, tiles: FamilyTiles) -> Numbers:
    """Return into how many parts elements divide an input."""
    return prod(tiles.parts(access, axis) for axis in AXES)


def least_values(access: TensorAccess, local: Mapping[str, Numbers]) -> Numbers:
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
        largest = most(0, *(local[name] for name in names))
        size = size * chosen(_has_no_gaps(form, local), form.extent(local), largest)
    return size


def _has_no_gaps(form: Affine, local: Mapping[str, Numbers]) -> Numbers:
    """Return whether the positions of an index over a share are all that it spans."""
    reach, is_whole = form.point_extent, True
    for name, factor in sorted(form.terms, key=lambda term: abs(term[1])):
        is_whole = is_whole & ((local[name] == 1) | (abs(factor) <= reach))
        reach = reach + abs(factor) * (local[name] - 1)
    return is_whole
