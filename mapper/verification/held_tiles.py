"""The tiles that the holders of one Einsum reserve, read straight from theory/model.md §2.2, §4.1.

A spatial loop belongs to the fanout of its component: it divides what a holder has if some holder
of the tensor, this one or one above it, is a memory at or below that fanout.

The outermost holder of a tensor keeps its tile whole. A lower one keeps what the loops below it use
at a time. Walk down from it: a temporal loop over a fully relevant variable uses another part in
each turn; where a window slides along the variable the window stays; any other loop, and the next
holder of the tensor, needs all that is left.

Example: `for m tile 1` around `[BUF] A, for n, for k` with A[m, k]: each turn of n uses the row of
A again, so BUF reserves K values. With k above n it reserves one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from tilewright.arch.components.components import Component, Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.verification.einsum_schedule import (
    EinsumSchedule,
    ScheduledHolder,
    ScheduledLoop,
    extents_below,
    turns_of_loops,
)
from tilewright.mapper.workload.einsum import Einsum, TensorAccess


@dataclass(frozen=True, slots=True)
class ReservedTile:
    """What one holder reserves in one instance of its memory.

    `values`: of the tensor; fractions where instances of a distributed memory share a tile.
    `bits_per_value`: width there. `loops_above`: loops that make the tile as small as it is.
    `is_outermost`: the holder is the tensor's outermost one.
    """

    holder: ScheduledHolder
    values: Fraction
    bits_per_value: Fraction
    loops_above: int
    is_outermost: bool

    @property
    def key(self) -> tuple[int, str]:
        """Storage node and tensor: Einsums that use the same node share its tile."""
        return self.holder.node, self.holder.tensor


class EinsumTiles:
    """The tiles of one Einsum on its path of components.

    `schedule`: its loops and holders; `flat`: the path, outermost component first.
    """

    def __init__(self, schedule: EinsumSchedule, einsum: Einsum, flat: FlatArch) -> None:
        self.schedule, self.einsum, self.flat = schedule, einsum, flat
        self._components = flat.components
        self._level = {c.name: level for level, c in enumerate(flat.components)}
        self._turns = turns_of_loops(schedule, einsum.bounds)
        self._holders = _moving_holders(schedule, einsum, self._level)

    def capacity(self, memory: str) -> float:
        """Return the bits of one instance of a memory, as this Einsum sees it."""
        component = self._components[self._level[memory]]
        assert isinstance(component, Memory)
        return component.size

    def lanes(self) -> dict[tuple[str, str], int]:
        """Return the lanes that spatial loops use, by component and dimension."""
        lanes: dict[tuple[str, str], int] = {}
        for loop, turns in zip(self.schedule.loops, self._turns, strict=True):
            if loop.is_spatial:
                key = loop.component, loop.dim
                lanes[key] = lanes.get(key, 1) * turns
        return lanes

    def tiles(self) -> tuple[ReservedTile, ...]:
        """Return the tile of each holder that stores something, in the order of the mapping."""
        return tuple(
            self._tile(place) for place, holder in enumerate(self._holders) if not holder.is_toll
        )

    def _tile(self, place: int) -> ReservedTile:
        holder = self._holders[place]
        access = self.einsum.access(holder.tensor)
        same = [h for h in self._holders[:place] if h.tensor == holder.tensor]
        deepest = max(self._level[h.component] for h in (*same, holder))
        end = self._first_loop_that_needs_all(place, access) if same else holder.loops_above
        above = self._loops_above(end, deepest)
        component = self._components[self._level[holder.component]]
        assert isinstance(component, Memory)
        width = component.bits_per_value.get(holder.tensor, access.bits_per_value)
        times = self.einsum.n_instances if holder.is_persistent else 1
        values = access.tile_size(extents_below(above, self.einsum.bounds)) * times
        return ReservedTile(
            holder,
            Fraction(values) / self._places(component),
            width,
            -1 if holder.is_persistent else len(above),
            not same,
        )

    def _loops_above(self, end: int, deepest: int) -> list[ScheduledLoop]:
        """Return the temporal loops before number `end`, and the spatial ones down to a level."""
        return [
            loop
            for number, loop in enumerate(self.schedule.loops)
            if (self._level[loop.component] <= deepest if loop.is_spatial else number < end)
        ]

    def _first_loop_that_needs_all(self, place: int, access: TensorAccess) -> int:
        """Return the number of the first loop below a holder at which its tile stops shrinking.

        `place`: of the holder among those of the Einsum. The number of loops if there is none.
        """
        holder = self._holders[place]
        level = self._level[holder.component]
        loops = self.schedule.loops
        lanes = [loop for loop in loops[: holder.loops_above] if loop.is_spatial]
        if any(self._level[loop.component] > level for loop in lanes):
            return holder.loops_above  # lanes that the tensor sees right below the holder
        end = self._next_holder(place)
        for number in range(holder.loops_above, end):
            loop = loops[number]
            if loop.is_spatial:
                if loop.component != holder.component:
                    return number
            elif access.relevance(loop.variable) == "partial":
                return number + 1
            elif access.relevance(loop.variable) == "irrelevant":
                return number
        return end

    def _next_holder(self, place: int) -> int:
        """Return how many loops stand above the holder down to which a tile shrinks.

        The tile of holder `place` shrinks with every loop below it, until the next holder of the
        same tensor, or the next holder of any tensor that has a loop between. Without one, with all
        loops.
        """
        holder = self._holders[place]
        for lower in self._holders[place + 1 :]:
            if lower.tensor == holder.tensor or lower.loops_above > holder.loops_above:
                return lower.loops_above
        return len(self.schedule.loops)

    def _places(self, memory: Component) -> Fraction:
        """Return how many instances of a memory spread over an Array share a tile."""
        below = self._components[self._level[memory.name] + 1 :]
        grid = next((component for component in below if component.spatial), None)
        lanes = self.lanes()
        if grid is None:
            return Fraction(1)
        fanouts = {dim.name: dim.fanout for dim in grid.spatial}
        return prod(
            (
                max(
                    Fraction(1),
                    Fraction(lanes[grid.name, dim.name] * dim.fanout, fanouts[dim.name]),
                )
                for dim in memory.physical_spatial
                if (grid.name, dim.name) in lanes
            ),
            start=Fraction(1),
        )


def _moving_holders(
    schedule: EinsumSchedule, einsum: Einsum, level: Mapping[str, int]
) -> tuple[ScheduledHolder, ...]:
    """Return the holders of an Einsum's tensors that count.

    All but for a copy, which reads the source and writes the destination: what the source has at or
    below the destination's innermost memory is the destination's own tile (docs/conventions.md §5).
    """
    tensors = set(einsum.tensors)
    holders = tuple(holder for holder in schedule.holders if holder.tensor in tensors)
    if not einsum.is_copy:
        return holders
    (written,) = einsum.outputs
    read = _read_by_copy(holders, written.tensor, level)
    return tuple(h for h in holders if h.tensor == written.tensor or h in read)


def _read_by_copy(
    holders: Sequence[ScheduledHolder], written: str, level: Mapping[str, int]
) -> list[ScheduledHolder]:
    """Return the holders of a copy's source above the innermost memory that holds `written`.

    If all are below it, the outermost one is read.
    """
    source = [h for h in holders if h.tensor != written]
    levels = [level[h.component] for h in source]
    destination = [level[h.component] for h in holders if h.tensor == written]
    innermost = max(destination, default=len(level))
    if source and min(levels) > innermost:
        return source[:1]
    return [h for h, place in zip(source, levels, strict=True) if place < innermost]
