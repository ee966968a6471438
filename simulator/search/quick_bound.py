"""Lower bounds of cycles and energy for a family of mappings, from closed formulas, without plans.

A bound leaves out what differs inside the family (the order of a reduction) and what takes long to
find (conflicts, distances of most elements), so that it is never above the bound of a plan of the
family (theory/grid.md §6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from math import prod
from typing import NamedTuple

from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.memo import IdentityCache
from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.grid.host_streams import Lines, line_streams, links_to_last
from tilewright.mapper.grid.number_types import dtype_of
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.grid.schemes.reduction_scheme import ReductionScheme, reduction_scheme
from tilewright.mapper.grid.schemes.ring_reduction import RingReduction, values_together
from tilewright.mapper.grid.schemes.snake import Snake
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping, OverfilledMemory
from tilewright.simulator.check.route_check import MAX_FILTER_COUNT, MAX_STREAM
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.lowering.addresses import free_words
from tilewright.simulator.lowering.cycle_bound import (
    AXES,
    crosses_line,
    sums_cross,
    way_in,
    words_end,
)
from tilewright.simulator.lowering.kernel import COMPUTE
from tilewright.simulator.lowering.rings.ring_bound import ring_cycles
from tilewright.simulator.lowering.sums.sum_chains import sums_cycles, way_back
from tilewright.simulator.lowering.task_cycles import BodyCycles
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.search.element_cycles import (
    ElementCycles,
    FamilyTiles,
    SumCount,
    share_of,
)
from tilewright.simulator.search.family_energy import BorderWords, FamilyEnergy


@dataclass(frozen=True, slots=True)
class _Stream:
    """The longest border stream of an input.

    `access`: of the input. `lines`: whether it serves a row, a column or the whole grid.
    `tile_words`: of a tile; `words`: of the stream; `entered`: of all streams of the input. `way`,
    `way_to_group`: cycles of a word from the border to the last element, and to the first one of
    its group.
    """

    access: TensorAccess
    lines: Lines
    tile_words: int
    words: float
    entered: BorderWords
    way: float
    way_to_group: float


@lru_cache(maxsize=4096)
def _schemes(texts: tuple[str, ...]) -> tuple[ReductionScheme, ...]:
    """Return the schemes of reductions that are written so."""
    return tuple(map(reduction_scheme, texts))


class _GroupSums(NamedTuple):
    """What the last element of a group has in common under several schemes of its reduction.

    `received`: the least number of sums that it gets; `crosses`: by axis, whether one comes along
    it under all schemes. `has_ring`: whether one of them goes round a ring.
    """

    received: int
    crosses: dict[Axis, bool]
    has_ring: bool


@lru_cache(maxsize=4096)
def _group_sums(groups: tuple[int, int], texts: tuple[str, ...]) -> _GroupSums:
    orders = [scheme.order for scheme in _schemes(texts)]
    crossed = [[sums_cross(groups, axis, order) for axis in AXES] for order in orders]
    every = (all(each) for each in zip(*crossed, strict=True))
    return _GroupSums(min(map(sum, crossed)), dict(zip(AXES, every, strict=True)), "ring" in orders)


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
        return -(-prod(self.space.einsum.bounds.values()) // elements) * self._element.least_point

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

    def _streams(self, family: GridFamily) -> Sequence[_Stream]:
        """Return the streams of a family's inputs that come over the border; the last are kept.

        Raises InfeasibleMapping if more words enter than a port takes.
        """
        streams: Sequence[_Stream] = self._last.of(
            family, "streams", partial(self._streams_of, family)
        )
        return streams

    @cached_property
    def _energy(self) -> FamilyEnergy:
        return FamilyEnergy(self.space, self.flat)

    def energy(self, family: GridFamily, reduction: str | None = None) -> float:
        """Return an energy (J) that no mapping of a family goes below, leakage left out.

        `reduction`: scheme of the mappings; None for all of the family.
        """
        tiles = self._tiles(family)
        entered = {stream.access.tensor: stream.entered for stream in self._streams(family)}
        return self._energy.of(tiles, reduction, entered) * self.space.einsum.n_instances

    def cycles_alone(self, family: GridFamily) -> float:
        """Return the cycles of an element of a family that waits for nothing, with the fewest sums.

        No mapping of the family goes below it; it takes a third of the time of `cycles`, which
        looks at the schemes of the reduction. Raises InfeasibleMapping if the tiles do not fit.
        """
        tiles = self._fitting_tiles(family)
        fewest = _GroupSums(int(prod(tiles.groups) > 1), {}, has_ring=family.shared)
        sums = self._last_sums(tiles, fewest)
        return self._element.with_sums(tiles, self._element.alone(tiles), sums)

    def _fitting_tiles(self, family: GridFamily) -> FamilyTiles:
        tiles = self._tiles(family)
        if self._words(tiles) > self.free_words:
            raise OverfilledMemory(self._too_small)
        return tiles

    def cycles(
        self, family: GridFamily, reduction: str | None = None, alone: BodyCycles | None = None
    ) -> float:
        """Return a number of cycles that no execution of a mapping of a family goes below.

        `reduction`: scheme of the mappings; None for all of the family. `alone`: the cycles of an
        element that neither adds nor sends, by a plan of the family; None: by closed formulas.
        Raises InfeasibleMapping if the tiles do not fit an element.
        """
        tiles = self._fitting_tiles(family)
        texts = (reduction,) if reduction else tuple(self.space.reductions(family))
        sums_of, streams = _group_sums(tiles.groups, texts), self._streams(family)
        last = self._last_sums(tiles, sums_of)
        if alone is None:
            alone = self._element.alone(tiles)
        ends = (
            stream.words + stream.way + self._behind(stream.access, tiles, alone, last)
            for stream in streams
        )
        crosses = sums_of.crosses
        results = {"X": int(crosses["X"]), "Y": crosses["Y"] + last.passed}
        lines = (self._line_end(tiles, axis, streams, results[axis]) for axis in AXES)
        column = self._first_column_end(tiles, streams, results["Y"], alone)
        main = self._element.with_sums(tiles, alone, last)
        sums = self._delay(streams, alone) + self._sums_end(tiles, texts, alone)
        return max(main, sums, column, *ends, *lines)

    # -- sums and results ------------------------------------------------------------------

    def _last_sums(self, tiles: FamilyTiles, sums: _GroupSums) -> SumCount:
        """Return what the last element does at least with each tile of the output.

        It receives a sum along each axis with a group, or one of a snake. If results are gathered
        along columns, it also passes on the results of all other elements of its column. A result
        that it makes f16 of is in its memory before.
        """
        stays = self.space.output_stays
        columns, rows = tiles.groups
        sends = sums.received + 1 if self.space.narrows else max(sums.received, not stays)
        operations = sends + tiles.family.shared
        if sums.has_ring:  # all words of a tile, in parts
            operations = 1
        heads = tiles.elements[1] // rows
        gathers = not stays and heads > 1 and columns < tiles.elements[0]
        return SumCount(operations, heads - 1 if gathers else 0)

    def _sums_end(self, tiles: FamilyTiles, texts: tuple[str, ...], alone: BodyCycles) -> float:
        """Return the cycles of an element's work and, after it, of the sums of its group.

        All elements of a group begin at once with the last tile, and follow the fastest scheme.
        `texts`: the schemes; `alone`: cycles of an element without sums.
        """
        element = self._element
        if prod(tiles.groups) == 1:
            return element.with_sums(tiles, alone, SumCount(int(not self.space.output_stays)))
        operation = element.load + element.words(tiles.output_words)
        key = tiles.groups, texts, tiles.output, tiles.family.shared
        if key not in self._known_sums:
            self._known_sums[key] = self._sums_cycles(tiles, texts)
        behind = alone.since.get(COMPUTE, alone.total) + operation * (not self.space.narrows)
        return element.with_sums(tiles, alone, SumCount(1)) - behind + self._known_sums[key]

    def _sums_cycles(self, tiles: FamilyTiles, texts: tuple[str, ...]) -> float:
        """Return the cycles of the sums of a group by the fastest scheme.

        A result that is shared goes all the way back.
        """
        groups, profile, words = tiles.groups, self.profile, tiles.output_words
        dtype = dtype_of(self.space.computed.outputs[0], self.space.computed)
        together = values_together(prod(groups), tiles.output, dtype)
        ring = RingReduction(Snake(*groups), tiles.output, together)
        back = way_back(groups, words, profile) if tiles.family.shared else 0.0
        return min(
            ring_cycles(ring, profile)
            if scheme.order == "ring"
            else sums_cycles(groups, scheme, words, profile) + back
            for scheme in _schemes(texts)
        )

    @cached_property
    def _known_sums(self) -> dict[tuple[tuple[int, int], tuple[str, ...], int, bool], float]:
        return {}

    # -- streams ---------------------------------------------------------------------------

    def _behind(
        self, access: TensorAccess, tiles: FamilyTiles, alone: BodyCycles, sums: SumCount
    ) -> float:
        """Return the cycles that the last element needs after its last word of an input.

        They are those of the work behind it, and of its sums. `alone`: cycles of an element without
        sums; `sums`: what the last element does with them.
        """
        element = self._element
        behind = alone.since.get(f"receive {access.tensor}", 0.0)
        if tiles.family.buffers == 1 and not self.space.output_stays:
            behind += element.load * sums.operations
            behind += element.words(tiles.output_words) * (sums.operations + sums.passed)
        return behind

    def _line_end(
        self, tiles: FamilyTiles, axis: Axis, streams: Sequence[_Stream], results: int
    ) -> float:
        """Return the least cycle at which all words have crossed the last link along an axis.

        results: number of tiles of sums and results among them.
        """
        elements = tiles.elements[AXES.index(axis)]
        words = sum(int(s.words) for s in streams if crosses_line(s.lines, axis))
        words += results * tiles.output_words * tiles.turns(self.space.einsum.outputs[0])
        links = min(elements - 1, 1) if results else elements - 1
        return words_end(words, links, self.profile)

    def _first_column_end(
        self, tiles: FamilyTiles, streams: Sequence[_Stream], results: int, alone: BodyCycles
    ) -> float:
        """Return the least cycle at which all words down the first column are taken.

        results: number of tiles of sums and results that cross the last link of a column in which
        sums end. `alone`: cycles of an element without sums. 0 without streams of the whole grid.
        """
        passing = [stream for stream in streams if stream.lines != "rows"]
        if all(stream.lines == "columns" for stream in passing):
            return 0.0
        words, links = sum(int(stream.words) for stream in passing), tiles.elements[1] - 1
        if tiles.groups[0] == 1 and results:
            words += results * tiles.output_words * tiles.turns(self.space.einsum.outputs[0])
            return words_end(words, min(links, 1), self.profile)
        behind = min(alone.since.get(f"receive {s.access.tensor}", 0.0) for s in passing)
        return words_end(words, links, self.profile) + behind * (links > 0)

    def _delay(self, streams: Sequence[_Stream], alone: BodyCycles) -> float:
        """Return by how many cycles the last group begins late, as its first tiles come late.

        That is the cycle in which one of them has arrived, less the cycles until an element without
        waiting has it. `alone`: cycles of such an element.
        """
        late = [0.0]
        for stream in streams:
            arrived = stream.way_to_group + self._element.words(stream.tile_words)
            received = alone.until.get(f"receive {stream.access.tensor}", alone.total)
            late.append(arrived - received)
        return max(late)

    def _streams_of(self, family: GridFamily) -> list[_Stream]:
        tiles = self._tiles(family)
        inputs = zip(self.space.einsum.inputs, tiles.inputs, tiles.input_words, strict=True)
        resident_tensors = family.resident
        return [
            self._stream(access, tiles, values, words)
            for access, values, words in inputs
            if access.tensor not in resident_tensors
        ]

    def _stream(self, access: TensorAccess, tiles: FamilyTiles, values: int, words: int) -> _Stream:
        """Return the streams of an input whose tiles have so many `values`, in so many `words`."""
        shares = tiles.family.shares
        columns, rows = tiles.elements
        ring = dict(tiles.family.shifts).get(access.tensor)
        used = [s for s in shares if s.variable in access.rank_variables or s.axis == ring]
        along_x, along_y = (share_of(used, axis) for axis in ("X", "Y"))
        visits = tiles.turns(access) if ring is None else 1
        entered = along_x * along_y * words * visits
        _check_entering(access, entered)
        lines, number, parts, links_of_word = line_streams(along_x, along_y, columns, rows)
        if parts > 1 and parts * words > MAX_FILTER_COUNT:
            raise InfeasibleMapping(
                f"elements of a line take more than {MAX_FILTER_COUNT:,} words of {access.tensor} "
                "in turn, more than the filter of a router counts"
            )
        links = links_to_last(lines, columns, rows)
        to_first = links - links_to_last(lines, *tiles.groups)
        way, to_group = (float(way_in(crossed, self.profile)) for crossed in (links, to_first))
        read, written = (n * values * visits for n in (along_x * along_y, columns * rows))
        all_words = BorderWords(read, written, entered * links_of_word)
        return _Stream(access, lines, words, entered / number, all_words, way, to_group)

    # -- memory ----------------------------------------------------------------------------

    def words(self, family: GridFamily) -> int:
        """Return the least number of 16-bit words of an element that the tiles of a family need."""
        return self._words(self._tiles(family))

    def _words(self, tiles: FamilyTiles) -> int:
        return sum(words for _, words in self._held_words(tiles))

    def _held_words(self, tiles: FamilyTiles) -> Iterator[tuple[str, int]]:
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
        tiles, persistent = self._tiles(family), family.resident - self.space.staying
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


def _check_entering(access: TensorAccess, words: int) -> None:
    """Raise InfeasibleMapping if more words of an input enter over a border than a port takes."""
    if words > MAX_STREAM:
        raise InfeasibleMapping(
            f"more than {MAX_STREAM:,} words of {access.tensor} enter over a border "
            "(persistent_tensors of a workload are in the elements)"
        )
