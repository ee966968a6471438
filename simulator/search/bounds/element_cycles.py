"""Closed formulas of one element's cycles, without waiting, for a family of mappings.

They leave out what takes long to find (some conflicts of banks, branches), so that no plan of the
family has fewer (theory/grid.md §6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.grid.number_types import dtype_of, number_types
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.simulator.compile.columns import BANKS
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.lowering.elementary import COMPUTE, scalar_steps
from tilewright.simulator.lowering.kernel import LEAST_TURNS
from tilewright.simulator.lowering.number_operations import WIDENING_PRODUCT, own_operation
from tilewright.simulator.lowering.sums.sum_chains import word_cycles
from tilewright.simulator.lowering.task_cycles import BodyCycles
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.search.bounds.elementwise import Numbers, chosen, least, most
from tilewright.simulator.search.bounds.family_tiles import Alike, FamilyTiles


class SumCount(NamedTuple):
    """The least that an element does with each tile of the output.

    `operations`: number of receives, sends and shares of its own tile. `passed`: number of tiles of
    other elements that it sends on behind its own.
    """

    operations: Numbers
    passed: Numbers = 0


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

    total: Numbers
    on_tile: Numbers


class _Transfers(NamedTuple):
    """Receives and sends beside the main thread: their number, and their words together."""

    number: Numbers
    words: Numbers


class _VectorOperation(NamedTuple):
    """The vector operation of one family, and where it stands.

    `outer`: rank variables of the loops around it, outermost first; `length`: its points.
    """

    outer: list[str]
    length: int


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

    def words(self, number: Numbers) -> Numbers:
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

    def least_work(self, local: Mapping[str, Numbers], scalar: str | None) -> Numbers:
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
        moving = least(*(-(-length // rate.group) * rate.cycles for rate in rates))
        around = self.load if scalar is None else min(self.load, 1 + profile.map_step_cycles)
        return prod(local.values()) // length * (moving + around)

    def least_transfers(self, words: Numbers) -> Numbers:
        """Return cycles of an element in which it receives or sends so many words, beside work."""
        return self._slots(words)

    # -- the work on the points ------------------------------------------------------------

    def work(self, tiles: FamilyTiles) -> _Work:
        """Return the cycles of an element's operations on its points, without receives and sends.

        They are kept: many families differ in how tensors come and go only.
        """
        if tiles.alike is not None:
            return self._works(tiles, tiles.alike)
        return self._work_of(tiles.family, tuple(tiles.local.values()))

    def _work_of(self, family: GridFamily, local: tuple[int, ...]) -> _Work:
        key = local, family.tile, family.outer, family.scalar
        if key not in self._known_work:
            tiles = FamilyTiles.of(self.space, family)
            operation = self._operation(tiles)
            self._known_work[key] = _Work(
                self._all_tiles(tiles, operation), self._on_tile(tiles, operation)
            )
        return self._known_work[key]

    @cached_property
    def _known_work(self) -> dict[tuple[object, ...], _Work]:
        return {}

    def _works(self, tiles: FamilyTiles, alike: Alike) -> _Work:
        """Return the work of many families."""
        arrays = np.broadcast_arrays(*tiles.local.values(), alike.number)[:-1]
        local = zip(*(values.tolist() for values in arrays), strict=True)
        each = zip(alike.families, local, strict=True)
        total, on_tile = np.array([self._work_of(family, sizes) for family, sizes in each]).T
        return _Work(total, on_tile)

    def _operation(self, tiles: FamilyTiles) -> _VectorOperation:
        family, tile = tiles.family, tiles.tile
        outer = self.space.outer_loops(family, tile)
        if family.scalar is None:  # the operation runs over the loops of the output
            output_variables = self.space.einsum.outputs[0].rank_variables
            outer = [name for name in outer if name not in output_variables]
        return _VectorOperation(outer, prod(tile.values()) // prod(tile[name] for name in outer))

    def _all_tiles(self, tiles: FamilyTiles, operation: _VectorOperation) -> float:
        """Return the cycles of operations on all points, and of the loops around."""
        profile, output_variables = self.profile, self.space.einsum.outputs[0].rank_variables
        family, local, tile = tiles.family, tiles.local, tiles.tile
        outer, length = operation
        points = prod(local.values())
        first = prod(local[name] for name in output_variables) // length
        load = profile.descriptor_use_cycles + profile.descriptor_load_cycles
        if family.scalar is not None:
            load += profile.scalar_load_cycles
        turns, loops = (
            points // length,
            [(tile[name], name not in output_variables) for name in outer],
        )
        both = [self._moving(tiles, operation, is_first=is_first) for is_first in (True, False)]
        moved = first * both[0] + (turns - first) * both[1]
        by_loops = turns * load + self._control(tiles, loops)
        if family.scalar is None or not outer or tile[outer[-1]] < LEAST_TURNS:
            return float(moved + by_loops)
        by_map = self._walk(turns, loops) + self._control(tiles, loops[:-1])
        return float(moved + min(by_loops, by_map))

    def _on_tile(self, tiles: FamilyTiles, operation: _VectorOperation) -> float:
        """Return the cycles in which operations move the values of one tile.

        Loads of descriptors and loops are left out.
        """
        number = prod(tiles.tile.values()) // operation.length
        return number * min(self._moving(tiles, operation, is_first=f) for f in (True, False))

    def _moving(self, tiles: FamilyTiles, operation: _VectorOperation, *, is_first: bool) -> float:
        """Return the cycles in which one operation moves its values, without the load before it.

        is_first: whether the output has no values yet, so that the operation only writes it. Values
        go in groups. The two reads of a full group are of one memory bank, wherever they begin, if
        together they cover more words than there are banks.
        """
        rate = self._rates[is_first, tiles.family.scalar is not None]
        groups = -(-operation.length // rate.group)
        always_meets = self._always_meets(tiles, operation, rate)
        return groups * (rate.met if always_meets else rate.cycles)

    def _always_meets(
        self, tiles: FamilyTiles, operation: _VectorOperation, rate: _OperationRate
    ) -> bool:
        sources = self._vectors(tiles.family.scalar, rate)
        if rate.met == rate.cycles or len(sources) != 2:
            return False
        if rate.group * sum(map(self._wide, sources)) <= BANKS:
            return False
        names = (n for n in reversed(self.space.by_output) if tiles.tile[n] > 1)
        innermost = next((n for n in names if n not in operation.outer), None)
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
            return float(tiles.steps * first)
        later = self._branches(loops, is_first=False)
        return float(tiles.passes * first + (tiles.steps - tiles.passes) * later)

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
        until: dict[str, Numbers] = dict.fromkeys(
            labels, self._operations(words for _, words, _ in received)
        )
        thread, slot = self._receives(tiles)
        since = {
            label: on_tile if passes else work
            for label, (_, _, passes) in zip(labels, received, strict=True)
        }
        return BodyCycles(
            total=work + most(thread, slot),
            slot=work + slot,
            since={**since, COMPUTE: 0.0},
            until=until,
        )

    def _received(self, tiles: FamilyTiles) -> list[tuple[TensorAccess, Numbers, bool]]:
        """Return the inputs that an element receives: access, words, whether in tiles."""
        family = tiles.family
        return [
            (a, words, a.tensor in tiles.passing and a.tensor not in family.shifted)
            for a, words in zip(self.space.einsum.inputs, tiles.input_words, strict=True)
            if a.tensor not in family.resident
        ]

    def _operations(self, words: Iterable[Numbers]) -> Numbers:
        """Return the cycles of operations, one after the other, that move so many words each."""
        return sum(self.load + self.words(number) for number in words)

    def _receives(self, tiles: FamilyTiles) -> tuple[Numbers, Numbers]:
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
            moved = _Transfers(len(each), sum(each.values()))
            thread, slot = self._overlapped(moved, max(1, len(each)))
            return once + tiles.steps * thread, once + tiles.steps * slot
        loops = tiles.passes * self._loop(tiles.steps // tiles.passes - 1)
        taken = sum(tiles.turns(a) * self._operations([words]) for a, words in each.items())
        return once + loops + taken, once + loops + taken

    def _shifting(self, tiles: FamilyTiles) -> tuple[Numbers, Numbers]:
        """Return the cycles around the work on one tile while tiles come and go along rings."""
        shifted = tiles.family.shifted
        words = [words for access, words, _ in self._received(tiles) if access.tensor in shifted]
        moved = _Transfers(2 * len(words), 2 * sum(words))
        return self._overlapped(moved, moved.number)

    def _overlapped(self, moved: _Transfers, tasks: Numbers) -> tuple[Numbers, Numbers]:
        """Return the cycles around the work on one tile while other tiles are received and sent.

        Those of the main thread, and those of the issue slot, which each word needs for a cycle. A
        turn changes three counters and branches three times at least.
        """
        profile = self.profile
        counting = min(profile.counter_cycles, profile.task_control_cycles)
        branching = min(profile.branch_taken_cycles, profile.branch_not_taken_cycles)
        thread, slot = self._beside(moved, tasks)
        return thread + 3 * (counting + branching), slot + 3 * (counting + branching)

    def _beside(self, moved: _Transfers, tasks: Numbers) -> tuple[Numbers, Numbers]:
        """Return the cycles of transfers beside the main thread: its own, and of the issue slot.

        `tasks`: number of tasks that they start.
        """
        profile = self.profile
        busy = self.load * moved.number + tasks * profile.task_switch_cycles
        starting = profile.issue_cycles * moved.number + tasks * profile.task_end_cycles
        return busy + starting, busy + self._slots(moved.words)

    def with_sums(self, tiles: FamilyTiles, alone: BodyCycles, sums: SumCount) -> Numbers:
        """Return the cycles of an element with its sums and results.

        `alone`: those without them; `sums`: what it does with each tile of the output.
        """
        words, (operations, passed) = tiles.output_words, sums
        moved = _Transfers(operations + chosen(passed > 0, 1, 0), words * (operations + passed))
        turns = tiles.turns(self.space.einsum.outputs[0])
        if tiles.family.buffers == 1:
            sent = self.words(words) * operations + self.words(words * passed)
            return alone.total + turns * (self.load * moved.number + sent)
        once = alone.total + self.load * moved.number + self._slots(moved.words)
        thread, slot = (turns * cycles for cycles in self._beside(moved, moved.number - 1))
        often = most(alone.slot + slot, alone.total + least(thread, slot))
        return chosen(moved.number == 0, alone.total, chosen(turns == 1, once, often))

    def _slots(self, words: Numbers) -> Numbers:
        """Return the cycles in which words of transfers have the issue slot."""
        return min(1.0, self._word) * words
