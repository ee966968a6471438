"""Lower bounds of cycles and energy for a family of mappings, from closed formulas, without plans.

A bound leaves out what differs inside the family (the order of a reduction) and what takes long to
find (conflicts, distances of most elements), so that it is never above the bound of a plan of the
family (theory/grid.md §6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf, prod
from typing import Final, NamedTuple

import numpy as np

from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.memo import IdentityCache
from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.grid.number_types import dtype_of
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping, OverfilledMemory
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.lowering.addresses import free_words
from tilewright.simulator.lowering.elementary import COMPUTE
from tilewright.simulator.lowering.lower_bound.cycle_bound import AXES
from tilewright.simulator.lowering.lower_bound.stream_cycles import way_in, words_end
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.search.bounds.border_streams import (
    BorderStream,
    ResultExit,
    border_streams,
)
from tilewright.simulator.search.bounds.element_cycles import ElementCycles, SumCount
from tilewright.simulator.search.bounds.elementwise import Numbers, chosen, least, most
from tilewright.simulator.search.bounds.family_energy import FamilyEnergy
from tilewright.simulator.search.bounds.family_tiles import (
    Alike,
    FamilyTiles,
    Integers,
    alike_among,
)
from tilewright.simulator.search.bounds.group_sums import GroupSums, SummedTile, SumsOfGroups

EXACT: Final = 1 << 52
"""Sizes of a workload below which arrays of integers and floats hold all numbers of its bounds."""


class FamilyBound(NamedTuple):
    """Lower bounds of one family among many.

    `cycles`: None if no mapping of it can be built; `energy`: J, leakage left out. `words`: 16-bit
    words of an element that its tiles need at least, `persistent`: those of its persistent tensors
    among them. `members`: its mappings, one for each scheme of the reduction.
    """

    cycles: float | None
    energy: float
    words: int
    persistent: int
    members: int


@dataclass(frozen=True)
class QuickBound:
    """Lower bounds of cycles and energy for the families of a mapspace on one machine.

    `space`: the mapspace; `flat`: path of components to the compute; `profile`: the machine.
    """

    space: GridMapspace
    flat: FlatArch
    profile: Profile

    @cached_property
    def leak_power(self) -> float:
        """Leakage power in W of all instances of all components."""
        return sum(
            c.leak_power * c.parent_fanout * c.own_fanout
            for c in (*self.flat.components, *self.flat.beside)
        )

    @property
    def least_cycles(self) -> float:
        """Cycles that no mapping of the Einsum goes below, whatever tensors stay in the elements.

        Those of the operations, if all elements have as many points.
        """
        elements = self.space.grid.columns * self.space.grid.rows
        return (
            -(-prod(self.space.einsum.bounds.values()) // elements) * self._element.work.least_point
        )

    @cached_property
    def _element(self) -> ElementCycles:
        return ElementCycles(self.space, self.profile)

    def _tiles(self, family: GridFamily) -> FamilyTiles:
        """Return the sizes of a family; the last ones are kept."""
        tiles: FamilyTiles = self._last.of(
            family, "tiles", partial(FamilyTiles.of, self.space, family)
        )
        return tiles

    @cached_property
    def _last(self) -> IdentityCache:
        return IdentityCache(1)

    @cached_property
    def _sums(self) -> SumsOfGroups:
        return SumsOfGroups(self.space, self.profile)

    @cached_property
    def _energy(self) -> FamilyEnergy:
        return FamilyEnergy(self.space, self.flat)

    def energy(self, family: GridFamily, reduction: str | None = None) -> float:
        """Return an energy (J) that no mapping of a family goes below, leakage left out.

        `reduction`: scheme of the mappings; None for all of the family. Raises InfeasibleMapping if
        more words enter than a port takes.
        """
        tiles = self._tiles(family)
        return float(self._energy_of(tiles, self._checked(tiles), reduction))

    def cycles(
        self, family: GridFamily, reduction: str | None = None, alone: BodyCycles | None = None
    ) -> float:
        """Return a number of cycles that no execution of a mapping of a family goes below.

        `reduction`: scheme of the mappings; None for all of the family. `alone`: the cycles of an
        element that neither adds nor sends, by a plan of the family; None: by closed formulas.
        Raises InfeasibleMapping if the tiles do not fit an element, or more words enter than a port
        takes.
        """
        tiles = self._tiles(family)
        if self._words(tiles) > self.free_words:
            raise OverfilledMemory(self._too_small)
        texts = (reduction,) if reduction else tuple(self.space.schemes(family, tiles.output))
        streams, sums = self._checked(tiles), self._sums.of(SummedTile.of(tiles), texts)
        alone = self._element.alone(tiles) if alone is None else alone
        return float(self._cycles(tiles, streams, sums, alone))

    def alone_cycles(self, family: GridFamily, vector: tuple[str, ...]) -> float:
        """Return cycles that no element which neither adds nor sends goes below, for some orders.

        `vector`: the rank variables of the vector operation, outermost first; the loops around it
        stand in any order.
        """
        return float(self._element.alone_with(self._tiles(family), vector))

    def together(
        self, families: Sequence[GridFamily], *, has_energy: bool = False
    ) -> list[FamilyBound]:
        """Return the bounds of many families, each as the functions for one family give them.

        has_energy: whether the energy is asked for; it is 0 otherwise.
        """
        if not self.has_exact_numbers:
            return [self._bound_of(family, has_energy=has_energy) for family in families]
        bounds: dict[int, FamilyBound] = {}
        for numbers, several in alike_among(families):
            found = self._bounds_of(several, has_energy=has_energy)
            bounds.update(zip(numbers, found, strict=True))
        return [bounds[number] for number in range(len(families))]

    @cached_property
    def has_exact_numbers(self) -> bool:
        """Whether numbers of values and operations, and their products with sizes, are exact in
        arrays: integers of 64 bits."""
        einsum = self.space.computed
        values = (access.tile_size(einsum.bounds) for access in einsum.accesses)
        return max(einsum.operations, *values) * einsum.n_instances < EXACT

    def _bound_of(self, family: GridFamily, *, has_energy: bool) -> FamilyBound:
        members = len(self.space.members(family))
        try:
            cycles: float | None = self.cycles(family)
            energy = self.energy(family) if has_energy else 0.0
        except InfeasibleMapping:
            cycles, energy = None, 0.0
        words, persistent = self.words(family), self.persistent_words(family)
        return FamilyBound(cycles, energy, words, persistent, members)

    def _bounds_of(self, alike: Alike, *, has_energy: bool) -> list[FamilyBound]:
        tiles = FamilyTiles.together(self.space, alike)
        streams, sums = self._streams(tiles), self._sums.together(tiles, alike)
        words = self._words(tiles)
        refused = words > self.free_words
        for stream in streams:
            refused = refused | stream.enters_too_much | stream.is_filtered_too_long
        try:
            cycles = self._cycles(tiles, streams, sums, self._element.alone(tiles))
        except InfeasibleMapping:  # there is no instruction, for any of them
            cycles, refused = inf, True
        energy = self._energy_of(tiles, streams, None) if has_energy else 0.0
        columns = cycles, refused, energy, words, self._persistent(tiles), sums.schemes
        arrays = np.broadcast_arrays(*columns, alike.number)[:-1]
        return [
            FamilyBound(*((None, 0.0) if is_refused else (bound, joules)), *numbers)
            for bound, is_refused, joules, *numbers in zip(
                *(array.tolist() for array in arrays), strict=True
            )
        ]

    def _energy_of(
        self, tiles: FamilyTiles, streams: Sequence[BorderStream], reduction: str | None
    ) -> Numbers:
        entered = {stream.access.tensor: stream.crossing for stream in streams}
        return self._energy.of(tiles, reduction, entered) * self.space.einsum.n_instances

    def _cycles(
        self,
        tiles: FamilyTiles,
        streams: Sequence[BorderStream],
        sums: GroupSums,
        alone: BodyCycles,
    ) -> Numbers:
        """Return the bound from its parts, of one family or of many."""
        last = self._last_sums(tiles, sums)
        ends = (
            stream.entered
            + way_in(stream.lines.links_to_last, self.profile)
            + self._behind(stream.access, tiles, alone, last)
            for stream in streams
        )
        results = {"X": sums.crosses_x * 1, "Y": sums.crosses_y + last.passed}
        lines = (self._line_end(tiles, axis, streams, results[axis]) for axis in AXES)
        column = self._first_column_end(tiles, streams, results["Y"], alone)
        main = self._element.with_sums(tiles, alone, last)
        added = self._delay(streams, alone) + self._sums_end(tiles, sums, alone)
        return most(main, added, column, self._exit_end(tiles, added), *ends, *lines)

    def _exit_end(self, tiles: FamilyTiles, added: Numbers) -> Numbers:
        """Return the least cycle at which the last result has left over the border.

        added: when the last sums are done, whose words leave one after the other.
        """
        channels, grid = self.profile.border_channels, self.space.grid
        if self.space.output_stays or max(grid.columns, grid.rows) <= channels:
            return 0
        words, turns = tiles.output_words, tiles.turns(self.space.einsum.outputs[0])
        begun = added - self._element.words(words)
        begun = begun - chosen(prod(tiles.groups) == 1, self._element.load, 0)
        return ResultExit.of(tiles, channels).end(words, turns, begun)

    # -- sums and results ------------------------------------------------------------------

    def _last_sums(self, tiles: FamilyTiles, sums: GroupSums) -> SumCount:
        """Return what the last element does at least with each tile of the output.

        It receives a sum along each axis with a group, or one of a snake. If results are gathered
        along columns, it also passes on the results of all other elements of its column. A result
        that it makes f16 of is in its memory before.
        """
        stays = self.space.output_stays
        columns, rows = tiles.groups
        sends = sums.received + 1 if self.space.narrows else most(sums.received, int(not stays))
        operations = chosen(sums.has_ring, 1, sends + tiles.family.shared)  # all words, in parts
        if stays:
            return SumCount(operations, 0)
        heads = tiles.elements[1] // rows
        gathers = (heads > 1) & (columns < tiles.elements[0])
        return SumCount(operations, chosen(gathers, heads - 1, 0))

    def _sums_end(self, tiles: FamilyTiles, sums: GroupSums, alone: BodyCycles) -> Numbers:
        """Return the cycles of an element's work and, after it, of the sums of its group.

        All elements of a group begin at once with the last tile, and follow the fastest scheme.
        `alone`: cycles of an element without sums.
        """
        element, (columns, rows) = self._element, tiles.groups
        sent = element.with_sums(tiles, alone, SumCount(int(not self.space.output_stays)))
        operation = element.load + element.words(tiles.output_words)
        behind = alone.since.get(COMPUTE, alone.total) + operation * (not self.space.narrows)
        added = element.with_sums(tiles, alone, SumCount(1)) - behind + sums.cycles
        return chosen(columns * rows == 1, sent, added)

    # -- streams ---------------------------------------------------------------------------

    def _behind(
        self, access: TensorAccess, tiles: FamilyTiles, alone: BodyCycles, sums: SumCount
    ) -> Numbers:
        """Return the cycles that the last element needs after its last word of an input.

        They are those of the work behind it, and of its sums. `alone`: cycles of an element without
        sums; `sums`: what the last element does with them.
        """
        element = self._element
        behind = alone.since.get(f"receive {access.tensor}", 0.0)
        if tiles.family.buffers > 1 or self.space.output_stays:
            return behind
        words = element.words(tiles.output_words) * (sums.operations + sums.passed)
        return behind + element.load * sums.operations + words

    def _line_end(
        self, tiles: FamilyTiles, axis: Axis, streams: Sequence[BorderStream], results: Numbers
    ) -> Numbers:
        """Return the least cycle at which all words have crossed the last link along an axis.

        results: number of tiles of sums and results among them.
        """
        links = tiles.elements[AXES.index(axis)] - 1
        words = sum(chosen(s.lines.crosses(axis), s.full_length, 0) for s in streams)
        words = words + results * tiles.output_words * tiles.turns(self.space.einsum.outputs[0])
        return words_end(words, chosen(results > 0, least(links, 1), links), self.profile)

    def _first_column_end(
        self,
        tiles: FamilyTiles,
        streams: Sequence[BorderStream],
        results: Numbers,
        alone: BodyCycles,
    ) -> Numbers:
        """Return the least cycle at which all words down the first column are taken.

        results: number of tiles of sums and results that cross the last link of a column in which
        sums end. `alone`: cycles of an element without sums. 0 without streams of the whole grid.
        """
        if not streams:
            return 0.0
        links = tiles.elements[1] - 1
        words = sum(chosen(s.lines.goes_down, s.full_length, 0) for s in streams)
        behind = least(
            *(
                chosen(s.lines.goes_down, alone.since.get(f"receive {s.access.tensor}", 0.0), inf)
                for s in streams
            )
        )
        passed = words + results * tiles.output_words * tiles.turns(self.space.einsum.outputs[0])
        last = words_end(words, links, self.profile) + chosen(links > 0, behind, 0.0)
        with_results = words_end(passed, least(links, 1), self.profile)
        end = chosen((tiles.groups[0] == 1) & (results > 0), with_results, last)
        return chosen(sum(s.lines.serves_all for s in streams) > 0, end, 0.0)

    def _delay(self, streams: Sequence[BorderStream], alone: BodyCycles) -> Numbers:
        """Return by how many cycles the last group begins late, as its first tiles come late.

        That is the cycle in which one of them has arrived, less the cycles until an element without
        waiting has it. `alone`: cycles of such an element.
        """
        late = [0.0]
        for stream in streams:
            way = way_in(stream.lines.links_to_group, self.profile)
            entered = (stream.tile_words - 1) * stream.interval + 1
            arrived = way + most(self._element.words(stream.tile_words), entered)
            received = alone.until.get(f"receive {stream.access.tensor}", alone.total)
            late.append(arrived - received)
        return most(*late)

    def _streams(self, tiles: FamilyTiles) -> Sequence[BorderStream]:
        return border_streams(self.space, tiles, self.profile.border_channels)

    def _checked(self, tiles: FamilyTiles) -> Sequence[BorderStream]:
        """Return the streams of one family's inputs that come over the border.

        Raises InfeasibleMapping if one of them is too long.
        """
        streams: Sequence[BorderStream] = self._last.of(
            tiles.family, "streams", partial(self._streams, tiles)
        )
        for stream in streams:
            stream.check()
        return streams

    # -- memory ----------------------------------------------------------------------------

    def words(self, family: GridFamily) -> int:
        """Return the least number of 16-bit words of an element that the tiles of a family need."""
        return int(self._words(self._tiles(family)))

    def words_together(self, families: Sequence[GridFamily]) -> tuple[Integers, Integers]:
        """Return `words` and `persistent_words` of many families, one number for each."""
        words, persistent = np.zeros((2, len(families)), dtype=np.int64)
        for numbers, several in alike_among(families):
            tiles = FamilyTiles.together(self.space, several)
            words[numbers], persistent[numbers] = self._words(tiles), self._persistent(tiles)
        return words, persistent

    def _words(self, tiles: FamilyTiles) -> Numbers:
        return sum(words for _, words in self._held_words(tiles))

    def _held_words(self, tiles: FamilyTiles) -> Iterator[tuple[str, Numbers]]:
        """Yield (tensor, 16-bit words of its tiles in an element) of all tensors."""
        held = zip(self._wide.items(), (*tiles.inputs, tiles.output), strict=True)
        buffers, persistent = tiles.family.buffers, tiles.family.resident - self.space.staying
        for (tensor, wide), values in held:
            each = wide * values * (buffers if tensor in tiles.passing else 1)
            yield tensor, each * (self.space.einsum.n_instances if tensor in persistent else 1)

    def persistent_words(self, family: GridFamily) -> int:
        """Return the 16-bit words of an element that the persistent tensors of a family take.

        They are in the elements before the workload runs, and after it.
        """
        return int(self._persistent(self._tiles(family)))

    def _persistent(self, tiles: FamilyTiles) -> Numbers:
        persistent = tiles.family.resident - self.space.staying
        return sum(words for tensor, words in self._held_words(tiles) if tensor in persistent)

    @cached_property
    def _wide(self) -> dict[str, int]:
        """16-bit words of a value of each input, in their order, and of the output."""
        einsum = self.space.computed
        accesses = (*einsum.inputs, einsum.outputs[0])
        return {access.tensor: DTYPES[dtype_of(access, einsum)] for access in accesses}

    @cached_property
    def _too_small(self) -> str:
        """The reason of tiles that do not fit: without their size, so that it is one for all."""
        memory, reserved = self.space.grid.memory, self.profile.sram_reserved_bytes
        kept = f", of which the machine's own code takes {reserved:,}" if reserved else ""
        return f"{memory.name} of an element is too small ({int(memory.size) // 8:,} bytes{kept})"

    @cached_property
    def free_words(self) -> int:
        """Number of 16-bit words of an element's memory that tiles may use."""
        return free_words(self.space.grid, self.profile.sram_reserved_bytes)
