"""The points of one template: a tile below each slot, the last one of a single iteration.

A point is a chain of tiles from the whole iteration space to the unit tile. Over m = 4, three slots
of which the first and the last are temporal loops over m have the points (4, 4, 1), (2, 2, 1) and
(1, 1, 1). Points are counted from the innermost slot up: the completions of a tile are the chains
below it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import inf, prod
from operator import floordiv
from typing import Any

import numpy as np

from tilewright.arch.components.components import Memory
from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem, required_tile_shape
from tilewright.mapper.templates.slots import Fill, Reservation, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import (
    Choice,
    DimName,
    SpatialLoops,
    divisors,
    holds,
)

Tiles = tuple[Tile, ...]
EXACT = 2.0**53  # whole numbers below are exact in float64, and so are their sums


class Points:
    """Enumerates, counts and samples the points of `slots`, the slot sequence of `template`.

    `lattice`: that of the Einsum, made if it is not given. `pins`: per slot, the tile_shape that
    must hold above it. `memories`: those of finite capacity. A state is the index of a tile in the
    lattice; with uneven loops (UnevenPoints) it is the tile and the variables still to be cut.
    """

    def __init__(
        self,
        problem: Problem,
        template: Template,
        slots: Sequence[Slot],
        lattice: Lattice | None = None,
    ) -> None:
        self.problem = problem
        self.template = template
        self.slots = tuple(slots)
        self._names = tuple(problem.einsum.bounds)
        self._bounds = tuple(problem.einsum.bounds.values())
        self._later = self._variables_later()
        self.pins = [required_tile_shape(problem, template, slot) for slot in self.slots]
        self.lattice = lattice or Lattice(problem.einsum.bounds)
        self._completions: list[Any] | None = None
        self.memories = tuple(
            c.name for c in problem.components if isinstance(c, Memory) and c.size < inf
        )

    def _variables_later(self) -> list[frozenset[str]]:
        later: list[frozenset[str]] = [frozenset()]
        for slot in reversed(self.slots[1:]):
            variables = (
                frozenset(slot.variables)
                if isinstance(slot, (TemporalLoops, SpatialLoops))
                else frozenset()
            )
            later.append(later[-1] | variables)
        return later[::-1]

    def __iter__(self) -> Iterator[Tiles]:
        """Enumerate the points whose tiles fit, in a fixed order."""
        for points in self.with_chosen_lanes():
            yield from points.with_fixed_lanes()

    def with_fixed_lanes(self) -> Iterator[Tiles]:
        """Enumerate the points that fit, if no reservation waits for lanes to be chosen."""
        return self._extend((), self._bounds, (0.0,) * len(self.memories))

    def without_capacity(self) -> Iterator[Tiles]:
        """Enumerate all points, whether they fit or not, in a fixed order."""

        def extend(tiles: Tiles, state: Any) -> Iterator[Tiles]:
            if len(tiles) == len(self.slots):
                yield tiles
                return
            for option in self.options(len(tiles), state):
                yield from extend((*tiles, self.tile_of(option)), option)

        yield from extend((), self.start())

    def with_chosen_lanes(self) -> Iterator[Points]:
        """Yield the same points in parts, one for each choice of the open dimensions."""
        open_dims = self._open_dims()
        if not open_dims:
            yield self
            return
        for chosen in product(*(loops.choices for loops in open_dims)):
            lanes = {(d.component, d.name): c for d, c in zip(open_dims, chosen, strict=True)}
            slots = [_with_chosen_lanes(slot, open_dims, lanes) for slot in self.slots]
            yield Points(self.problem, self.template, slots, self.lattice)

    def _open_dims(self) -> list[SpatialLoops]:
        """Return the dimensions whose lanes some reservation depends on."""
        names = {n for slot in self.slots if isinstance(slot, Reservation) for n in slot.open_dims}
        dims = (slot for slot in self.slots if isinstance(slot, SpatialLoops))
        return [loops for loops in dims if (loops.component, loops.name) in names]

    def _extend(self, tiles: Tiles, tile: Tile, used: tuple[float, ...]) -> Iterator[Tiles]:
        index = len(tiles)
        if index == len(self.slots):
            if all(extent == 1 for extent in tile):
                yield tiles
            return
        used_below = self.bits_after(index, tile, used)
        if used_below is None:
            return
        for tile_below in self.tiles_below(index, tile):
            yield from self._extend((*tiles, tile_below), tile_below, used_below)

    def bits_after(
        self, index: int, tile: Tile, used: tuple[float, ...]
    ) -> tuple[float, ...] | None:
        """Return the bits in use of each of `memories` below slot `index`, from those above it.

        None if the slot refuses the tile above it, or its memory has no capacity for it.
        """
        slot = self.slots[index]
        if not self.admits(index, tile):
            return None
        if not isinstance(slot, Reservation) or slot.component not in self.memories:
            return used
        memory = self.memories.index(slot.component)
        named = dict(zip(self._names, tile, strict=True))
        bits = used[memory] + reserved_bits(self.problem, slot, named)
        if bits > self.problem.capacity_bits(slot):
            return None
        return (*used[:memory], bits, *used[memory + 1 :])

    def tiles_below(self, index: int, tile: Tile) -> Iterator[Tile]:
        """Yield the tiles that slot `index` can leave of the one above it."""
        slot = self.slots[index]
        if isinstance(slot, SpatialLoops):
            yield from self._tiles_per_lane(slot, tile)
            return
        variables = slot.variables if isinstance(slot, TemporalLoops) else ()
        is_single = isinstance(slot, TemporalLoops) and slot.single
        choices = [
            divisors(extent) if name in variables else (extent,)
            for name, extent in zip(self._names, tile, strict=True)
        ]
        for tile_below in product(*choices):
            if is_single and sum(a != b for a, b in zip(tile, tile_below, strict=True)) > 1:
                continue
            if self._can_finish(index, tile_below):
                yield tile_below

    def _can_finish(self, index: int, tile: Tile) -> bool:
        later = self._later[index]
        return all(e == 1 or v in later for v, e in zip(self._names, tile, strict=True))

    def _tiles_per_lane(self, loops: SpatialLoops, tile: Tile) -> Iterator[Tile]:
        """Yield the tile of one lane for each choice whose lanes divide the tile above."""
        for choice in loops.choices:
            lanes = dict(zip(loops.variables, choice, strict=True))
            pairs = [(e, lanes.get(v, 1)) for v, e in zip(self._names, tile, strict=True)]
            if all(extent % number == 0 for extent, number in pairs):
                yield tuple(extent // number for extent, number in pairs)

    @property
    def count(self) -> int:
        """Number of points before capacity is looked at (exact)."""
        return int(self._counts()[-1][-1])

    def sample(self, rng: random.Random) -> Tiles:
        """Draw one point uniformly, before capacity is looked at."""
        counts, lattice = self._counts(), self.lattice
        state, tiles = lattice.size - 1, []
        for index, slot in enumerate(self.slots):
            weights = counts[len(self.slots) - 1 - index]
            options = [s for s in states_below(lattice, slot, state) if weights[s]]
            ticket = rng.randrange(sum(int(weights[s]) for s in options))
            for option in options:
                ticket -= int(weights[option])
                if ticket < 0:
                    state = option
                    break
            tiles.append(tuple(lattice.tiles[state].tolist()))
        return tuple(tiles)

    def _counts(self) -> list[Any]:
        """Return the completions of each state, below the last slot first.

        Whole numbers: float64 if it holds all of them exactly, else Python integers.
        """
        if self._completions is None:
            tables = self._tabulated(np.float64)
            exact = all(float(table.max()) < EXACT for table in tables)
            self._completions = tables if exact else self._tabulated(object)
        return self._completions

    def _tabulated(self, kind: type) -> list[Any]:
        lattice = self.lattice
        counts: Any = np.zeros(lattice.size, kind)
        counts[0] = 1
        tables = [counts]
        for index in range(len(self.slots) - 1, -1, -1):
            counts = completions_above(lattice, self.slots[index], counts)
            for state, tile in enumerate(lattice.tiles.tolist() if self.pins[index] else ()):
                if not self.admits(index, tile):
                    counts[state] = 0
            tables.append(counts)
        return tables

    def completions(self, index: int, state: Any) -> int:
        """Return the number of completions of the tile above slot `index`, exact."""
        return int(self._counts()[len(self.slots) - index][state])

    def completions_by_state(self, index: int) -> Any:
        """Return the completions of each tile above slot `index`, exact, shape (states,)."""
        return self._counts()[len(self.slots) - index]

    def admitted(self, index: int) -> Any:
        """Tell for each state whether the tile_shape at slot `index` lets it pass.

        Shape (states,); None if there is no tile_shape.
        """
        if not self.pins[index]:
            return None
        return self.lattice.admitted(self.pins[index])

    def admits(self, index: int, tile: Sequence[int]) -> bool:
        """Tell whether the tile_shape of the holder at slot `index` lets the tile there pass."""
        named = dict(zip(self._names, tile, strict=True))
        return all(holds(comparison, named) for comparison in self.pins[index])

    def refusal(self, tiles: Tiles) -> str | None:
        """Return which tile_shape a point breaks, in words."""
        tiles_above = (self._bounds, *tiles[:-1])
        for index, slot in enumerate(self.slots):
            if isinstance(slot, Fill) and not self.admits(index, tiles_above[index]):
                shape = ", ".join(
                    f"{v} {n}" for v, n in zip(self._names, tiles_above[index], strict=True)
                )
                return (
                    f"tile_shape of {slot.component} refuses the tile above {slot.tensor}: {shape}"
                )
        return None

    def start(self) -> Any:
        """Return the state above the first slot: the whole iteration space."""
        return self.lattice.size - 1

    def tile_of(self, state: Any) -> Tile:
        """Return the tile of a state."""
        return tuple(self.lattice.tiles[state].tolist())

    def successors(self, index: int, state: Any) -> list[Any]:
        """Return the states that slot `index` can leave of the one above it."""
        below = states_below(self.lattice, self.slots[index], state)
        return [s for s in below if self._can_finish(index, self.tile_of(s))]

    def options(self, index: int, state: Any) -> list[Any]:
        """Return the successors from which the remaining slots can be completed."""
        counts = self._counts()[len(self.slots) - 1 - index]
        return [s for s in states_below(self.lattice, self.slots[index], state) if counts[s]]


def _with_chosen_lanes(
    slot: Slot, open_dims: Sequence[SpatialLoops], chosen: Mapping[DimName, Choice]
) -> Slot:
    """Return a slot of a template in which the open dimensions have one choice of lanes each."""
    if isinstance(slot, SpatialLoops) and (slot.component, slot.name) in chosen:
        return replace(slot, choices=(chosen[slot.component, slot.name],))
    if not isinstance(slot, Reservation) or not slot.open_dims:
        return slot
    lanes = dict(slot.lanes)
    for loops in open_dims:
        dim = (loops.component, loops.name)
        if dim in slot.open_dims:
            for variable, number in zip(loops.variables, chosen[dim], strict=True):
                lanes[variable] = lanes.get(variable, 1) * number
    distributed = tuple(sorted((v, number) for v, number in lanes.items() if number > 1))
    return replace(slot, lanes=distributed, open_dims=())


def completions_above(lattice: Lattice, slot: Slot, completions: Any) -> Any:
    """Return the completions of each state above a slot from those below it, shape (states,)."""
    if isinstance(slot, SpatialLoops):
        total = np.zeros(lattice.shape, completions.dtype)
        for shift in lattice.shifts(slot.variables, slot.choices):
            upper_states, lower_states = lattice.meeting(shift)
            total[upper_states] += completions.reshape(lattice.shape)[lower_states]
        return total.reshape(-1)
    if not isinstance(slot, TemporalLoops):
        return completions.copy()
    groups = [(v,) for v in slot.variables] if slot.single else [slot.variables]
    sums = [_summed_below(lattice, group, completions) for group in groups]
    return sum(sums) - (len(sums) - 1) * completions  # no loop at all is in each sum


def _summed_below(lattice: Lattice, variables: Sequence[str], completions: Any) -> Any:
    """Return, per state, the sum over all tiles that loops over the variables can leave."""
    shaped = completions.reshape([axis.radix for axis in lattice.axes] or [1])
    for number, axis in enumerate(lattice.axes):
        if lattice.variables[axis.variable] in variables:
            shaped = np.cumsum(shaped, axis=number)
    return shaped.reshape(-1)


def states_below(lattice: Lattice, slot: Slot, state: int) -> list[int]:
    """Return the states that a slot can leave of the one above it, ascending."""
    if isinstance(slot, SpatialLoops):
        shifts = lattice.shifts(slot.variables, slot.choices)
        possible = shifts[(shifts <= lattice.digits[state]).all(axis=1)]
        return [state - lattice.offset(shift) for shift in possible]
    if not isinstance(slot, TemporalLoops):
        return [state]
    groups = [(v,) for v in slot.variables] if slot.single else [slot.variables]
    states = [state]
    for group in groups:
        reached = [state]
        for axis in lattice.axes_of(group):
            steps = range(int(lattice.digits[state, lattice.axes.index(axis)]) + 1)
            reached = [s - step * axis.stride for s in reached for step in steps]
        states += reached
    return sorted(set(states))


def reserved_bits(problem: Problem, slot: Reservation, tile: Mapping[str, int]) -> float:
    """Return the bits that a tile of a tensor needs in its memory (model.md §4.2)."""
    if slot.lanes:
        tile = {**tile, **{v: tile[v] * lanes for v, lanes in slot.lanes}}
    return problem.einsum.access(slot.tensor).tile_size(tile) * problem.value_bits(slot)


def occupied(problem: Problem, slots: Sequence[Slot], tiles: Tiles) -> dict[str, dict[str, float]]:
    """Return the bits that a point reserves, by memory and tensor."""
    tile_above = tuple(problem.einsum.bounds.values())
    used: dict[str, dict[str, float]] = {}
    lanes: dict[tuple[str, str], Tile] = {}
    for slot, tile in zip(slots, tiles, strict=True):
        if isinstance(slot, SpatialLoops):
            lanes[slot.component, slot.name] = tuple(map(floordiv, tile_above, tile))
        elif isinstance(slot, Reservation):
            seen = tuple(
                map(prod, zip(tile_above, *(lanes[name] for name in slot.open_dims), strict=True))
            )
            named = dict(zip(problem.einsum.bounds, seen, strict=True))
            bits = reserved_bits(problem, slot, named)
            used.setdefault(slot.component, {})[slot.tensor] = bits
        tile_above = tile
    return used


def overflow(
    problem: Problem, slots: Sequence[Slot], tiles: Tiles
) -> tuple[str, dict[str, float], float] | None:
    """Return the first memory that a point overfills, the bits of each tensor there, its size."""
    sizes = {s.component: problem.capacity_bits(s) for s in slots if isinstance(s, Reservation)}
    for name, bits_of in occupied(problem, slots, tiles).items():
        if sum(bits_of.values()) > sizes[name]:
            return name, bits_of, sizes[name]
    return None
