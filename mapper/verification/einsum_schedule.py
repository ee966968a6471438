"""Read from a mapping when and where each Einsum runs: its loops and holders.

The verification has a reading of the mapping of its own, so that a mistake of the model or of the
search in reading it does not hide here.

Example: `for m tile 2 / [BUF] T / step 1: (for k tile 1 / compute Y), step 2: compute Z`. The
schedule of Y has the loops m and k and the holder of T below one loop; the schedules of Y and Z
share the one loop above the steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Bounds
from dataclasses import dataclass, field, replace
from functools import cache

from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    TollNode,
)


@dataclass(frozen=True, slots=True)
class ScheduledLoop:
    """A loop above a Compute: tiles of `tile` positions, the first of `first` (0: as the others).

    `node`: number of the loop in the mapping, depth first. `variable`: the Einsum's name of the
    rank variable. `component`, `dim`: whose fanout a spatial loop runs over; "" for a temporal one.
    """

    node: int
    variable: str
    tile: int
    first: int
    is_spatial: bool
    component: str = ""
    dim: str = ""


@dataclass(frozen=True, slots=True)
class ScheduledHolder:
    """A Storage or Toll node above a Compute, for one tensor.

    `loops_above`: how many loops it is written below. `lanes_below`: numbers of the spatial loops
    among these that belong to a fanout below its component (`with_lanes_below`). `is_toll`: it
    passes values on and holds none.
    """

    node: int
    tensor: str
    component: str
    is_persistent: bool
    loops_above: int
    is_toll: bool = False
    lanes_below: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Step:
    """The branch of a Sequential on the way to an Einsum.

    `node`: number of the Sequential; `branch`: of the branch, from 0; `loops_above`: loops above
    it.
    """

    node: int
    branch: int
    loops_above: int


@dataclass(frozen=True, slots=True)
class EinsumSchedule:
    """All nodes above the Compute of one Einsum, outermost first.

    `loops`, `holders`: temporal and spatial loops; Storage and Toll nodes per tensor. `steps`:
    branches of Sequential nodes. `component`: name of the Compute.
    """

    einsum: str
    loops: tuple[ScheduledLoop, ...]
    holders: tuple[ScheduledHolder, ...]
    steps: tuple[Step, ...]
    component: str = ""  # the Compute

    def outermost_holder(self, tensor: str) -> ScheduledHolder | None:
        """Return the outermost holder of a tensor; None if nothing holds it."""
        held = (holder for holder in self.holders if holder.tensor == tensor)
        return next((holder for holder in held if not holder.is_toll), None)


@dataclass(frozen=True, slots=True)
class _Above:
    """The loops (with their node numbers), holders and steps above a list of nodes."""

    loops: tuple[Temporal | Spatial, ...] = ()
    loop_nodes: tuple[int, ...] = ()
    holders: tuple[ScheduledHolder, ...] = ()
    steps: tuple[Step, ...] = ()


@dataclass(slots=True)
class _ScheduleReader:
    """Reads the schedules from a mapping, numbering its nodes depth first."""

    numbers: int = field(default=0)

    def schedules(self, nodes: tuple[Node, ...], above: _Above) -> Iterator[EinsumSchedule]:
        for node in nodes:
            number = self.numbers
            self.numbers += 1
            match node:
                case ComputeNode(einsum, component):
                    loops = zip(above.loops, above.loop_nodes, strict=True)
                    yield EinsumSchedule(
                        einsum,
                        tuple(_scheduled(loop, place, einsum) for loop, place in loops),
                        above.holders,
                        above.steps,
                        component,
                    )
                case Sequential(branches, _):
                    for branch, inner in enumerate(branches):
                        step = Step(number, branch, len(above.loops))
                        yield from self.schedules(
                            inner,
                            _Above(
                                above.loops, above.loop_nodes, above.holders, (*above.steps, step)
                            ),
                        )
                case Temporal() | Spatial():
                    above = _Above(
                        (*above.loops, node),
                        (*above.loop_nodes, number),
                        above.holders,
                        above.steps,
                    )
                case Storage():
                    above = _Above(
                        above.loops,
                        above.loop_nodes,
                        (*above.holders, *_holders(node, number, len(above.loops))),
                        above.steps,
                    )


def schedules_of(mapping: Mapping) -> tuple[EinsumSchedule, ...]:
    """Return the schedule of every Compute, in the order of execution."""
    return tuple(_ScheduleReader().schedules(mapping.nodes, _Above()))


def with_lanes_below(schedule: EinsumSchedule, levels: Bounds[str, int]) -> EinsumSchedule:
    """Return the schedule with `lanes_below` of each holder filled in.

    A spatial loop belongs to the fanout of its component (theory/model.md §2.2, conventions.md §9):
    one written above a holder of a memory above that fanout stands below the holder in effect.
    `levels`: the place of each component on the Einsum's path, the outermost first.
    """
    lanes = [
        (number, levels[loop.component])
        for number, loop in enumerate(schedule.loops)
        if loop.is_spatial
    ]

    @cache
    def below(loops_above: int, component: str) -> frozenset[int]:
        return frozenset(
            number
            for number, level in lanes
            if number < loops_above and level > levels.get(component, level)
        )

    filled = ((holder, below(holder.loops_above, holder.component)) for holder in schedule.holders)
    holders = tuple(
        holder if numbers == holder.lanes_below else replace(holder, lanes_below=numbers)
        for holder, numbers in filled
    )
    return replace(schedule, holders=holders)


def common_loops(earlier: EinsumSchedule, later: EinsumSchedule) -> int:
    """Return how many loops stand above the Sequential at which two Einsums separate.

    0 if they separate above all loops. Both have the same loops down to there.
    """
    for step, other_step in zip(earlier.steps, later.steps, strict=False):
        if step.branch != other_step.branch:
            return step.loops_above
    return 0


def turns_of_loops(schedule: EinsumSchedule, bounds: Bounds[str, int]) -> list[int]:
    """Return the most turns that each loop of an Einsum takes, outermost loop first.

    `bounds`: positions of each rank variable. A variable that the Einsum does not have counts as
    one position, so that a loop over it takes one turn.
    """
    extent = dict(bounds)
    turns: list[int] = []
    for loop in schedule.loops:
        length, first = extent.get(loop.variable, 1), loop.first or loop.tile
        turns.append(1 + max(0, -(-(length - first) // loop.tile)))
        extent[loop.variable] = min(length, max(first, loop.tile))
    return turns


def extents_below(loops: Iterable[ScheduledLoop], bounds: Bounds[str, int]) -> dict[str, int]:
    """Return the extent of each rank variable of an Einsum in the largest tile below some loops."""
    extents = dict(bounds)
    for loop in loops:
        if loop.variable in extents:
            extents[loop.variable] = min(extents[loop.variable], max(loop.first, loop.tile))
    return extents


def turning_above(
    holder: ScheduledHolder, schedule: EinsumSchedule, bounds: Bounds[str, int]
) -> list[ScheduledLoop]:
    """Return the loops above a holder of an Einsum that take more than one turn.

    Spatial loops of a fanout below it are left out if the schedule says so (`with_lanes_below`).
    """
    turns = turns_of_loops(schedule, bounds)[: holder.loops_above]
    return [
        schedule.loops[number]
        for number, count in enumerate(turns)
        if count > 1 and number not in holder.lanes_below
    ]


def _holders(node: Storage, number: int, loops_above: int) -> tuple[ScheduledHolder, ...]:
    """Return one ScheduledHolder per tensor of a Storage or Toll node."""
    is_toll = isinstance(node, TollNode)
    return tuple(
        ScheduledHolder(number, tensor, node.component, node.persistent, loops_above, is_toll)
        for tensor in node.tensors
    )


def _scheduled(loop: Temporal | Spatial, number: int, einsum: str) -> ScheduledLoop:
    variable = dict(loop.names).get(einsum, loop.rank_variable)
    if isinstance(loop, Spatial):
        return ScheduledLoop(number, variable, loop.tile_shape, 0, True, loop.component, loop.name)
    return ScheduledLoop(number, variable, loop.tile_shape, loop.initial_tile_shape or 0, False)
