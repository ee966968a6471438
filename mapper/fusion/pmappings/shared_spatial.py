"""Lanes above what Einsums exchange: loops that they run through together, side by side.

A fanout between the outermost memory and one in which Einsums exchange tensors gives each of its
lanes a memory of its own. What stays there is dealt once, for all Einsums that touch it: the lanes
are loops above it, below those that precede the fanout, over variables that any shared loop above
it may run over (Boundaries.carried), and equal in all Einsums that meet there. What they exchange
in memories above the fanout has no part in this.

What these lanes send over a Network is charged apart, for the tile right below those that stand
together.

A state of the program counts as if these lanes were one: its tile is that of one lane times the
lanes, so that a variable is cut by shared loops where it is not whole. `stride` leads back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.arch.components.components import Component, Network
from tilewright.mapper.fusion.pmappings.tile_reservations import LoopOrder
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.searches.exact.kernels import Ints
from tilewright.mapper.searches.program.charge_sites import ChargeSite, CostTerm
from tilewright.mapper.searches.program.program import with_fixed_lanes
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Slot
from tilewright.mapper.templates.spatial_choices import Lanes, SpatialLoops


def gap_above_lanes(place: int) -> int:
    """Return the number of the gap above the lanes that stand right above holder `place` of the
    region; gaps are numbered from the outermost in."""
    return 2 * place


def gap_below_lanes(place: int) -> int:
    """Return the number of the gap between these lanes and the holder; the only one of a holder
    without them."""
    return 2 * place + 1


class SharedSpatialLoop(NamedTuple):
    """Tiles of variable number `variable` dealt over `lanes` lanes of a dimension.

    `place`: (level of its component on the path, its number there, place among the variables of the
    dimension if their order matters: else 0). `stand`: the region holder that it stands right
    above.
    """

    position: tuple[int, int, int]
    variable: int
    lanes: int
    dim: tuple[str, str]  # component, dimension
    region_place: int = 0


def fixed_spatial_loops(
    problem: Problem,
    slots: tuple[Slot, ...],
    region: Sequence[int],
    variables: Sequence[Collection[str]],
) -> Iterator[tuple[tuple[Slot, ...], tuple[SharedSpatialLoop, ...]]]:
    """Yield the slots with each choice of the lanes above the last slot of the `region`, in which
    `variables` may be dealt right above each of its slots.

    Behind a Network the variables of a dimension come in each order: what is sent depends on it.
    UnsupportedFeature if the choices are too many.
    """
    upper = [i for i, slot in enumerate(slots[: region[-1]]) if isinstance(slot, SpatialLoops)]
    left = tuple(
        _over_variables(slot, variables[_region_place_below(i, region)])
        if isinstance(slot, SpatialLoops) and i in upper
        else slot
        for i, slot in enumerate(slots)
    )
    for one in with_fixed_lanes(left, upper):
        for fixed in _variable_orders(problem, one, upper):
            spreads = tuple(
                s
                for i in upper
                for s in _spatial_loops(problem, fixed[i], _region_place_below(i, region))
            )
            shares = (
                prod(one.lanes for one in spreads if one.variable == number)
                for number in range(len(problem.einsum.bounds))
            )
            bounds = problem.einsum.bounds.values()
            if all(bound % share == 0 for bound, share in zip(bounds, shares, strict=True)):
                yield fixed, spreads


def _region_place_below(index: int, region: Sequence[int]) -> int:
    """Return the number of the first slot of the region at or below slot `index`."""
    return next(place for place, fill in enumerate(region) if fill >= index)


def behind_network(components: Sequence[Component], level: int) -> bool:
    """Tell whether lanes at a level of a path stand behind a Network."""
    return any(isinstance(component, Network) for component in components[: level + 1])


def _variable_orders(
    problem: Problem, slots: tuple[Slot, ...], upper: Sequence[int]
) -> Iterator[tuple[Slot, ...]]:
    """Yield the slots with the variables of each dimension behind a Network in every order."""
    ways: list[list[Slot]] = []
    for index, slot in enumerate(slots):
        ways.append([slot])
        if index not in upper or not isinstance(slot, SpatialLoops):
            continue
        if behind_network(problem.components, problem.level(slot.component)):
            ways[-1] = list(_fan_orders(slot))
    yield from product(*ways)


def _fan_orders(fan: SpatialLoops) -> Iterator[SpatialLoops]:
    (lanes,) = fan.choices
    pairs = [(v, n) for v, n in zip(fan.variables, lanes, strict=True) if n > 1]
    for order in permutations(pairs):
        yield replace(
            fan, variables=tuple(v for v, _ in order), choices=(tuple(n for _, n in order),)
        )


def network_charges(
    slots: Sequence[Slot], region: Sequence[int], routes: Iterable[ChargeSite]
) -> dict[int, tuple[CostTerm, ...]]:
    """Return what the lanes right above each slot of the region send over Networks, for the tile
    below all lanes there.

    It is known per tile right below each dimension (network_hops.py); those below make it smaller.
    """
    found: dict[int, list[CostTerm]] = {}
    for route in routes:
        stand = _region_place_below(route.slot, region)
        below = [
            slot for slot in slots[route.slot : region[stand]] if isinstance(slot, SpatialLoops)
        ]
        lanes = [pair for fan in below for pair in zip(fan.variables, fan.choices[0], strict=True)]
        more = prod(number for _, number in lanes)
        for add in route.terms:
            factor = add.factor / more if add.kind == "moved" else add.factor
            moved = replace(add, factor=factor, lanes=_lanes_per_variable([*add.lanes, *lanes]))
            found.setdefault(stand, []).append(moved)
    return {
        stand: tuple(sorted(add for add in adds if add.factor != 0.0))
        for stand, adds in sorted(found.items())
    }


def _lanes_per_variable(pairs: Iterable[tuple[str, int]]) -> Lanes:
    lanes: dict[str, int] = {}
    for variable, number in pairs:
        lanes[variable] = lanes.get(variable, 1) * number
    return tuple(lanes.items())


def _over_variables(fan: SpatialLoops, variables: Collection[str]) -> SpatialLoops:
    """Return the dimension with lanes over some variables only."""
    other = [i for i, v in enumerate(fan.variables) if v not in variables]
    return replace(fan, choices=tuple(c for c in fan.choices if all(c[i] == 1 for i in other)))


def _spatial_loops(problem: Problem, slot: Slot, stand: int) -> Iterator[SharedSpatialLoop]:
    assert isinstance(slot, SpatialLoops)
    level = problem.level(slot.component)
    dims = [dim.name for dim in problem.components[level].spatial]
    names, ordered = tuple(problem.einsum.bounds), behind_network(problem.components, level)
    for number, (variable, lanes) in enumerate(zip(slot.variables, slot.choices[0], strict=True)):
        if lanes > 1:
            place = level, dims.index(slot.name), number if ordered else 0
            dim = slot.component, slot.name
            yield SharedSpatialLoop(place, names.index(variable), lanes, dim, stand)


def lane_stride(lattice: Lattice, spreads: Sequence[SharedSpatialLoop]) -> int:
    """Return by how much the number of a state exceeds that of the tile of one lane."""
    lanes = [1] * len(lattice.bounds)
    for one in spreads:
        lanes[one.variable] *= one.lanes
    return lattice.offset(lattice.exponents(lanes))


def with_spatial_loops(order: LoopOrder, above: Sequence[int]) -> LoopOrder:
    """Put the lanes into an order of loops, as numbers -1, -2, …; `above`: how many loops precede
    each."""
    found: list[tuple[int, int]] = []
    done = 0
    for number, count in enumerate(above):
        found += [*order[done:count], (-1 - number, 0)]
        done = count
    return (*found, *order[done:])


def tiles_below(
    order: LoopOrder, spreads: Sequence[SharedSpatialLoop], whole: Sequence[int], states: Ints
) -> Ints:
    """Return the tile below each loop, shape (states, loops).

    `whole`: the bounds; `states`: tiles of the states, shape (states, variables).
    """
    found = np.empty((len(states), len(order)), np.int64)
    left: dict[int, Ints] = {}
    lanes: dict[int, int] = {}
    for column, (number, tile) in enumerate(order):
        variable = number
        if number < 0:
            one = spreads[-1 - number]
            variable = one.variable
            lanes[variable] = lanes.get(variable, 1) * one.lanes
            left.setdefault(variable, np.full(len(states), whole[variable], np.int64))
        else:
            own = np.full(len(states), tile, np.int64) if tile else states[:, variable]
            left[variable] = own
        found[:, column] = left[variable] // lanes.get(variable, 1)
    return found
