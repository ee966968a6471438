"""Place spatial loops that Einsums share above what they exchange.

A fanout between the outermost memory and one in which Einsums exchange tensors gives each of its
lanes a memory of its own. What stays there is distributed once, for all Einsums that use it. The
spatial loops stand above it, below the loops that precede the fanout. They run over variables that
any shared loop above it may run over (ExchangedTensors.shareable_loops), and they are equal in all
Einsums that share them. Tensors exchanged in memories above the fanout do not depend on them.

What such a fanout sends over a Network is charged apart, for the tile right below all spatial loops
at one place.

A state of the inner program counts as if these lanes were one: its tile is that of one lane times
the number of lanes. So a shared loop cuts a variable where the tile of its state is not whole.
`lane_stride` leads from such a state back to the tile of one lane.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.arch.components.components import Component, Network
from tilewright.mapper.fusion.pmappings.region.tile_reservations import LoopOrder
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.searches.exact.kernels import Ints
from tilewright.mapper.searches.program.charge_sites import ChargeSite, CostTerm
from tilewright.mapper.searches.program.program import with_fixed_lanes
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Slot
from tilewright.mapper.templates.spatial_choices import Lanes, SpatialLoops


def gap_above_lanes(place: int) -> int:
    """Return the number of the gap above the spatial loops right above a holder of the region.

    The region: the holders below the outermost memory, down to the lowest that backs a tensor on
    chip. A gap is a place in it for temporal loops that Einsums may share. `place`: number of the
    holder. Gaps are numbered from the outermost in: this one has the number 2 * place.
    """
    return 2 * place


def gap_below_lanes(place: int) -> int:
    """Return the number of the gap between a holder of the region and the spatial loops above it.

    The region: the holders below the outermost memory, down to the lowest that backs a tensor on
    chip. A gap is a place in it for temporal loops that Einsums may share. `place`: number of the
    holder. This gap has the number 2 * place + 1; it is the only one of a holder without spatial
    loops right above it.
    """
    return 2 * place + 1


class SharedSpatialLoop(NamedTuple):
    """Spatial loop that Einsums share above a tensor exchanged on chip.

    `variable`: number of its rank variable. `lanes`: number of instances it is divided over. `dim`:
    (component, dimension) of the fanout. `position`: (level of the component on the path, number of
    the dimension there, place among the variables of that dimension if their order matters, else
    0). `region_place`: number of the holder that it stands right above, counted from the first one
    below the outermost memory to the lowest that backs a tensor on chip (the region).
    """

    position: tuple[int, int, int]
    variable: int
    lanes: int
    dim: tuple[str, str]
    region_place: int = 0


class FixedLanes(NamedTuple):
    """Places of a template with its lanes above the lowest tensor on chip fixed.

    `slots`: the template's places for loops, fills and reservations, each dimension above that
    tensor with one choice of lanes. `loops`: the spatial loops that follow, outermost first.
    """

    slots: tuple[Slot, ...]
    loops: tuple[SharedSpatialLoop, ...]


def fixed_spatial_loops(
    problem: Problem,
    slots: tuple[Slot, ...],
    region: Sequence[int],
    variables: Sequence[Collection[str]],
) -> Iterator[FixedLanes]:
    """Yield a template's slots once for each choice of lanes above its lowest tensor on chip.

    `slots`: the template's places for loops, fills and reservations, outermost first. `region`:
    numbers of the slots of the region's holders, of which the last one backs the lowest tensor on
    chip. `variables`: per holder, rank variables that may be divided over lanes right above it.
    Behind a Network the variables of a dimension come in every order, because what is sent depends
    on it. Lanes that do not divide a bound are left out. Raises UnsupportedFeature if the choices
    are too many.
    """
    restricted = list(slots)
    upper: list[int] = []
    for index, slot in enumerate(slots[: region[-1]]):
        if isinstance(slot, SpatialLoops):
            upper.append(index)
            allowed = variables[_region_place_below(index, region)]
            restricted[index] = _over_variables(slot, allowed)
    for chosen in with_fixed_lanes(tuple(restricted), upper):
        for fixed in _variable_orders(problem, chosen, upper):
            loops: list[SharedSpatialLoop] = []
            for index in upper:
                place = _region_place_below(index, region)
                loops += _spatial_loops(problem, fixed[index], place)
            if _divides_bounds(problem, loops):
                yield FixedLanes(fixed, tuple(loops))


def _divides_bounds(problem: Problem, loops: Sequence[SharedSpatialLoop]) -> bool:
    """Tell whether the product of the lanes of all loops over a variable divides its bound."""
    return all(
        bound % prod(loop.lanes for loop in loops if loop.variable == number) == 0
        for number, bound in enumerate(problem.einsum.bounds.values())
    )


def _region_place_below(index: int, region: Sequence[int]) -> int:
    """Return the place in the region of the first holder whose slot is `index` or further down.

    `region`: numbers of the slots of the region's holders.
    """
    return next(place for place, fill in enumerate(region) if fill >= index)


def behind_network(components: Sequence[Component], level: int) -> bool:
    """Tell whether the component at number `level` of a path is below a Network, or is one."""
    return any(isinstance(component, Network) for component in components[: level + 1])


def _variable_orders(
    problem: Problem, slots: tuple[Slot, ...], upper: Sequence[int]
) -> Iterator[tuple[Slot, ...]]:
    """Yield the slots with every order of the variables within each dimension behind a Network.

    `upper`: numbers of the spatial slots above the lowest tensor on chip; only these are reordered.
    """
    variants: list[list[Slot]] = []
    for index, slot in enumerate(slots):
        variants.append([slot])
        if index not in upper or not isinstance(slot, SpatialLoops):
            continue
        if behind_network(problem.components, problem.level(slot.component)):
            variants[-1] = list(_dimension_orders(slot))
    yield from product(*variants)


def _dimension_orders(dimension: SpatialLoops) -> Iterator[SpatialLoops]:
    """Yield a dimension with its variables in every order; it has one choice of lanes.

    Variables with one lane are left out.
    """
    (lanes,) = dimension.choices
    pairs = [(v, n) for v, n in zip(dimension.variables, lanes, strict=True) if n > 1]
    for order in permutations(pairs):
        yield replace(
            dimension, variables=tuple(v for v, _ in order), choices=(tuple(n for _, n in order),)
        )


def network_charges(
    slots: Sequence[Slot], region: Sequence[int], routes: Iterable[ChargeSite]
) -> dict[int, tuple[CostTerm, ...]]:
    """Return, per holder of the region, what the fanouts right above it send over Networks.

    The terms give calls of actions as functions of the tile below all spatial loops there.
    `region`: numbers of the slots of the holders. `routes`: the charges of each dimension, as
    functions of the tile right below that dimension; the dimensions further down make that tile
    smaller, which is made up for here. Terms of factor 0 are left out.
    """
    charges: dict[int, list[CostTerm]] = {}
    for route in routes:
        place = _region_place_below(route.slot, region)
        lanes = _lanes_of(slots[route.slot : region[place]])
        n_lanes = prod(number for _, number in lanes)
        for add in route.terms:
            factor = add.factor / n_lanes if add.kind in ("moved", "whole") else add.factor
            all_lanes = _lanes_per_variable([*add.lanes, *lanes])
            charges.setdefault(place, []).append(add._replace(factor=factor, lanes=all_lanes))
    return {
        place: tuple(sorted(add for add in adds if add.factor != 0.0))
        for place, adds in sorted(charges.items())
    }


def _lanes_of(slots: Sequence[Slot]) -> list[tuple[str, int]]:
    """Return (variable, lanes) of all spatial slots; each has a single choice."""
    lanes: list[tuple[str, int]] = []
    for slot in slots:
        if isinstance(slot, SpatialLoops):
            lanes += zip(slot.variables, slot.choices[0], strict=True)
    return lanes


def _lanes_per_variable(pairs: Iterable[tuple[str, int]]) -> Lanes:
    lanes: dict[str, int] = {}
    for variable, number in pairs:
        lanes[variable] = lanes.get(variable, 1) * number
    return tuple(lanes.items())


def _over_variables(dimension: SpatialLoops, variables: Collection[str]) -> SpatialLoops:
    """Return the dimension with only the choices that give lanes to these variables alone."""
    banned = [i for i, v in enumerate(dimension.variables) if v not in variables]
    return replace(
        dimension, choices=tuple(c for c in dimension.choices if all(c[i] == 1 for i in banned))
    )


def _spatial_loops(problem: Problem, slot: Slot, region_place: int) -> Iterator[SharedSpatialLoop]:
    """Yield the spatial loops of a dimension that has a single choice of lanes.

    `region_place`: number of the holder of the region right below.
    """
    assert isinstance(slot, SpatialLoops)
    level = problem.level(slot.component)
    dims = [dim.name for dim in problem.components[level].spatial]
    names, ordered = tuple(problem.einsum.bounds), behind_network(problem.components, level)
    for number, (variable, lanes) in enumerate(zip(slot.variables, slot.choices[0], strict=True)):
        if lanes > 1:
            position = level, dims.index(slot.name), number if ordered else 0
            dim = slot.component, slot.name
            yield SharedSpatialLoop(position, names.index(variable), lanes, dim, region_place)


def lane_stride(lattice: Lattice, loops: Sequence[SharedSpatialLoop]) -> int:
    """Return by how much the number of a tile shape exceeds that of one lane's tile.

    The search counts the lanes of shared spatial loops as one, with a tile of lanes times that of
    one lane. In the lattice of tile shapes, those with a fixed ratio have numbers with a fixed
    difference. `loops`: the spatial loops. Example: without loops, 0.
    """
    lanes = [1] * len(lattice.bounds)
    for loop in loops:
        lanes[loop.variable] *= loop.lanes
    return lattice.offset(lattice.exponents(lanes))


def with_spatial_loops(order: LoopOrder, loops_above: Sequence[int]) -> LoopOrder:
    """Insert spatial loops into a list of temporal loops, as (-1, 0), (-2, 0), ….

    `order`: (variable, tile) pairs, outermost first. `loops_above`: how many temporal loops stand
    above each spatial loop. Example: order (a, b) and loops_above (1,): (a, (-1, 0), b).
    """
    merged: list[tuple[int, int]] = []
    n_merged = 0
    for number, count in enumerate(loops_above):
        merged += [*order[n_merged:count], (-1 - number, 0)]
        n_merged = count
    return (*merged, *order[n_merged:])


def tiles_below(
    order: LoopOrder, loops: Sequence[SharedSpatialLoop], bounds: Sequence[int], states: Ints
) -> Ints:
    """Return the values of each loop's variable below that loop, shape (states, loops).

    `order`: (variable, tile) pairs, outermost first; a variable -1 - n is spatial loop n of
    `loops`, and tile 0 that of the state. `bounds`: of the variables. `states`: tile shapes below
    all loops, all lanes together, shape (states, variables).
    """
    tiles = np.empty((len(states), len(order)), np.int64)
    tile_of: dict[int, Ints] = {}  # of all lanes together
    lanes: dict[int, int] = {}
    for column, (number, tile) in enumerate(order):
        variable = number
        if number < 0:
            loop = loops[-1 - number]
            variable = loop.variable
            lanes[variable] = lanes.get(variable, 1) * loop.lanes
            tile_of.setdefault(variable, np.full(len(states), bounds[variable], np.int64))
        else:
            fixed = np.full(len(states), tile, np.int64) if tile else states[:, variable]
            tile_of[variable] = fixed
        tiles[:, column] = tile_of[variable] // lanes.get(variable, 1)
    return tiles
