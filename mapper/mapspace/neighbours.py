"""Neighbours of a point: in its template, and in the templates that differ by one holder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations, product
from math import log
from random import Random

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.lattice import factorise
from tilewright.mapper.mapspace.points import Points
from tilewright.mapper.mapspace.uneven_points import is_chain
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops

Tiles = tuple[Tile, ...]


def moved_tiles(points: Points, tiles: Sequence[Tile]) -> Iterator[Tiles]:
    """Yield the neighbours in the same template, in a fixed order, before capacity is looked at.

    Of a variable with even tiles, one prime moves from a slot to another. Of a variable that may be
    uneven, one tile changes: the loops above and below it share their part of the work anew. Or the
    lanes of one dimension become another of its choices, at the cost of one slot per variable.
    """
    for column in range(len(points.problem.einsum.bounds)):
        yield from _of_variable(points, tiles, column)
    for number, slot in enumerate(points.slots):
        if isinstance(slot, SpatialLoops):
            for choice in slot.choices:
                yield from _with_lanes(points, tiles, (number, slot), choice)


def random_move(points: Points, tiles: Sequence[Tile], rng: Random) -> Tiles | None:
    """Return one of the neighbours in the same template, drawn at random; None: try again.

    First what to change is drawn, a rank variable or a dimension, then how; not uniform.
    """
    fans = [
        (i, s)
        for i, s in enumerate(points.slots)
        if isinstance(s, SpatialLoops) and len(s.choices) > 1
    ]
    which = rng.randrange(len(points.problem.einsum.bounds) + len(fans))
    if which < len(fans):
        lanes = rng.choice(fans[which][1].choices)
        options = list(_with_lanes(points, tiles, fans[which], lanes))
    else:
        options = list(_of_variable(points, tiles, which - len(fans)))
    return rng.choice(options) if options else None


def _of_variable(points: Points, tiles: Sequence[Tile], column: int) -> Iterator[Tiles]:
    """Yield the neighbours that differ in one rank variable."""
    problem = points.problem
    name = list(problem.einsum.bounds)[column]
    hosts = _hosts(points, name)
    now = [problem.einsum.bounds[name], *(tile[column] for tile in tiles)]
    wholes = problem.cuttable_tiles.get(name)
    for chain in _regrouped(hosts, now) if wholes is None else _recut(hosts, now, wholes):
        yield from _legal_only(points, _replaced(tiles, {column: chain}), hosts)


def _with_lanes(
    points: Points, tiles: Sequence[Tile], place: tuple[int, SpatialLoops], choice: tuple[int, ...]
) -> Iterator[Tiles]:
    """Yield the tiles with other lanes, where that moves more than one prime.

    For each changed variable one other slot makes up; variables that may be uneven stay.
    """
    number, fan = place
    bounds = points.problem.einsum.bounds
    names = list(bounds)
    turns = _turns(points.problem, tiles)
    wanted = {names.index(v): lanes for v, lanes in zip(fan.variables, choice, strict=True)}
    changed = {c: lanes for c, lanes in wanted.items() if turns[number][c] != lanes}
    if any(names[c] in points.problem.uneven for c in changed):
        return
    if sum(n for c, lanes in changed.items() for _, n in factorise(turns[number][c] * lanes)) < 2:
        return
    hosts = [[h for h in _hosts(points, names[c]) if h != number] for c in changed]
    for chosen in product(*hosts):
        chains = {}
        for host, (column, lanes) in zip(chosen, changed.items(), strict=True):
            moved = [turn[column] for turn in turns]
            total = moved[host] * moved[number]
            if total % lanes == 0:
                moved[host], moved[number] = total // lanes, lanes
                chains[column] = _chain(bounds[names[column]], moved)
        if len(chains) == len(changed):
            yield from _legal_only(points, _replaced(tiles, chains), chosen)


def _hosts(points: Points, name: str) -> list[int]:
    return [
        i
        for i, slot in enumerate(points.slots)
        if isinstance(slot, TemporalLoops | SpatialLoops) and name in slot.variables
    ]


def _replaced(tiles: Sequence[Tile], chains: dict[int, list[int]]) -> Tiles:
    return tuple(
        tuple(chains[c][i] if c in chains else extent for c, extent in enumerate(tile))
        for i, tile in enumerate(tiles)
    )


def _legal_only(points: Points, tiles: Tiles, hosts: Sequence[int]) -> Iterator[Tiles]:
    """Yield the tiles if the slots that changed, and every tile_shape, let them pass."""
    turns = _turns(points.problem, tiles)
    above = (tuple(points.problem.einsum.bounds.values()), *tiles)
    if all(_legal(points.problem, points.slots[i], turns[i]) for i in hosts) and all(
        points.admits(index, above[index]) for index in range(len(points.slots))
    ):
        yield tiles


def _regrouped(hosts: Sequence[int], chain: Sequence[int]) -> Iterator[list[int]]:
    """Move one prime of one variable; `chain`: its tile above the first slot and below each."""
    turns = [above // below for above, below in pairwise(chain)]
    for source, target in permutations(hosts, 2):
        for prime, _ in factorise(turns[source]):
            moved = list(turns)
            moved[source] //= prime
            moved[target] *= prime
            yield _chain(chain[0], moved)


def _chain(tile: int, turns: Sequence[int]) -> list[int]:
    """Return the tile of one variable below each slot, from its iterations."""
    found = []
    for turn in turns:
        tile //= turn
        found.append(tile)
    return found


def _recut(
    hosts: Sequence[int], chain: Sequence[int], wholes: tuple[int, ...]
) -> Iterator[list[int]]:
    """Change the tile below one slot, down to the next slot that loops over the variable."""
    for host, following in pairwise(hosts):
        for tile in range(chain[following + 1], chain[host] + 1):
            found = [*chain[1 : host + 1], *[tile] * (following - host), *chain[following + 1 :]]
            if tile != chain[host + 1] and is_chain([chain[0], *found], wholes):
                yield found


def _turns(problem: Problem, tiles: Sequence[Tile]) -> list[Tile]:
    """Return the iterations of each slot per variable."""
    above = tuple(problem.einsum.bounds.values())
    turns = []
    for tile in tiles:
        turns.append(tuple(-(-a // b) for a, b in zip(above, tile, strict=True)))
        above = tile
    return turns


def _legal(problem: Problem, slot: Slot, turn: Sequence[int]) -> bool:
    if isinstance(slot, SpatialLoops):
        lanes = dict(zip(problem.einsum.bounds, turn, strict=True))
        return tuple(lanes[v] for v in slot.variables) in slot.choices
    assert isinstance(slot, TemporalLoops)
    return not slot.single or sum(n > 1 for n in turn) <= 1


# ---- other templates


def are_neighbours(one: Template, other: Template) -> bool:
    """Tell whether two templates differ by one holder more or less, or by two that change places.

    A holder that stays may become its tensor's outermost one, or cease to be. Templates with the
    same holders are neighbours whatever else tells them apart.
    """
    mine = [(h.tensor, h.component) for h in one.holders]
    its = [(h.tensor, h.component) for h in other.holders]
    passing = {(t.tensor, t.component) for t in one.tolls} ^ {
        (t.tensor, t.component) for t in other.tolls
    }
    changed = set(mine) ^ set(its)
    if len(changed) + len(passing) > 1:
        return False
    if changed or passing:
        return True
    if mine == its:
        return one != other
    apart = [i for i, (a, b) in enumerate(zip(mine, its, strict=True)) if a != b]
    return len(apart) == 2 and mine[apart[0]] == its[apart[1]]


def carried_over(points: Points, tiles: Sequence[Tile], target: Points) -> Tiles | None:
    """Return the point of `target` whose holders have tiles like those of `tiles`.

    Slot by slot the nearest tile (in factors) from which the rest can be finished; None if the
    template has no point at all. Capacity is not looked at.
    """
    wanted = _wanted(points, tiles, target)
    state, found = target.start(), []
    for index in range(len(target.slots)):
        options = [(target.tile_of(option), option) for option in target.options(index, state)]
        if not options:
            return None
        goal = wanted[index]
        tile, state = min(options, key=lambda pair: (_distance(pair[0], goal), pair))
        found.append(tile)
    return tuple(found)


def _wanted(points: Points, tiles: Sequence[Tile], target: Points) -> list[Tile]:
    """Return, per slot of `target`, the tile of the next holder below it that both have."""
    above = dict(zip(points.slots, [tuple(points.problem.einsum.bounds.values()), *tiles],
                     strict=False))  # fmt: skip
    known = {(s.tensor, s.component): t for s, t in above.items() if isinstance(s, Fill)}
    wanted: list[Tile] = []
    tile: Tile = (1,) * len(points.problem.einsum.bounds)
    for slot in reversed(target.slots):
        wanted.append(tile)
        if isinstance(slot, Fill):
            tile = known.get((slot.tensor, slot.component), tile)
    return wanted[::-1]


def _distance(tile: Sequence[int], goal: Sequence[int]) -> float:
    return sum(abs(log(a / b)) for a, b in zip(tile, goal, strict=True))
