"""Neighbours of a point: in its template, and in the templates that differ by one holder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations, product
from math import log
from random import Random

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.factors import factorise
from tilewright.mapper.mapspace.points import Points
from tilewright.mapper.mapspace.uneven_points import is_chain
from tilewright.mapper.templates.placement import Holder, Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops

Tiles = tuple[Tile, ...]


def moved_tiles(points: Points, tiles: Sequence[Tile]) -> Iterator[Tiles]:
    """Yield the points one step away in the same template, in a fixed order, fitting or not.

    `tiles`: the tile below each slot of the present point. One step moves one prime factor of a
    variable with even tiles from a loop to another; or changes one tile of a variable that may be
    uneven (loops above and below it divide their share anew); or gives one dimension another
    choice of lanes, where a loop per changed variable makes up for it. tile_shape is obeyed,
    capacity not looked at. A template is a mapping without its loops; a lane is one instance along
    a dimension of a fanout.
    """
    for column in range(len(points.problem.einsum.bounds)):
        yield from _of_variable(points, tiles, column)
    for number, slot in enumerate(points.slots):
        if isinstance(slot, SpatialLoops):
            for choice in slot.choices:
                yield from _with_lanes(points, tiles, number, choice)


def random_move(points: Points, tiles: Sequence[Tile], rng: Random) -> Tiles | None:
    """Return a random point one step away in the same template; None if the draw has none.

    `tiles`: the tile below each slot of the present point. A rank variable or a dimension is drawn
    first, then its new tiles, so the choice is not uniform. Capacity is not looked at. A template
    is a mapping without its loops.
    """
    dims = [
        (number, slot.choices)
        for number, slot in enumerate(points.slots)
        if isinstance(slot, SpatialLoops) and len(slot.choices) > 1
    ]
    drawn = rng.randrange(len(points.problem.einsum.bounds) + len(dims))
    if drawn < len(dims):
        number, choices = dims[drawn]
        options = list(_with_lanes(points, tiles, number, rng.choice(choices)))
    else:
        options = list(_of_variable(points, tiles, drawn - len(dims)))
    return rng.choice(options) if options else None


def _of_variable(points: Points, tiles: Sequence[Tile], column: int) -> Iterator[Tiles]:
    """Yield the neighbours that differ in the loops over one rank variable.

    `column`: number of the variable.
    """
    problem = points.problem
    name = list(problem.einsum.bounds)[column]
    sites = _loop_slots(points, name)
    chain = [problem.einsum.bounds[name], *(tile[column] for tile in tiles)]
    cuttable = problem.cuttable_tiles.get(name)
    moved = _regrouped(sites, chain) if cuttable is None else _recut(sites, chain, cuttable)
    for chain_below in moved:
        yield from _legal_only(points, _replaced(tiles, {column: chain_below}), sites)


def _with_lanes(
    points: Points, tiles: Sequence[Tile], number: int, choice: tuple[int, ...]
) -> Iterator[Tiles]:
    """Yield the neighbours with another choice of lanes at slot `number`.

    For each changed variable the loop of one other slot makes up for it; variables that may be
    uneven stay. Changes that move a single prime factor are left out: they are neighbours anyway.
    """
    names = list(points.problem.einsum.bounds)
    iterations = _iterations(points.problem, tiles)
    changed = _changed_lanes(points, number, choice, iterations[number])
    if any(names[c] in points.problem.uneven for c in changed):
        return
    if _primes_moved(iterations[number], changed) < 2:
        return
    sites = [[i for i in _loop_slots(points, names[c]) if i != number] for c in changed]
    for chosen in product(*sites):
        site_of = dict(zip(changed, chosen, strict=True))
        chains = _compensated(points, iterations, number, site_of, changed)
        if len(chains) == len(changed):
            yield from _legal_only(points, _replaced(tiles, chains), chosen)


def _changed_lanes(
    points: Points, number: int, choice: tuple[int, ...], lanes: Tile
) -> dict[int, int]:
    """Return, by variable number, the new lanes at slot `number` where these change.

    `choice`: the new lanes of the dimension's variables; `lanes`: the present ones of all
    variables.
    """
    dimension = points.slots[number]
    assert isinstance(dimension, SpatialLoops)
    names = list(points.problem.einsum.bounds)
    pairs = ((names.index(v), new) for v, new in zip(dimension.variables, choice, strict=True))
    return {column: new for column, new in pairs if lanes[column] != new}


def _primes_moved(lanes: Sequence[int], changed: dict[int, int]) -> int:
    """Return how many prime factors the old and the new lanes of the changed variables have."""
    return sum(n for c, number in changed.items() for _, n in factorise(lanes[c] * number))


def _compensated(
    points: Points,
    iterations: Sequence[Tile],
    number: int,
    sites: dict[int, int],
    lanes: dict[int, int],
) -> dict[int, list[int]]:
    """Return, per changed variable, its tiles if a loop at its site makes up for its new lanes.

    `iterations`: of each slot, per variable. `number`: slot of the dimension. `sites`: slot of the
    loop that makes up, by variable. `lanes`: new lanes, by variable. Variables whose iterations the
    lanes do not divide are left out.
    """
    bounds = list(points.problem.einsum.bounds.values())
    chains = {}
    for column, site in sites.items():
        moved = [tile[column] for tile in iterations]
        total = moved[site] * moved[number]
        if total % lanes[column] == 0:
            moved[site], moved[number] = total // lanes[column], lanes[column]
            chains[column] = _chain(bounds[column], moved)
    return chains


def _loop_slots(points: Points, name: str) -> list[int]:
    """Return the numbers of the slots that can have a loop over a variable."""
    return [
        i
        for i, slot in enumerate(points.slots)
        if isinstance(slot, TemporalLoops | SpatialLoops) and name in slot.variables
    ]


def _replaced(tiles: Sequence[Tile], chains: dict[int, list[int]]) -> Tiles:
    """Return the tiles with other extents of some variables.

    `chains`: per variable one per slot.
    """
    return tuple(
        tuple(chains[c][i] if c in chains else extent for c, extent in enumerate(tile))
        for i, tile in enumerate(tiles)
    )


def _legal_only(points: Points, tiles: Tiles, sites: Sequence[int]) -> Iterator[Tiles]:
    """Yield the tiles if the slots at `sites`, which changed, and every tile_shape allow them."""
    iterations = _iterations(points.problem, tiles)
    tiles_above = (tuple(points.problem.einsum.bounds.values()), *tiles)
    if all(_is_legal(points.problem, points.slots[i], iterations[i]) for i in sites) and all(
        points.admits(index, tiles_above[index]) for index in range(len(points.slots))
    ):
        yield tiles


def _regrouped(sites: Sequence[int], chain: Sequence[int]) -> Iterator[list[int]]:
    """Yield chains of one variable with one prime factor moved from a loop to another.

    `sites`: slots that can have a loop over it. `chain`: its tile above the first slot, then below
    each.
    """
    turns = [above // below for above, below in pairwise(chain)]
    for source, target in permutations(sites, 2):
        for prime, _ in factorise(turns[source]):
            moved = list(turns)
            moved[source] //= prime
            moved[target] *= prime
            yield _chain(chain[0], moved)


def _chain(tile: int, iterations: Sequence[int]) -> list[int]:
    """Return the tile of one variable below each slot, outermost first.

    `tile`: above the first slot; each slot's `iterations` divide it. Example: 12 with iterations
    (2, 3) gives [6, 2].
    """
    chain = []
    for count in iterations:
        tile //= count
        chain.append(tile)
    return chain


def _recut(
    sites: Sequence[int], chain: Sequence[int], cuttable: tuple[int, ...]
) -> Iterator[list[int]]:
    """Yield chains of one variable with another tile below one slot, as uneven loops allow.

    `chain`: the variable's bound, then its tile below each slot. `sites`: slots that may loop over
    it; the tile changes from one to the next. `cuttable`: tiles that an uneven loop may cut.
    """
    for site, following in pairwise(sites):
        for tile in range(chain[following + 1], chain[site] + 1):
            moved = [*chain[1 : site + 1], *[tile] * (following - site), *chain[following + 1 :]]
            if tile != chain[site + 1] and is_chain([chain[0], *moved], cuttable):
                yield moved


def _iterations(problem: Problem, tiles: Sequence[Tile]) -> list[Tile]:
    """Return, per slot, the iterations of its loops over each variable, rounded up."""
    tile_above = tuple(problem.einsum.bounds.values())
    iterations = []
    for tile in tiles:
        iterations.append(tuple(-(-a // b) for a, b in zip(tile_above, tile, strict=True)))
        tile_above = tile
    return iterations


def _is_legal(problem: Problem, slot: Slot, iterations: Sequence[int]) -> bool:
    """Tell whether a slot can have these iterations per variable."""
    if isinstance(slot, SpatialLoops):
        lanes = dict(zip(problem.einsum.bounds, iterations, strict=True))
        return tuple(lanes[v] for v in slot.variables) in slot.choices
    assert isinstance(slot, TemporalLoops)
    return not slot.single or sum(n > 1 for n in iterations) <= 1


# ---- other templates


def are_neighbours(first: Template, second: Template) -> bool:
    """Tell whether two templates differ by at most one holder, or by two that change places.

    A holder is a tensor in a memory or Toll. Templates with the same holders in the same order are
    neighbours, whatever else tells them apart; a template is no neighbour of itself.
    """
    first_names, second_names = _names(first.holders), _names(second.holders)
    changed = set(first_names) ^ set(second_names)
    crossings = set(_names(first.tolls)) ^ set(_names(second.tolls))
    if len(changed) + len(crossings) > 1:
        return False
    if changed or crossings:
        return True
    if first_names == second_names:
        return first != second
    moved = [
        i
        for i, pair in enumerate(zip(first_names, second_names, strict=True))
        if pair[0] != pair[1]
    ]
    return len(moved) == 2 and first_names[moved[0]] == second_names[moved[1]]


def _names(holders: Sequence[Holder]) -> list[tuple[str, str]]:
    return [(holder.tensor, holder.component) for holder in holders]


def carried_over(points: Points, tiles: Sequence[Tile], target: Points) -> Tiles | None:
    """Return the point of another template whose holders have tiles as near as possible to these.

    `points`, `tiles`: the present template and its tile below each slot; `target`: the other
    template. Slot by slot from the outermost, the tile is taken that is nearest in factors to the
    one the next common holder has, among those from which the rest can be finished. None if the
    template has no point. Capacity is not looked at. A template is a mapping without its loops.
    """
    goals = _goals(points, tiles, target)
    state, carried = target.start(), []
    for index in range(len(target.slots)):
        options = [(target.tile_of(option), option) for option in target.options(index, state)]
        if not options:
            return None
        goal = goals[index]
        tile, state = min(options, key=lambda pair: (_distance(pair[0], goal), pair))
        carried.append(tile)
    return tuple(carried)


def _goals(points: Points, tiles: Sequence[Tile], target: Points) -> list[Tile]:
    """Return, per slot of `target`, the tile of the next holder below it that both templates have.

    `tiles`: of the present template. One value per variable if there is none.
    """
    tile_above = dict(zip(points.slots, [tuple(points.problem.einsum.bounds.values()), *tiles],
                     strict=False))  # fmt: skip
    tile_of_holder = {
        (s.tensor, s.component): t for s, t in tile_above.items() if isinstance(s, Fill)
    }
    goals: list[Tile] = []
    tile: Tile = (1,) * len(points.problem.einsum.bounds)
    for slot in reversed(target.slots):
        goals.append(tile)
        if isinstance(slot, Fill):
            tile = tile_of_holder.get((slot.tensor, slot.component), tile)
    return goals[::-1]


def _distance(tile: Sequence[int], goal: Sequence[int]) -> float:
    return sum(abs(log(a / b)) for a, b in zip(tile, goal, strict=True))
