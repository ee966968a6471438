"""Decide exactly whether a template has any mapping, and return one.

Bottom-up over the lattice of tile shapes (theory/lattice.md §3), without costs: each state keeps
the least number of bits that the holders of one memory need below it. The holders of a memory are
consecutive, so one number suffices. Holders that stand apart (backing ones below spatial loops,
open hierarchies) take a set of vectors instead, see `apart.py` and `open_lanes.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from tilewright.arch.components.components import Memory
from tilewright.mapper.explain.apart import reach_apart
from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.lattice import Lattice, LatticeAxis
from tilewright.mapper.mapspace.lattice_steps import states_below
from tilewright.mapper.mapspace.point_capacity import overflow, reserved_bits
from tilewright.mapper.mapspace.points import Points
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.mapspace.uneven_points import UnevenPoints
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.templates.slots import Reservation, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops

Need = NDArray[np.float64]  # bits per state; inf: the state has no way on
Tiles = tuple[Tile, ...]


def _no_check() -> None:
    """Do nothing: the default for `check`, by which the search never ends early."""


def first_mapping(
    space: Mapspace, check: Callable[[], None] = _no_check
) -> tuple[Template, Tiles] | None:
    """Return a template of a mapspace with tiles that fit; None if the mapspace is empty. Exact.

    A template is a mapping without its loops; the tiles are those below each of its slots.
    Templates with few holders come first, because they need the least capacity. `check`: called
    once per step; it may raise to end the search.
    """
    lattice = Lattice(space.einsum.bounds)
    for template in sorted(space.templates_within(check), key=lambda t: len(t.holders)):
        tiles = reach(space.problem, template, lattice, check)
        if tiles is not None:
            return template, tiles
    return None


def reach(
    problem: Problem, template: Template, lattice: Lattice, check: Callable[[], None] = _no_check
) -> Tiles | None:
    """Decide whether a template has a mapping that keeps every rule, and find its tiles.

    A template is a mapping without its loops. Return the tile below each slot (a place for loops, a
    fill or a reservation), or None. Exact: a program over tile shapes keeps the least bits needed
    below each (theory/explain.md §3). `problem`: the Einsum and its path of components. `lattice`:
    its tile shapes. `check`: called once per step; it may raise to end the search.
    """
    check()
    slots = slot_sequence(problem, template)
    if any(isinstance(slot, SpatialLoops) and not slot.choices for slot in slots):
        return None
    sizes = binding(problem, slots)
    if not _smallest_fit(problem, slots, sizes):
        return None
    if problem.uneven:
        return reach_apart(UnevenPoints(problem, template, slots), check)
    if any(isinstance(slot, Reservation) and slot.open_dims for slot in slots):
        from tilewright.mapper.explain.open_lanes import reach_open

        return reach_open(problem, template)
    points = Points(problem, template, slots, lattice)
    loose = dict(_loose(slots, sizes))
    grouped = _last_together(loose)
    tiles = _together(points, grouped, sizes)
    if tiles is None or grouped == loose or overflow(problem, slots, tiles) is None:
        return tiles
    return reach_apart(points, check)


def binding(problem: Problem, slots: Sequence[Slot]) -> dict[str, float]:
    """Return the memories that a template can overfill, with the bits left for tiles that vary.

    Tiles above every loop and lane are whole tensors in any mapping; what they take is subtracted
    from the size. A memory in which whole tensors fit together is left out. `slots`: the template's
    places for loops, fills and reservations, outermost first.
    """
    whole_tile = tuple(problem.einsum.bounds.values())
    first_loop = _first_loop(slots)
    free_bits: dict[str, float] = {}
    for memory in (c.name for c in problem.components if isinstance(c, Memory)):
        reservations = _reservations_in(memory, slots)
        if not reservations:
            continue
        bits = {i: _bits(problem, slot, whole_tile) for i, slot in reservations.items()}
        size = problem.capacity_bits(next(iter(reservations.values())))
        if sum(bits.values()) > size:
            free_bits[memory] = size - sum(bits[i] for i in bits if i < first_loop)
    return free_bits


def _reservations_in(memory: str, slots: Sequence[Slot]) -> dict[int, Reservation]:
    """Return the reservations of a memory, by the numbers of their slots."""
    numbered = enumerate(slots)
    reservations = {i: slot for i, slot in numbered if isinstance(slot, Reservation)}
    return {i: slot for i, slot in reservations.items() if slot.component == memory}


def _first_loop(slots: Sequence[Slot]) -> int:
    """Return the number of the first slot of loops, temporal or spatial; len(slots) without any."""
    loops = (i for i, s in enumerate(slots) if isinstance(s, TemporalLoops | SpatialLoops))
    return next(loops, len(slots))


def _bits(problem: Problem, slot: Reservation, tile: Tile) -> float:
    named = dict(zip(problem.einsum.bounds, tile, strict=True))
    return reserved_bits(problem, slot, named)


def _loose(slots: Sequence[Slot], sizes: dict[str, float]) -> list[tuple[int, Reservation]]:
    """Return the reservations whose tiles vary: below a loop, in memories that can overflow.

    With their slot numbers. `sizes`: bits left in these memories.
    """
    first_loop = _first_loop(slots)
    return [
        (i, s)
        for i, s in enumerate(slots)
        if isinstance(s, Reservation) and s.component in sizes and i > first_loop
    ]


def _smallest_fit(problem: Problem, slots: Sequence[Slot], sizes: dict[str, float]) -> bool:
    """Tell whether even the smallest tile above each reservation fits its memory.

    `sizes`: free bits by memory; the tiles of a memory count together.
    """
    tiles = _smallest_tiles(problem, slots)
    smallest_bits = dict.fromkeys(sizes, 0.0)
    for index, slot in _loose(slots, sizes):
        smallest_bits[slot.component] += _bits(problem, slot, tiles[index])
    return all(smallest_bits[name] <= free_bits for name, free_bits in sizes.items())


def _smallest_tiles(problem: Problem, slots: Sequence[Slot]) -> list[Tile]:
    """Return the smallest tile above each slot.

    Loops leave one value of each of their variables, and dimensions have the most lanes.
    """
    tile, tiles_above = dict(problem.einsum.bounds), []
    for slot in slots:
        tiles_above.append(tuple(tile.values()))
        if isinstance(slot, TemporalLoops):
            tile |= dict.fromkeys(slot.variables, 1)
        elif isinstance(slot, SpatialLoops):
            for name, lanes in zip(slot.variables, zip(*slot.choices, strict=True), strict=True):
                tile[name] = -(-tile[name] // max(lanes))
    return tiles_above


def _last_together(loose: Mapping[int, Reservation]) -> dict[int, Reservation]:
    """Return, per memory, its last reservations with none of another memory in between.

    `loose`: reservations by slot. Those further up are left out.
    """
    grouped: dict[int, Reservation] = {}
    closed: set[str] = set()
    memory_below = ""
    for index, slot in sorted(loose.items(), reverse=True):
        if slot.component != memory_below:
            closed.add(memory_below)
        memory_below = slot.component
        if slot.component not in closed:
            grouped[index] = slot
    return dict(sorted(grouped.items()))


def _together(
    points: Points, loose: Mapping[int, Reservation], sizes: Mapping[str, float]
) -> Tiles | None:
    """Return tiles below each slot with which the reservations `loose` fit; None if there are none.

    `loose`: by number of the slot. `sizes`: free bits by memory. The reservations of a memory must
    be consecutive.
    """
    slots, lattice = points.slots, points.lattice
    tops = {slot.component: i for i, slot in sorted(loose.items(), reverse=True)}
    need = np.full(lattice.size, inf)
    need[0] = 0.0
    needs_below = [need]  # below[-1 - i]: what is needed below slot i
    for index in range(len(slots) - 1, -1, -1):
        slot = slots[index]
        if isinstance(slot, TemporalLoops):
            need = _over_loops(lattice, slot, need)
        elif isinstance(slot, SpatialLoops):
            need = _over_lanes(lattice, slot, need)
        elif index in loose:
            need = need + _all_bits(points.problem, loose[index], lattice)
            fits = need <= sizes[loose[index].component]
            top = tops[loose[index].component] == index
            need = np.where(fits, 0.0 if top else need, inf)
        if points.pins[index]:
            need = np.where(lattice.admitted(points.pins[index]), need, inf)
        needs_below.append(need)
    return _traced(points, lattice, needs_below) if need[-1] < inf else None


def _all_bits(problem: Problem, slot: Reservation, lattice: Lattice) -> Need:
    access = problem.einsum.access(slot.tensor)
    return lattice.occupancy(access, dict(slot.lanes)) * problem.value_bits(slot)


def _over_loops(lattice: Lattice, slot: TemporalLoops, need: Need) -> Need:
    if not slot.single:
        return _least_below(lattice, lattice.axes_of(slot.variables), need)
    per_variable = [_least_below(lattice, lattice.axes_of([v]), need) for v in slot.variables]
    best: Need = np.minimum.reduce([need, *per_variable])
    return best


def _least_below(lattice: Lattice, axes: Sequence[LatticeAxis], need: Need) -> Need:
    shaped = need.reshape(lattice.shape)
    for axis in axes:
        shaped = np.minimum.accumulate(shaped, axis=lattice.axes.index(axis))
    return shaped.reshape(-1)


def _over_lanes(lattice: Lattice, loops: SpatialLoops, need: Need) -> Need:
    axes = lattice.axes_of(loops.variables)
    if len(loops.choices) == prod(axis.radix for axis in axes):  # any lanes, as loops
        return _least_below(lattice, axes, need)
    best = np.full(lattice.shape, inf)
    for shift in lattice.shifts(loops.variables, loops.choices):
        outer_states, inner_states = lattice.meeting(shift)
        best[outer_states] = np.minimum(
            best[outer_states], need.reshape(lattice.shape)[inner_states]
        )
    return best.reshape(-1)


def _traced(points: Points, lattice: Lattice, needs_below: list[Need]) -> Tiles:
    """Return the tile below each slot, going down by the fewest bits needed below."""
    state, tiles = lattice.size - 1, []
    for index, slot in enumerate(points.slots):
        need = needs_below[len(points.slots) - 1 - index]
        options = states_below(lattice, slot, state)
        state = min(options, key=lambda option: (need[option], option))
        tiles.append(tuple(lattice.tiles[state].tolist()))
    return tuple(tiles)
