"""A lower bound on the energy still to pay, on a grid of tile sizes (imperfect.md §5.3).

Every mapping, even or not, visits at least ceil(B / t) tiles of size t. So if loops need not
divide, the tiles of one variable fall into classes, one per value of ceil(B / t). A walk of the
template from the Compute up gives the cheapest completion from each combination of classes, with
prefix minima over the classes. Capacity is checked for each tile alone; latency is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod

import numpy as np

from tilewright.arch.components.components import Memory
from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.uneven.costs.slot_charges import ChargeBound
from tilewright.mapper.searches.uneven.costs.tile_chains import LaneRange
from tilewright.mapper.searches.uneven.costs.uneven_counts import (
    all_moved,
    groups_of,
    least_moved,
    tile_values,
)
from tilewright.mapper.searches.uneven.search_parts import choice_classes
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Reservation, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops

MOST_POINTS = 100_000
MOST_KEPT = 20_000_000  # numbers in outlooks, counted once: some 500 MB


@dataclass(frozen=True, slots=True)
class TileClasses:
    """Classes of the tile sizes of one rank variable, ascending, for lower bounds.

    Tiles of one class cover the variable with the same number of tiles (or similar ones, if
    classes were merged). `smallest`, `largest`: tile sizes of each class, in values; `fewest`: the
    fewest tiles of a class that cover the variable; `of_tile`: the class of each size, -1 if none.
    """

    smallest: Ints
    largest: Ints
    fewest: Floats
    of_tile: Ints


def tile_classes(bound: int, uneven: bool, merge: int) -> TileClasses:
    """Sort the tile sizes of a variable into classes by the number of tiles that cover it.

    `bound`: its values; `uneven`: any size may occur, else divisors only; `merge`: how many
    neighbouring classes become one, except for the first and last.
    """
    tiles = np.arange(1, bound + 1) if uneven else np.array(divisors(bound), np.int64)
    counts = -(-bound // tiles)
    number = np.cumsum(np.concatenate([[0], counts[1:] != counts[:-1]]))
    last = int(number[-1])
    number = np.where((number == 0) | (number == last), number, (number - 1) // merge + 1)
    number = np.unique(number, return_inverse=True)[1].astype(np.int64)
    first = np.concatenate([[True], number[1:] != number[:-1]])
    ends = np.concatenate([first[1:], [True]])
    of_tile = np.full(bound + 1, -1, np.int64)
    of_tile[tiles] = number
    return TileClasses(tiles[first], tiles[ends], counts[ends].astype(np.float64), of_tile)


@dataclass(frozen=True, slots=True)
class SlotBound:
    """The least energy still to pay at one slot, which templates with equal slots below share.

    `number`: names it. `above`: from the tile above the slot; `charged`: the same after the
    charges there; `within`: once the first variables of the slot have their loops. Arrays of
    joules by class of tile of each variable. A template is a mapping without its loops; a slot is
    a place of a template for loops, a fill or a reserved tile.
    """

    number: int
    above: Floats
    charged: Floats
    within: tuple[Floats, ...]


Due = tuple[str, float, float, float]  # tensor, rate, lanes, first: see Floor
Key = tuple[int | None, Slot | None, tuple[Due, ...]]  # number of the place below, slot, floors


class TileGrid:
    """All combinations of classes of tile sizes, one axis per rank variable, for lower bounds.

    Tiles of a class cover their variable with the same number of tiles. Lower bounds of energy are
    arrays of this shape. Classes are merged until there are at most 100,000 combinations. `axes`:
    classes per variable; `shape`: their numbers; `slot_bounds`: bounds that templates (mappings
    without their loops) share.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.bounds = dict(problem.einsum.bounds)
        self.variables = tuple(self.bounds)
        merge = 1
        while True:
            self.axes = [
                tile_classes(b, v in problem.uneven, merge) for v, b in self.bounds.items()
            ]
            self.shape = tuple(len(axis.smallest) for axis in self.axes)
            if prod(self.shape) <= MOST_POINTS or merge > max(self.bounds.values()):
                break
            merge *= 2
        self._moved: dict[str, Floats] = {}
        self.slot_bounds: dict[Key, SlotBound] = {}
        self._places = 0

    def next_number(self) -> int:
        """Return a new number to name a SlotBound (bounds at one slot), counted up from 1."""
        self._places += 1
        return self._places

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """How far the flat index of the grid moves with one class of tiles, per rank variable.

        The grid has all combinations of classes of tile sizes, one axis per rank variable.
        """
        return tuple(prod(self.shape[i + 1 :]) for i in range(len(self.shape)))

    def along(self, variable: int, values: Floats | Ints) -> Floats:
        """Reshape one number per class of tile sizes of a variable to combine with grid arrays.

        `variable`: its number; `values`, shape (classes,). The result has length 1 along the axes
        of all other variables.
        """
        shape = [1] * len(self.shape)
        shape[variable] = len(values)
        return np.asarray(values, np.float64).reshape(shape)

    def _fewest(self, variable: str) -> Floats:
        number = self.variables.index(variable)
        return self.along(number, self.axes[number].fewest)

    def least_moved(self, tensor: str) -> Floats:
        """Return a lower bound of how many values of a tensor move, by class of tile sizes.

        One axis per rank variable. Each variable takes at least ceil(bound / tile) tiles.
        """
        if tensor not in self._moved:
            access = self.problem.einsum.access(tensor)
            total = all_moved(
                groups_of(access),
                self.variables,
                lambda group: least_moved(group, self.bounds, self._fewest),
                self._fewest,
            )
            self._moved[tensor] = np.ascontiguousarray(np.broadcast_to(total, self.shape))
        return self._moved[tensor]

    def capacity_penalty(self, slot: Reservation) -> Floats:
        """Return infinity where a tile of the class surely does not fit its memory, else 0.

        `slot`: the reservation; checked with the smallest tile of each class, alone in its memory.
        Broadcasts to the shape of the classes: one axis per rank variable.
        """
        memory = self.problem.holder(slot.component)
        assert isinstance(memory, Memory)
        access = self.problem.einsum.access(slot.tensor)
        smallest = {
            v: self.along(i, axis.smallest)
            for i, (v, axis) in enumerate(zip(self.variables, self.axes, strict=True))
            if v in access.rank_variables
        }
        bits = tile_values(access, smallest) * self.problem.value_bits(slot)
        return np.where(bits > memory.size, inf, 0.0)

    def over_loop(self, remaining: Floats, variable: str) -> Floats:
        """Return the least energy still to pay above a loop over a variable, from that below.

        Joules, with one axis of tile classes per rank variable. Any smaller tile may follow below
        the loop, so it is a running minimum along that axis.
        """
        return np.minimum.accumulate(remaining, axis=self.variables.index(variable))

    def over_lanes(self, remaining: Floats, loops: SpatialLoops) -> list[Floats]:
        """Return the least energy still to pay above each variable of a dimension, last one first.

        `remaining`: joules below the dimension, shape of the grid. Choices are taken in groups of
        similar numbers of lanes; with several groups any smaller tile may follow until all
        variables are distributed. A lane is one instance along a dimension of a fanout.
        """
        by_group = [self._over_choice(remaining, loops, choice) for choice in _lane_ranges(loops)]
        if len(by_group) == 1:
            return by_group[0]
        steps = [remaining]
        for number in range(len(loops.variables) - 1, 0, -1):
            name = loops.variables[number]
            has_lanes = max(loops.lanes_of(name)) > 1
            steps.append(self.over_loop(steps[-1], name) if has_lanes else steps[-1])
        return [*steps[1:], np.minimum.reduce([bounds[-1] for bounds in by_group])]

    def _over_choice(
        self, remaining: Floats, loops: SpatialLoops, choice: Sequence[LaneRange]
    ) -> list[Floats]:
        steps = [remaining]
        for name, (fewest_lanes, most_lanes) in reversed(
            list(zip(loops.variables, choice, strict=True))
        ):
            steps.append(
                self._over_variable(steps[-1], self.variables.index(name), fewest_lanes, most_lanes)
            )
        return steps[1:]

    def _over_variable(
        self, remaining: Floats, number: int, fewest_lanes: int, most_lanes: int
    ) -> Floats:
        """Return the remaining energy above a spatial loop over one variable.

        With tile t_a above and t_b below: t_a <= most_lanes x t_b, and t_a exceeds what
        fewest_lanes - 1 tiles t_b hold.
        """
        if most_lanes == 1:
            return remaining
        axis = self.axes[number]
        low = np.searchsorted(most_lanes * axis.largest, axis.smallest)
        limit = axis.largest if fewest_lanes == 1 else (axis.largest - 1) // (fewest_lanes - 1)
        high = np.searchsorted(axis.smallest, limit, side="right")
        high = np.minimum(high, np.arange(len(high)) + 1)
        return np.moveaxis(range_min(np.moveaxis(remaining, number, 0), low, high), 0, number)


def range_min(values: Floats, low: Ints, high: Ints) -> Floats:
    """Return the minimum of values[low[i]:high[i]] along the first axis for each i.

    Shapes: `values` and the result (rows, ...), `low` and `high` (rows,). Infinity where the range
    is empty.
    """
    out = np.full(values.shape, inf)
    spans = np.maximum(high - low, 0)
    size, minima = 1, values
    while (spans >= size).any():
        rows = np.flatnonzero((spans >= size) & (spans < 2 * size))
        out[rows] = np.minimum(minima[low[rows]], minima[high[rows] - size])
        minima = np.minimum(minima[:-size], minima[size:])
        size *= 2
    return out


def _lane_ranges(loops: SpatialLoops) -> Sequence[tuple[LaneRange, ...]]:
    """Return the least and the most lanes of each variable, per group of choices."""
    return [
        tuple(LaneRange.of(lanes) for lanes in zip(*choices, strict=True))
        for choices in choice_classes(loops)
    ]


@dataclass(frozen=True, slots=True)
class RemainingEnergy:
    """The least joules still to pay at each slot of a template, by class of tile.

    `above[i]`: from the tile above slot i; `charged[i]`: the same after the charges there;
    `within[i][j]`: at slot i once its first j variables have their loops (after the last: above
    slot i + 1). A template is a mapping without its loops; a slot is a place of a template for
    loops, a fill or a reserved tile.
    """

    above: tuple[Floats, ...]
    charged: tuple[Floats, ...]
    within: tuple[tuple[Floats, ...], ...]

    @property
    def least(self) -> float:
        """Least joules that any mapping of the template pays for what moves, for one instance.

        The Compute's operations are not in it. Infinity if it is certain that no mapping fits. A
        template is a mapping without its loops.
        """
        return float(self.above[0].reshape(-1)[-1])


def remaining_energy(
    grid: TileGrid, slots: Sequence[Slot], floors: Sequence[ChargeBound]
) -> RemainingEnergy:
    """Return lower bounds of the energy still to pay at each slot of a template.

    A walk from the Compute up over classes of tile sizes (theory/imperfect.md §5.3). `floors`:
    lower bounds of the charges. Slots that templates share at the bottom are computed once. A
    template is a mapping without its loops; a slot is a place of a template for loops, a fill or a
    reserved tile.
    """
    places = [_at_compute(grid, [f for f in floors if f.slot == len(slots)])]
    for index in range(len(slots) - 1, -1, -1):
        due = tuple((f.tensor, f.rate, f.lanes, f.first_fills) for f in floors if f.slot == index)
        places.append(_above_slot(grid, places[-1], slots[index], due))
    places.reverse()
    return RemainingEnergy(
        tuple(place.above for place in places),
        tuple(place.charged for place in places),
        tuple(place.within for place in places[:-1]),
    )


def _at_compute(grid: TileGrid, floors: Sequence[ChargeBound]) -> SlotBound:
    due = tuple((f.tensor, f.rate, f.lanes, f.first_fills) for f in floors)
    key: Key = (None, None, due)
    if key not in grid.slot_bounds:
        paid: Floats = np.full(grid.shape, inf)
        paid[(0,) * len(grid.shape)] = 0.0
        grid.slot_bounds[key] = SlotBound(grid.next_number(), _charged(grid, paid, due), paid, ())
    return grid.slot_bounds[key]


def _above_slot(
    grid: TileGrid, bound_below: SlotBound, slot: Slot, due: tuple[Due, ...]
) -> SlotBound:
    key: Key = (bound_below.number, slot, due)
    if key in grid.slot_bounds:
        return grid.slot_bounds[key]
    steps = [bound_below.above]
    if isinstance(slot, TemporalLoops) and not slot.single:
        for variable in reversed(slot.variables):
            steps.append(grid.over_loop(steps[-1], variable))
    elif isinstance(slot, TemporalLoops):
        steps.append(np.minimum.reduce([grid.over_loop(steps[-1], v) for v in slot.variables]))
    elif isinstance(slot, SpatialLoops):
        steps += grid.over_lanes(steps[-1], slot)
    elif isinstance(slot, Reservation):
        steps.append(steps[-1] + grid.capacity_penalty(slot))
    charged = _charged(grid, steps[-1], due)
    place = SlotBound(grid.next_number(), charged, steps[-1], tuple(reversed(steps)))
    if len(grid.slot_bounds) * charged.size < MOST_KEPT:
        grid.slot_bounds[key] = place
    return place


def _charged(grid: TileGrid, remaining: Floats, due: tuple[Due, ...]) -> Floats:
    for tensor, rate, lanes, first in due:
        remaining = remaining + rate * np.maximum(grid.least_moved(tensor) / lanes - first, 0.0)
    return remaining
