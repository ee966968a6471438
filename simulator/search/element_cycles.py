"""Closed formulas of one element's cycles, without waiting, for a family of mappings.

They leave out what takes long to find (some conflicts of banks, branches), so that no plan of the
family has fewer (theory/grid.md §6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace, tile_sizes
from tilewright.mapper.grid.grid_shares import Share, local_sizes
from tilewright.mapper.grid.number_types import dtype_of, number_types
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.simulator.compile.columns import BANKS
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.lowering.kernel import COMPUTE, LEAST_TURNS, scalar_steps
from tilewright.simulator.lowering.number_operations import WIDENING_PRODUCT, own_operation
from tilewright.simulator.lowering.sums.sum_chains import word_cycles
from tilewright.simulator.lowering.task_cycles import BodyCycles
from tilewright.simulator.profiles.profile import Profile


class SumCount(NamedTuple):
    """The least that an element does with each tile of the output.

    `operations`: number of receives, sends and shares of its own tile. `passed`: number of tiles of
    other elements that it sends on behind its own.
    """

    operations: int
    passed: int = 0


@dataclass(frozen=True, slots=True)
class FamilyTiles:
    """Sizes that a family of mappings gives to one element.

    `local`, `tile`: by rank variable, its values in the element's share and in a tile. `passing`:
    tensors of which tiles need other parts, which pass through. `steps`: number of tiles of the
    work; `passes`: how many of them begin a turn of the outer loop in time.
    `inputs`: by input, in the Einsum's order, the values of a buffer; `output`: those of the
    output. `input_words`, `output_words`: the words in which they go over links. `elements`:
    columns and rows in use; `groups`: columns and rows of the elements that add up. `outer`: rank
    variables of the loops around the vector operation, outermost first; `length`: points of one
    operation.
    """

    family: GridFamily
    local: Mapping[str, int]
    tile: Mapping[str, int]
    passing: tuple[str, ...]
    steps: int
    passes: int
    inputs: tuple[int, ...]
    output: int
    input_words: tuple[int, ...]
    output_words: int
    elements: tuple[int, int]
    groups: tuple[int, int]
    outer: tuple[str, ...]
    length: int

    @staticmethod
    def of(space: GridMapspace, family: GridFamily) -> FamilyTiles:
        """Return the sizes that a family of a mapspace gives to one element."""
        local, einsum = local_sizes(space.einsum, family.shares), space.computed
        passing, tile = space.passing_tensors(family), {**local, **tile_sizes(family)}
        outer_turns, inner_turns = (
            1 if loop is None else local[loop.variable] // loop.size
            for loop in (family.outer, family.tile)
        )
        accesses = (*einsum.inputs, einsum.outputs[0])
        *inputs, output = values = [
            access.tile_size(tile if access.tensor in passing else local) for access in accesses
        ]
        groups = space.groups(family.shares)
        *input_words, output_words = _words(space, values, groups)
        outer = space.outer_loops(family, tile)
        if family.scalar is None:  # the operation runs over the loops of the output
            output_variables = einsum.outputs[0].rank_variables
            outer = [name for name in outer if name not in output_variables]
        length = prod(tile.values()) // prod(tile[name] for name in outer)
        columns, rows = (share_of(family.shares, axis) for axis in ("X", "Y"))
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
            elements=(columns, rows),
            groups=groups,
            outer=tuple(outer),
            length=length,
        )

    def turns(self, access: TensorAccess) -> int:
        """Return how many tiles of a tensor pass through an element; 1 for one that stays."""
        if access.tensor not in self.passing:
            return 1
        tile = self.family.tile
        is_inner = tile is not None and tile.variable in access.rank_variables
        return self.steps if is_inner else self.passes


def _words(space: GridMapspace, values: Sequence[int], groups: tuple[int, int]) -> Iterator[int]:
    """Yield the words in which tiles of so many values go: those of each input, then the output's.

    `groups`: columns and rows of elements that add up.
    """
    may_pair = space.may_pair[prod(groups) > 1]
    for number, goes_in_pairs in zip(values, may_pair, strict=True):
        yield number // 2 if goes_in_pairs and number % 2 == 0 else number


def share_of(shares: Sequence[Share], axis: str) -> int:
    """Return the number of parts into which shares divide the work along an axis, X or Y."""
    return prod(share.count for share in shares if share.axis == axis)


class _OperationRate(NamedTuple):
    """Values that an operation takes at once, and its cycles for such a group.

    `met`: cycles of a group whose two reads are of the same memory bank. `reads_output`: whether it
    reads the output.
    """

    group: int
    cycles: float
    met: float
    reads_output: bool


class _Work(NamedTuple):
    """Cycles of an element's operations: on all its points, loops included, and on one tile."""

    total: float
    on_tile: float


@dataclass(frozen=True)
class ElementCycles:
    """Closed formulas of the cycles of one element for the families of a mapspace.

    `space`: the mapspace; `profile`: the machine. Waiting is left out, so no run takes fewer
    cycles.
    """

    space: GridMapspace
    profile: Profile

    @cached_property
    def load(self) -> float:
        """Cycles to load the descriptors of an operation."""
        return float(self.profile.descriptor_use_cycles + self.profile.descriptor_load_cycles)

    def words(self, number: int) -> float:
        """Return the cycles of an operation that receives or sends so many words."""
        return word_cycles(number, self.profile)

    @cached_property
    def _word(self) -> float:
        """Cycles in which an operation receives or sends one word."""
        return float(self.profile.cycles_per_wavelet)

    @property
    def least_point(self) -> float:
        """Cycles of an operation for each of its points, by the fastest way to compute it."""
        return min(rate.cycles / rate.group for rate in self._rates.values())

    def least_work(self, local: Mapping[str, int], scalar: str | None) -> float:
        """Return cycles of an element's operations on its share, however it is cut into tiles.

        `local`: values of each rank variable in the share; `scalar`: the input in the engine's
        register. Tiles divide the share and make operations shorter, never fewer.
        """
        profile, space = self.profile, self.space
        names = space.einsum.outputs[0].rank_variables
        if scalar is not None:
            names = space.vector_variables(scalar)
        length = prod(local[name] for name in names)
        rates = [self._rates[first, scalar is not None] for first in (True, False)]
        moving = min(-(-length // rate.group) * rate.cycles for rate in rates)
        around = self.load if scalar is None else min(self.load, 1 + profile.map_step_cycles)
        return prod(local.values()) // length * (moving + around)

    def least_transfers(self, words: int) -> float:
        """Return cycles of an element in which it receives or sends so many words, beside work."""
        return self._slots([words])

    # -- the work on the points ------------------------------------------------------------

    def work(self, tiles: FamilyTiles) -> _Work:
        """Return the cycles of an element's operations on its points, without receives and sends.

        They are kept: many families differ in how tensors come and go only.
        """
        family = tiles.family
        key = tuple(tiles.local.values()), family.tile, family.outer, family.scalar
        if key not in self._known_work:
            self._known_work[key] = _Work(self._all_tiles(tiles), self._on_tile(tiles))
        return self._known_work[key]

    @cached_property
    def _known_work(self) -> dict[tuple[object, ...], _Work]:
        return {}

    def _all_tiles(self, tiles: FamilyTiles) -> float:
        """Return the cycles of operations on all points, and of the loops around."""
        profile, output_variables = self.profile, self.space.einsum.outputs[0].rank_variables
        family, local, tile, outer = tiles.family, tiles.local, tiles.tile, tiles.outer
        points, length = prod(local.values()), tiles.length
        first = prod(local[name] for name in output_variables) // length
        load = profile.descriptor_use_cycles + profile.descriptor_load_cycles
        if family.scalar is not None:
            load += profile.scalar_load_cycles
        turns, loops = (
            points // length,
            [(tile[name], name not in output_variables) for name in outer],
        )
        both = [self._moving(tiles, is_first=is_first) for is_first in (True, False)]
        moved = first * both[0] + (turns - first) * both[1]
        by_loops = turns * load + self._control(tiles, loops)
        if family.scalar is None or not outer or tile[outer[-1]] < LEAST_TURNS:
            return moved + by_loops
        return moved + min(by_loops, self._walk(turns, loops) + self._control(tiles, loops[:-1]))

    def _on_tile(self, tiles: FamilyTiles) -> float:
        """Return the cycles in which operations move the values of one tile.

        Loads of descriptors and loops are left out.
        """
        operations = prod(tiles.tile.values()) // tiles.length
        return operations * min(self._moving(tiles, is_first=first) for first in (True, False))

    def _moving(self, tiles: FamilyTiles, *, is_first: bool) -> float:
        """Return the cycles in which one operation moves its values, without the load before it.

        is_first: whether the output has no values yet, so that the operation only writes it. Values
        go in groups. The two reads of a full group are of one memory bank, wherever they begin, if
        together they cover more words than there are banks.
        """
        rate = self._rates[is_first, tiles.family.scalar is not None]
        groups = -(-tiles.length // rate.group)
        return groups * (rate.met if self._always_meets(tiles, rate) else rate.cycles)

    def _always_meets(self, tiles: FamilyTiles, rate: _OperationRate) -> bool:
        sources = self._vectors(tiles.family.scalar, rate)
        if rate.met == rate.cycles or len(sources) != 2:
            return False
        if rate.group * sum(map(self._wide, sources)) <= BANKS:
            return False
        names = (n for n in reversed(self.space.by_output) if tiles.tile[n] > 1)
        innermost = next((n for n in names if n not in tiles.outer), None)
        return innermost is None or all(innermost in a.rank_variables for a in sources)

    def _vectors(self, scalar: str | None, rate: _OperationRate) -> list[TensorAccess]:
        """Return the tensors that an operation reads as vectors in memory, all but the scalar."""
        einsum = self.space.computed
        inputs = [access for access in einsum.inputs if access.tensor != scalar]
        return [*inputs, *einsum.outputs] if rate.reads_output else inputs

    def _wide(self, access: TensorAccess) -> int:
        """Return the 16-bit words of a value."""
        return DTYPES[dtype_of(access, self.space.computed)]

    def _walk(self, turns: int, loops: Sequence[tuple[int, bool]]) -> float:
        """Return the cycles around operations that a map over the innermost loop calls.

        `turns`: product of the turns of all loops, on all tiles. `loops`: (turns, summed over),
        outermost first.
        """
        profile = self.profile
        starts = turns // loops[-1][0] * profile.descriptor_use_cycles
        return float(turns * (1 + profile.map_step_cycles) + starts)

    def _control(self, tiles: FamilyTiles, loops: list[tuple[int, bool]]) -> float:
        """Return the cycles of the loops' branches; `loops`: (turns, summed over), outermost first.

        A loop that is summed over has its first turn in front of it, unless values are there.
        """
        first, time = self._branches(loops, is_first=True), tiles.family.tile
        if time is None or time.variable in self.space.einsum.outputs[0].rank_variables:
            return tiles.steps * first
        later = self._branches(loops, is_first=False)
        return tiles.passes * first + (tiles.steps - tiles.passes) * later

    def _branches(self, loops: list[tuple[int, bool]], *, is_first: bool) -> float:
        if not loops:
            return 0.0
        (count, is_summed), inner = loops[0], loops[1:]
        cycles, turns = 0.0, count
        if is_summed and is_first:
            cycles, turns, is_first = self._branches(inner, is_first=True), count - 1, False
        return cycles + self._loop(turns) + turns * self._branches(inner, is_first=is_first)

    def _loop(self, turns: int) -> float:
        profile = self.profile
        return (
            profile.counter_cycles
            + (turns - 1) * profile.loop_back_edge_cycles
            + profile.branch_not_taken_cycles
        )

    @cached_property
    def _rates(self) -> dict[tuple[bool, bool], _OperationRate]:
        """Rates of an operation, by (is the first of a sum, has an input in the register)."""
        both = (True, False)
        return {(first, scalar): self._rate(first, scalar) for first in both for scalar in both}

    def _rate(self, is_first: bool, has_scalar: bool) -> _OperationRate:
        einsum, profile = self.space.computed, self.profile
        numbers = number_types(einsum)
        name = own_operation(einsum, numbers, first=is_first, has_scalar=has_scalar)
        if name is None:
            steps = scalar_steps(einsum, numbers, has_scalar=has_scalar)
            cycles = float((steps + 1) * profile.scalar_operation_cycles + profile.map_step_cycles)
            return _OperationRate(1, cycles, cycles, reads_output=False)
        timing = profile.operations[name]
        least = min(timing.cycles)
        met = max(least, timing.cycles[1] * profile.bank_conflict_factor)
        reads_output = not is_first or name == WIDENING_PRODUCT
        return _OperationRate(timing.group, float(least), float(met), reads_output)

    # -- what comes and goes ---------------------------------------------------------------

    def alone(self, tiles: FamilyTiles) -> BodyCycles:
        """Return the cycles of an element that neither adds sums of others nor sends its own."""
        (work, on_tile), received = self.work(tiles), self._received(tiles)
        labels = [f"receive {access.tensor}" for access, _, _ in received]
        first = self._operations(words for _, words, _ in received)
        thread, slot = self._receives(tiles)
        since = {
            label: on_tile if passes else work
            for label, (_, _, passes) in zip(labels, received, strict=True)
        }
        return BodyCycles(
            total=work + max(thread, slot),
            slot=work + slot,
            since={**since, COMPUTE: 0.0},
            until=dict.fromkeys(labels, first),
        )

    def _received(self, tiles: FamilyTiles) -> list[tuple[TensorAccess, int, bool]]:
        """Return the inputs that an element receives: access, words, whether in tiles."""
        family = tiles.family
        return [
            (a, words, a.tensor in tiles.passing and a.tensor not in family.shifted)
            for a, words in zip(self.space.einsum.inputs, tiles.input_words, strict=True)
            if a.tensor not in family.resident
        ]

    def _operations(self, words: Iterable[int]) -> float:
        """Return the cycles of operations, one after the other, that move so many words each."""
        return sum(self.load + self.words(number) for number in words)

    def _receives(self, tiles: FamilyTiles) -> tuple[float, float]:
        """Return the cycles of an element's receives, and of the loop over its tiles.

        Those of the main thread, and those in which the issue slot is in use.
        """
        family, received = tiles.family, self._received(tiles)
        once = self._operations(words for _, words, passes in received if not passes)
        each = {access: words for access, words, passes in received if passes}
        if family.tile is None:
            return once, once
        if family.shifts:
            thread, slot = self._shifting(tiles)
            return once + (tiles.steps - 1) * thread, once + (tiles.steps - 1) * slot
        if family.buffers == 2:
            thread, slot = self._overlapped([*each.values()], max(1, len(each)))
            return once + tiles.steps * thread, once + tiles.steps * slot
        cycles = once + tiles.passes * self._loop(tiles.steps // tiles.passes - 1)
        cycles += sum(tiles.turns(a) * self._operations([words]) for a, words in each.items())
        return cycles, cycles

    def _shifting(self, tiles: FamilyTiles) -> tuple[float, float]:
        """Return the cycles around the work on one tile while tiles come and go along rings."""
        shifted = tiles.family.shifted
        received = ((words, a.tensor) for a, words, _ in self._received(tiles))
        moved = [words for words, tensor in received if tensor in shifted for _ in "io"]
        return self._overlapped(moved, len(moved))

    def _overlapped(self, moved: Sequence[int], tasks: int) -> tuple[float, float]:
        """Return the cycles around the work on one tile while other tiles are received and sent.

        Those of the main thread, and those of the issue slot, which each word needs for a cycle. A
        turn changes three counters and branches three times at least. `moved`: number of words of
        each transfer.
        """
        profile = self.profile
        counting = min(profile.counter_cycles, profile.task_control_cycles)
        branching = min(profile.branch_taken_cycles, profile.branch_not_taken_cycles)
        thread, slot = self._beside(moved, tasks)
        return thread + 3 * (counting + branching), slot + 3 * (counting + branching)

    def _beside(self, moved: Sequence[int], tasks: int) -> tuple[float, float]:
        """Return the cycles of transfers beside the main thread: its own, and of the issue slot.

        `moved`: number of words of each transfer; `tasks`: number of tasks that they start.
        """
        profile = self.profile
        busy = float(self.load * len(moved) + tasks * profile.task_switch_cycles)
        starting = profile.issue_cycles * len(moved) + tasks * profile.task_end_cycles
        return busy + starting, busy + self._slots(moved)

    def with_sums(self, tiles: FamilyTiles, alone: BodyCycles, sums: SumCount) -> float:
        """Return the cycles of an element with its sums and results.

        `alone`: those without them; `sums`: what it does with each tile of the output.
        """
        moved = [tiles.output_words] * sums.operations
        moved += [tiles.output_words * sums.passed] * bool(sums.passed)
        turns = tiles.turns(self.space.einsum.outputs[0])
        if not moved or tiles.family.buffers == 1:
            return alone.total + turns * self._operations(moved)
        if turns == 1:
            return alone.total + self.load * len(moved) + self._slots(moved)
        thread, slot = (turns * cycles for cycles in self._beside(moved, len(moved) - 1))
        return max(alone.slot + slot, alone.total + min(thread, slot))

    def _slots(self, moved: Sequence[int]) -> float:
        """Return the cycles in which words of transfers have the issue slot."""
        return min(1.0, self._word) * sum(moved)
