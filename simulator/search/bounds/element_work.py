"""Closed formulas of the cycles of an element's operations on its points, loops included.

They leave out what takes long to find (where tiles begin in memory, branches), so that no plan of
the family has fewer (theory/grid.md §6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, prod
from typing import Final, NamedTuple

import numpy as np

from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.number_types import dtype_of, number_types
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.simulator.compile.columns import BANKS
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.lowering.elementary import scalar_steps
from tilewright.simulator.lowering.kernel import LEAST_TURNS
from tilewright.simulator.lowering.number_operations import WIDENING_PRODUCT, own_operation
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.search.bounds.elementwise import (
    Integers,
    Numbers,
    by_several,
    least,
    most,
)
from tilewright.simulator.search.bounds.family_tiles import FamilyTiles
from tilewright.simulator.search.bounds.vector_reads import TileInMemory, VectorReads
from tilewright.simulator.search.orders.outer_cycles import OuterCycles, OuterQuestion
from tilewright.simulator.search.orders.vector_choices import vector_choices

ALWAYS_ROOM: Final = 2
MOST_TENSORS: Final = 4
"""Loops of so few tensors that descriptors have a register for each of their strides."""


class OperationRate(NamedTuple):
    """Values that an operation takes at once, and its cycles for such a group.

    `met`: cycles of a group whose two reads are of the same memory bank. `sources`: the tensors
    that it reads as vectors in memory, all but the one in the register. `has_own`: whether the
    machine has an operation for it.
    """

    group: int
    cycles: float
    met: float
    sources: Sequence[TensorAccess] = ()
    has_own: bool = True


class WorkCycles(NamedTuple):
    """Cycles of an element's operations: on all its points, loops included, and on one tile."""

    total: Numbers
    on_tile: Numbers


class _Pace(NamedTuple):
    """How long an operation moves its values: `groups` of them, each in `cycles`.

    `further`: cycles of one whose reads meet on a bank. `apart`: the most operations of a tile in
    which they do not meet.
    """

    groups: Numbers
    cycles: float
    further: float = 0.0
    apart: Numbers = 0


class _VectorOperation(NamedTuple):
    """The vector operation of families whose tiles have the same loops.

    `outer`: rank variables of the loops around it, outermost first; `vector`: those that it runs
    over; `length`: its points. `paces`: of the operations that only write the output, as it has no
    values yet, and of the others. `walks`: whether a loop, innermost, may be a map; no other loop
    may. `is_best`: whether no operation over other loops, or in another order, is better.
    """

    outer: list[str]
    vector: Sequence[str]
    length: Numbers
    paces: Sequence[_Pace] = ()
    walks: Mapping[str, Numbers] = {}
    is_best: Numbers = False


@dataclass(frozen=True)
class ElementWork:
    """The work of one element on its points, for the families of a mapspace on one machine."""

    space: GridMapspace
    profile: Profile

    @cached_property
    def load(self) -> float:
        """Cycles to load the descriptors of an operation."""
        return float(self.profile.descriptor_use_cycles + self.profile.descriptor_load_cycles)

    @property
    def least_point(self) -> float:
        """Cycles of an operation for each of its points, by the fastest way to compute it."""
        each = [
            rate
            for scalar in (None, self.space.einsum.inputs[0].tensor)
            for rate in self._rates_with(scalar)
        ]
        return min(rate.cycles / rate.group for rate in each)

    def least_work(self, local: Mapping[str, Numbers], scalar: str | None) -> Numbers:
        """Return cycles of an element's operations on its share, however it is cut into tiles.

        `local`: values of each rank variable in the share; `scalar`: the input in the engine's
        register. Tiles divide the share and make operations shorter, never fewer. Each value of the
        output is written by a first operation once, however the sums go on.
        """
        profile, space = self.profile, self.space
        kept = space.einsum.outputs[0].rank_variables
        names = kept if scalar is None else space.vector_variables(scalar)
        length = prod(local[name] for name in names)
        turns = prod(local.values()) // length
        firsts = prod(local[name] for name in kept) // length
        first, later = (-(-length // r.group) * r.cycles for r in self._rates_with(scalar))
        around = self.load if scalar is None else min(self.load, 1 + profile.map_step_cycles)
        return firsts * first + (turns - firsts) * later + turns * around

    def of(self, tiles: FamilyTiles) -> WorkCycles:
        """Return the cycles of an element's operations on its points, without receives and sends.

        Those of equal sizes are counted once: many families differ in how tensors come and go only.
        """
        if tiles.alike is None:
            return self._of_loops(tiles, frozenset(n for n, size in tiles.tile.items() if size > 1))
        number, family = len(tiles.alike.families), tiles.family
        several = (*tiles.local.values(), *(tiles.tile[loop.variable] for loop in family.loops))
        columns = (np.broadcast_to(values, number).tolist() for values in several)
        sizes = list(zip(*columns, strict=True))
        loops = tuple(loop.variable for loop in family.loops)
        known = self._known.setdefault((loops, family.scalar, tiles.passing), {})
        new = {size: place for place, size in enumerate(sizes) if size not in known}
        if new:
            counted = self._together(_taken(tiles, np.array(list(new.values()))), len(new))
            known.update(zip(new, counted, strict=True))
        return WorkCycles(*np.array([known[size] for size in sizes]).T)

    @cached_property
    def _known(self) -> dict[tuple[object, ...], dict[tuple[int, ...], tuple[float, float]]]:
        return {}

    def _together(self, tiles: FamilyTiles, number: int) -> Iterator[tuple[float, float]]:
        """Return the work of so many families; those whose tiles have the same loops at once."""
        total, on_tile = np.zeros(number), np.zeros(number)
        for several, places in by_several(tiles.tile, number):
            total[places], on_tile[places] = self._of_loops(
                _taken(tiles, places), several, len(places)
            )
        return zip(total.tolist(), on_tile.tolist(), strict=True)

    def _of_loops(self, tiles: FamilyTiles, several: frozenset[str], number: int = 1) -> WorkCycles:
        """Return the work of so many families, with the best loops on a tile of each.

        `several`: variables with several values in their tiles.
        """
        work = WorkCycles(inf, inf)
        for vector in self._vectors(tiles, several):
            if work.total is not inf:
                least_work = self._least_work(tiles, vector)
                if np.all(least_work.total >= work.total):
                    work = WorkCycles(work.total, least(work.on_tile, least_work.on_tile))
                    continue
            operation = self._operation(tiles, several, vector)
            moving, on_tile = self._all_tiles(tiles, operation), self._on_tile(tiles, operation)
            total = moving + self._around(tiles, operation, number)
            work = WorkCycles(least(work.total, total), least(work.on_tile, on_tile))
            if np.all(operation.is_best):
                break
        return work

    def _vectors(self, tiles: FamilyTiles, several: frozenset[str]) -> list[tuple[str, ...]]:
        """Return the loops that an operation may run over, in those orders that bounds tell apart.

        `several`: variables with several values in the tiles.
        """
        choices = list(vector_choices(self.space, tiles.family.scalar, several))
        if self._has_exact_reads(tiles, several, choices[0]):
            return choices
        return list({vector[-1:]: vector for vector in reversed(choices)}.values())[::-1]

    def _has_exact_reads(
        self, tiles: FamilyTiles, several: frozenset[str], vector: tuple[str, ...]
    ) -> bool:
        """Whether the plan of an operation has all its loops, and one read of each tensor.

        `vector`: one choice of them; `several`: variables with several values in the tiles.
        """
        names = self.space.einsum.tensors
        if tiles.family.scalar is None:  # a plan may find room for some of the loops only
            kept = self.space.einsum.outputs[0].rank_variables
            if len(several & kept) > min(ALWAYS_ROOM, len(vector)):
                return False
        return len(set(names)) == len(names) <= MOST_TENSORS

    def _least_work(self, tiles: FamilyTiles, vector: tuple[str, ...]) -> WorkCycles:
        """Return the least work with an operation over some loops, wherever its tiles lie."""
        scalar = tiles.family.scalar
        moving = min(rate.cycles / rate.group for rate in self._rates_with(scalar))
        length = prod(tiles.tile[name] for name in vector)
        around = self._outer(scalar).least_operation
        total, on_tile = (
            prod(sizes.values()) // length * around + prod(sizes.values()) * moving
            for sizes in (tiles.local, tiles.tile)
        )
        return WorkCycles(total, on_tile)

    def with_vector(self, tiles: FamilyTiles, vector: tuple[str, ...]) -> Numbers:
        """Return the cycles of an element's operations on its points, in the best order around.

        `tiles`: of one family; `vector`: the loops of the vector operation, outermost first.
        """
        several = frozenset(name for name, size in tiles.tile.items() if size > 1)
        operation = self._operation(tiles, several, vector)
        return self._all_tiles(tiles, operation) + self._around(tiles, operation, 1)

    def _operation(
        self, tiles: FamilyTiles, several: frozenset[str], vector: tuple[str, ...]
    ) -> _VectorOperation:
        """Return the operation over some loops, outermost first."""
        space, scalar, tile = self.space, tiles.family.scalar, tiles.tile
        is_exact = self._has_exact_reads(tiles, several, vector)
        kept = space.einsum.outputs[0].rank_variables
        outer = [name for name in space.by_output if name in several and name not in vector]
        if scalar is None:
            outer = [name for name in outer if name not in kept]
        length = prod(tile.values()) // prod(tile[name] for name in outer)
        operation = _VectorOperation(outer, vector, length)
        rates = self._rates_with(scalar)
        if not is_exact:
            return operation._replace(paces=[self._pace(operation, rate) for rate in rates])
        reads = VectorReads(vector, outer, tile, self._held(tiles))
        paces = [self._exact_pace(operation, rate, reads) for rate in rates]
        is_best = (reads.row == length) & all(not pace.further for pace in paces)
        walks: dict[str, Numbers] = {}
        walked = space.einsum.access(scalar).rank_variables if scalar is not None else frozenset()
        for name in walked.intersection(outer):
            # Where the output has the variable, each visit of its values may be the first one.
            if rates[name not in kept].has_own:
                walks[name] = reads.goes_on(name, length) & (tile[name] >= LEAST_TURNS)
                is_best = is_best & (walks[name] == (tile[name] >= LEAST_TURNS))
        return operation._replace(paces=paces, walks=walks, is_best=is_best)

    def _exact_pace(
        self, operation: _VectorOperation, rate: OperationRate, reads: VectorReads
    ) -> _Pace:
        """Return the pace of an operation that no plan makes shorter; a group ends with a row."""
        length, row = operation.length, 1 if rate.group == 1 else reads.row
        groups = length // row * -(-row // rate.group)
        if rate.met == rate.cycles or len(rate.sources) != 2:
            return _Pace(groups, rate.cycles)
        first, second = (access.tensor for access in rate.sources)
        apart = reads.most_apart(first, second, rate.group)
        return _Pace(groups, rate.cycles, rate.met - rate.cycles, apart)

    def _pace(self, operation: _VectorOperation, rate: OperationRate) -> _Pace:
        """Return the pace of an operation that may be shorter, but has the innermost of its loops.

        Two reads always meet if together they cover more words than there are banks.
        """
        groups = -(-operation.length // rate.group)
        always_meets = (
            len(rate.sources) == 2
            and rate.group * sum(map(self._wide, rate.sources)) > BANKS
            and all(n in a.rank_variables for a in rate.sources for n in operation.vector[-1:])
        )
        return _Pace(groups, rate.met if always_meets else rate.cycles)

    def _all_tiles(self, tiles: FamilyTiles, operation: _VectorOperation) -> Numbers:
        """Return the cycles in which operations on all points move values."""
        length = operation.length
        turns = prod(tiles.local.values()) // length
        of_tile = prod(tiles.tile[name] for name in operation.outer)
        kept = self.space.einsum.outputs[0].rank_variables
        first = prod(tiles.local[name] for name in kept) // length
        return _moving(operation, turns // of_tile, turns, first)

    def _around(self, tiles: FamilyTiles, operation: _VectorOperation, number: int) -> Numbers:
        """Return the cycles around the operations, in the best order of the loops.

        `number`: of families.
        """
        kept, time = self.space.einsum.outputs[0].rank_variables, tiles.family.tile
        adds = time is not None and time.variable not in kept
        cycles = self._outer(tiles.family.scalar).least(
            OuterQuestion(
                {name: tiles.tile[name] for name in operation.outer},
                operation.walks,
                frozenset(operation.outer) - kept,
                tiles.passes if adds else tiles.steps,
                tiles.steps,
                number,
            )
        )
        return cycles if tiles.alike is not None else float(cycles[0])

    def _outer(self, scalar: str | None) -> OuterCycles:
        """Return the cycles of loops around operations; `scalar`: the register's input."""
        if scalar not in self._known_outer:
            load = 0.0 if scalar is None else float(self.profile.scalar_load_cycles)
            self._known_outer[scalar] = OuterCycles(self.profile, self.load, load)
        return self._known_outer[scalar]

    @cached_property
    def _known_outer(self) -> dict[str | None, OuterCycles]:
        return {}

    def _on_tile(self, tiles: FamilyTiles, operation: _VectorOperation) -> Numbers:
        """Return the cycles in which operations move the values of one tile.

        Loads of descriptors and loops are left out. Its values of the output may be new or not.
        """
        tile, output = tiles.tile, self.space.einsum.outputs[0].rank_variables
        turns = prod(tile.values()) // operation.length
        first = prod(tile[name] for name in output) // operation.length
        return least(*(_moving(operation, 1, turns, number) for number in (first, 0)))

    def _held(self, tiles: FamilyTiles) -> Mapping[str, TileInMemory]:
        """Return the tiles that an operation reads and writes in memory, by tensor."""
        return {
            access.tensor: TileInMemory(
                access,
                tiles.tile if access.tensor in tiles.passing else tiles.local,
                self._wide(access),
                access.tensor in self.space.staying,
            )
            for access in self.space.computed.accesses
            if access.tensor != tiles.family.scalar
        }

    def _wide(self, access: TensorAccess) -> int:
        """Return the 16-bit words of a value."""
        return DTYPES[dtype_of(access, self.space.computed)]

    def loop(self, turns: Numbers) -> Numbers:
        """Return the cycles of the branches of a loop."""
        profile = self.profile
        return (
            profile.counter_cycles
            + (turns - 1) * profile.loop_back_edge_cycles
            + profile.branch_not_taken_cycles
        )

    def _rates_with(self, scalar: str | None) -> Sequence[OperationRate]:
        """Return the rates of the first operations of sums, which write, and of the others.

        `scalar`: the input in the register.
        """
        if scalar not in self._known_rates:
            rates = tuple(self._rate(scalar, is_first=first) for first in (True, False))
            self._known_rates[scalar] = rates
        return self._known_rates[scalar]

    @cached_property
    def _known_rates(self) -> dict[str | None, Sequence[OperationRate]]:
        return {}

    def _rate(self, scalar: str | None, *, is_first: bool) -> OperationRate:
        einsum, profile, has_scalar = self.space.computed, self.profile, scalar is not None
        numbers = number_types(einsum)
        name = own_operation(einsum, numbers, first=is_first, has_scalar=has_scalar)
        if name is None:
            steps = scalar_steps(einsum, numbers, has_scalar=has_scalar)
            cycles = float((steps + 1) * profile.scalar_operation_cycles + profile.map_step_cycles)
            return OperationRate(1, cycles, cycles, has_own=False)
        timing = profile.operations[name]
        least_cycles = min(timing.cycles)
        met = max(least_cycles, timing.cycles[1] * profile.bank_conflict_factor)
        sources = [access for access in einsum.inputs if access.tensor != scalar]
        if not is_first or name == WIDENING_PRODUCT:
            sources += einsum.outputs
        return OperationRate(timing.group, float(least_cycles), float(met), sources)


def _moving(operation: _VectorOperation, tiles: Numbers, turns: Numbers, first: Numbers) -> Numbers:
    """Return the cycles in which operations move values, without the load before each.

    `turns`: number of operations on so many whole `tiles`, `first` of which only write the output.
    """
    cycles: Numbers = 0.0
    for pace, number in zip(operation.paces, (first, turns - first), strict=True):
        meeting = most(0, number - tiles * pace.apart) if pace.further else 0
        cycles = cycles + pace.groups * (number * pace.cycles + meeting * pace.further)
    return cycles


def _taken(tiles: FamilyTiles, places: Integers) -> FamilyTiles:
    """Return the sizes of some of many families: what their work follows from."""

    def taken(values: Numbers) -> Numbers:
        return values[places] if isinstance(values, np.ndarray) else values

    local, tile = (
        {name: taken(values) for name, values in sizes.items()}
        for sizes in (tiles.local, tiles.tile)
    )
    steps, passes = taken(tiles.steps), taken(tiles.passes)
    return replace(tiles, local=local, tile=tile, steps=steps, passes=passes)
