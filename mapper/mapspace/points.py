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
from math import inf
from typing import Any

import numpy as np

from tilewright.arch.components.components import Memory
from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.lattice_steps import completions_above, states_below
from tilewright.mapper.mapspace.point_capacity import reserved_bits
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.required_tile_shape import required_tile_shape
from tilewright.mapper.templates.slots import Fill, Reservation, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import Choice, DimName, SpatialLoops, holds

Tiles = tuple[Tile, ...]
EXACT = 2.0**53  # whole numbers below are exact in float64, and so are their sums


class Points:
    """Enumerates, counts and samples the points of one template, that is, its mappings.

    A point gives each slot (a place for loops, a fill, a reservation) the tile below it, the last
    one a single iteration. `slots`: the slot sequence of `template`, outermost first. `lattice`:
    all divisor tiles of the Einsum, made if not given. `pins`: per slot, the tile_shape conditions
    on the tile above it. `memories`: names of those with finite capacity. A state is the index of
    a tile in the lattice; in the subclass `UnevenPoints` it also says which variables an uneven
    loop may still cut. A template is a mapping without its loops.
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
            yield from points._extend((), self._bounds, (0.0,) * len(self.memories))

    def without_capacity(self) -> Iterator[Tiles]:
        """Enumerate all points, fitting their memories or not, in a fixed order.

        A point is a tuple with the tile below each slot. tile_shape is obeyed.
        """

        def extend(tiles: Tiles, state: Any) -> Iterator[Tiles]:
            if len(tiles) == len(self.slots):
                yield tiles
                return
            for option in self.options(len(tiles), state):
                yield from extend((*tiles, self.tile_of(option)), option)

        yield from extend((), self.start())

    def with_chosen_lanes(self) -> Iterator[Points]:
        """Yield the same points in disjoint parts, one for each choice of lanes of open dimensions.

        An open dimension is one whose lanes (instances in use) multiply the tile of some
        reservation. If there is none, the only part is this object itself. A point is one choice
        of all tile sizes of a template (a mapping without loops).
        """
        open_dims = self._open_dims()
        if not open_dims:
            yield self
            return
        for chosen in product(*(loops.choices for loops in open_dims)):
            lanes = {loops.dim: c for loops, c in zip(open_dims, chosen, strict=True)}
            slots = [_with_chosen_lanes(slot, open_dims, lanes) for slot in self.slots]
            yield Points(self.problem, self.template, slots, self.lattice)

    def _open_dims(self) -> list[SpatialLoops]:
        """Return the dimensions whose lanes some reservation depends on."""
        names = {n for slot in self.slots if isinstance(slot, Reservation) for n in slot.open_dims}
        dims = (slot for slot in self.slots if isinstance(slot, SpatialLoops))
        return [loops for loops in dims if loops.dim in names]

    def _extend(self, tiles: Tiles, tile: Tile, used: tuple[float, ...]) -> Iterator[Tiles]:
        index = len(tiles)
        if index == len(self.slots):
            if all(extent == 1 for extent in tile):
                yield tiles
            return
        used_below = self.bits_after(index, tile, used)
        if used_below is None:
            return
        for tile_below in self._tiles_below(index, tile):
            yield from self._extend((*tiles, tile_below), tile_below, used_below)

    def bits_after(
        self, index: int, tile: Tile, used: tuple[float, ...]
    ) -> tuple[float, ...] | None:
        """Return the bits in use of each memory below slot `index`, from those above it.

        `tile`: the one above the slot; `used`: bits per memory, in the order of `memories`. None
        if tile_shape at the slot refuses the tile, or if its memory has too little capacity. A
        slot is a place of a template (a mapping without loops) for loops, a fill or a reserved
        tile.
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

    def _tiles_below(self, index: int, tile: Tile) -> Iterator[Tile]:
        """Yield the tiles that the loops of slot `index` can leave of the tile above it.

        They divide it; for temporal loops, only tiles that later slots can bring to one iteration.
        """
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
        """Number of points (choices of the tile below each slot), exact, fitting or not.

        Whether tiles fit their memories is not looked at; tile_shape is obeyed. Raises
        TilewrightError if there are too many uneven tiles to count them.
        """
        return self.completions(0, self.start())

    def sample(self, rng: random.Random) -> Tiles:
        """Draw one point uniformly from all points, whether they fit their memories or not.

        A point is one choice of all tile sizes of a template (a mapping without loops): the result
        has the tile below each of its slots. There must be at least one point (`count` > 0). Raises
        TilewrightError if there are too many uneven tiles to count them.
        """
        state, tiles = self.start(), []
        for index in range(len(self.slots)):
            weighted = self._weighted(index, state)
            ticket = rng.randrange(sum(weight for _, weight in weighted))
            for option, weight in weighted:
                ticket -= weight
                if ticket < 0:
                    state = option
                    break
            tiles.append(self.tile_of(state))
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
            admitted = self.admitted(index)
            tables.append(counts if admitted is None else np.where(admitted, counts, 0))
            counts = tables[-1]
        return tables

    def completions(self, index: int, state: Any) -> int:
        """Return the number of ways to go on from a tile above slot `index` to a single iteration.

        A completion chooses the tiles below slot `index` and all later ones; capacity is not
        looked at. `state`: index of the tile. The number is exact. A slot is a place of a template
        (a mapping without loops) for loops, a fill or a reserved tile.
        """
        return int(self._counts()[len(self.slots) - index][state])

    def completions_by_state(self, index: int) -> Any:
        """Return, for each tile above slot `index`, how many ways lead to a single iteration.

        Exact whole numbers, shape (states,), as float64 or, if too large for that, Python
        integers. A slot is a place of a template (a mapping without loops) for loops, a fill or a
        reserved tile.
        """
        return self._counts()[len(self.slots) - index]

    def admitted(self, index: int) -> Any:
        """Return for each tile whether tile_shape admits it above slot `index`, shape (states,).

        None if the architecture file sets no tile_shape there. A slot is a place of a template (a
        mapping without loops) for loops, a fill or a reserved tile.
        """
        if not self.pins[index]:
            return None
        return self.lattice.admitted(self.pins[index])

    def admits(self, index: int, tile: Sequence[int]) -> bool:
        """Tell whether tile_shape of the architecture file admits a tile above slot `index`.

        `tile`: an extent in values per rank variable. True where the file sets none. A slot is a
        place of a template (a mapping without loops) for loops, a fill or a reserved tile.
        """
        named = dict(zip(self._names, tile, strict=True))
        return all(holds(comparison, named) for comparison in self.pins[index])

    def refusal(self, tiles: Tiles) -> str | None:
        """Return which tile_shape of the architecture a point breaks, in words; None if none.

        `tiles`: the tile below each slot.
        """
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
        """Return the state (index of a tile) above the first slot: the whole iteration space.

        A slot is a place of a template (a mapping without loops) for loops, a fill or a reserved
        tile.
        """
        return self.lattice.size - 1

    def tile_of(self, state: Any) -> Tile:
        """Return the tile of a state: an extent in values per rank variable.

        A state is the index of a tile among all whose extents divide the bounds.
        """
        return tuple(self.lattice.tiles[state].tolist())

    def successors(self, index: int, state: Any) -> list[Any]:
        """Return the states below slot `index` from which later slots have all needed loops.

        `state`: the tile above the slot. Unlike `options` it does not check that choices of lanes
        and tile_shape further down leave a completion. A slot is a place of a template (a mapping
        without loops) for loops, a fill or a reserved tile; a lane is one instance along a
        dimension of a fanout.
        """
        below = states_below(self.lattice, self.slots[index], state)
        return [s for s in below if self._can_finish(index, self.tile_of(s))]

    def options(self, index: int, state: Any) -> list[Any]:
        """Return the states below slot `index` from which at least one point can be completed.

        `state`: the tile above the slot; capacity is not looked at. A slot is a place of a
        template (a mapping without loops) for loops, a fill or a reserved tile; a point is one
        choice of all tile sizes of a template.
        """
        return [option for option, _ in self._weighted(index, state)]

    def _weighted(self, index: int, state: Any) -> list[tuple[Any, int]]:
        """Return the options below slot `index`, each with the number of its completions."""
        counts = self._counts()[len(self.slots) - 1 - index]
        below = states_below(self.lattice, self.slots[index], state)
        return [(s, int(counts[s])) for s in below if counts[s]]


def _with_chosen_lanes(
    slot: Slot, open_dims: Sequence[SpatialLoops], chosen: Mapping[DimName, Choice]
) -> Slot:
    """Return a slot of a template in which the open dimensions have one choice of lanes each."""
    if isinstance(slot, SpatialLoops) and slot.dim in chosen:
        return replace(slot, choices=(chosen[slot.dim],))
    if not isinstance(slot, Reservation) or not slot.open_dims:
        return slot
    lanes = dict(slot.lanes)
    for loops in open_dims:
        if loops.dim in slot.open_dims:
            for variable, number in zip(loops.variables, chosen[loops.dim], strict=True):
                lanes[variable] = lanes.get(variable, 1) * number
    distributed = tuple(sorted((v, number) for v, number in lanes.items() if number > 1))
    return replace(slot, lanes=distributed, open_dims=())
