"""Random small mapspaces with uneven tiles, and a brute force over every loop in every gap.

The brute force shares no code with the search or with the mapspace's own enumeration of points.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import permutations, product
from math import prod

from figures import Make, Row, unbeaten
from points import of_points
from search_cases import EINSUMS, keep_well_used, random_arch, random_workload
from search_rules import Lanes, breaks_rule, lanes_used

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Spatial,
    Storage,
    Temporal,
    TollNode,
)
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.model.paths.view import simple_variables
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.result import EinsumMapping
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload

Place = tuple[int, tuple[str, str] | None]  # gap, and the dimension of a spatial loop


def uneven_space(seed: int, small: bool = False) -> Mapspace:
    """Return a random mapspace with at least one variable that may be uneven."""
    rng = random.Random(seed)
    text = rng.choice(EINSUMS)
    arch = random_arch(rng)
    while _left_out(arch, text):
        arch = random_arch(rng)
    variables = {c for c in text if c.islower()}
    sizes: tuple[int, ...] = (2, 3, 5) if len(variables) > 2 else (3, 5, 7, 11)
    if small:
        sizes = (1, 2, 3) if len(variables) > 2 else (3, 5)
    workload = load_workload(random_workload(rng, text, sizes))
    (einsum,) = workload.einsums
    (flat,) = flatten(load_arch(arch), workload.scope(einsum))
    names = sorted(einsum.bounds)
    uneven = frozenset(v for v in names if rng.random() < 0.6) or frozenset(names[:1])
    return Mapspace(einsum, flat, uneven=uneven)


def small_uneven_space(seed: int) -> Mapspace:
    """Return one of smaller sizes."""
    return uneven_space(seed, small=True)


def averaged_space(seed: int) -> Mapspace | None:
    """Return one under the accelforge conventions, None if every variable stands in a sum."""
    rng = random.Random(seed)
    text, arch = rng.choice(EINSUMS), random_arch(rng)
    while "force_memory" in arch:  # uneven tiles above lanes out of order are refused
        arch = random_arch(rng)
    variables = {c for c in text if c.islower()}
    sizes = (2, 3, 5) if len(variables) > 2 else (3, 5, 7, 11)
    workload = load_workload(random_workload(rng, text, sizes))
    (einsum,) = workload.einsums
    (flat,) = flatten(load_arch(arch), workload.scope(einsum))
    names = sorted(simple_variables(einsum))
    uneven = frozenset(v for v in names if rng.random() < 0.7) or frozenset(names[:1])
    return Mapspace(einsum, flat, "accelforge", uneven=uneven) if uneven else None


def _left_out(arch: str, text: str) -> bool:
    """Orders mean nothing by default, lanes out of order are refused, and four tensors in three
    memories have too many templates for a test."""
    return "tensor_order" in arch or "force_memory" in arch or ("C[" in text and "REG" in arch)


def best_of_all_loops(space: Mapspace, limit: int) -> list[EinsumMapping] | None:
    """Score all mappings that the rules allow; None if there are more than `limit` to look at."""
    if has_more_loop_nests(space, limit):
        return None
    judge = MappingScorer(space)
    found: list[EinsumMapping] = []
    looked = 0
    for template in space.templates:
        legal: list[tuple[EinsumMapping, Lanes]] = []
        for mapping in _mappings(space, template):
            looked += 1
            if looked > limit:
                return None
            if breaks_rule(space, template, mapping):
                continue
            try:
                candidate = judge.costed(mapping)
            except InfeasibleMapping:  # too many lanes, or too little room
                continue
            used = lanes_used(space.einsum, mapping.nodes)
            dims = [(c.name, d.name) for c in space.problem.components for d in c.spatial]
            legal.append((candidate, {key: used.get(key, {}) for key in dims}))
        found += keep_well_used(space, legal)
    return found


def of_all_loops(make: Make, seed: int, limit: int) -> list[Row] | None:
    """Return the rows of best_of_all_loops."""
    found = best_of_all_loops(make(seed), limit)
    return None if found is None else unbeaten((one.energy, one.latency) for one in found)


def chains(bound: int, places: int, uneven: bool) -> Iterator[tuple[int, ...]]:
    """Yield the tiles below each place, the last one 1, at most one step of them uneven."""
    if places == 0:
        if bound == 1:
            yield ()
        return
    for tile in range(1, bound + 1):
        even = bound % tile == 0
        if even or uneven:
            for rest in chains(tile, places - 1, uneven and even):
                yield (tile, *rest)


def _places(space: Mapspace, template: Template) -> list[Place]:
    inner = [h for h in template.holders if not h.backing]
    dims = [(c.name, d.name) for c in space.problem.components for d in c.spatial]
    places: list[Place] = []
    for gap in range(len(inner) + 1):
        places.append((gap, None))
        depth = len(space.problem.components)
        if gap < len(inner):
            depth = space.problem.level(inner[gap].component)
        taken = {dim for _, dim in places}
        places += [(gap, d) for d in dims if d not in taken and space.problem.level(d[0]) <= depth]
    return places


@cache
def chain_count(bound: int, places: int, uneven: bool) -> int:
    """Return the number of `chains`."""
    if places == 0:
        return int(bound == 1)
    even = {tile: bound % tile == 0 for tile in range(1, bound + 1)}
    return sum(
        chain_count(tile, places - 1, uneven and is_even)
        for tile, is_even in even.items()
        if is_even or uneven
    )


def has_more_loop_nests(space: Mapspace, limit: int) -> bool:
    """Tell whether there are more mappings than `limit`: every loop in every gap, in one order."""
    total = 0
    for template in space.templates:
        places = len(_places(space, template))
        bounds = space.einsum.bounds.items()
        total += prod(chain_count(bound, places, v in space.uneven) for v, bound in bounds)
        if total > limit:
            return True
    return False


def of_points_of_few_loops(make: Make, seed: int, limit: int) -> list[Row] | None:
    """Return the rows of `of_points`; None if the loops alone say that there are too many."""
    if has_more_loop_nests(make(seed), 200 * limit):  # most are no points, or do not fit
        return None
    return of_points(make, seed, limit)


def _mappings(space: Mapspace, template: Template) -> Iterator[Mapping]:
    places = _places(space, template)
    bounds = space.einsum.bounds
    lists = [list(chains(b, len(places), v in space.uneven)) for v, b in bounds.items()]
    for chosen in product(*lists):
        loops: list[list[tuple[str, int]]] = []
        before = list(bounds.values())
        for number in range(len(places)):
            tiles = [chain[number] for chain in chosen]
            pairs = zip(bounds, before, tiles, strict=True)
            loops.append([(v, tile) for v, above, tile in pairs if tile != above])
            before = tiles
        orders = [
            permutations(loop) if dim is None else (tuple(loop),)
            for loop, (_, dim) in zip(loops, places, strict=True)
        ]
        for order in product(*orders):
            yield _nested(space, template, places, order)


def _nested(
    space: Mapspace,
    template: Template,
    places: list[Place],
    loops: Sequence[Sequence[tuple[str, int]]],
) -> Mapping:
    inner = [h for h in template.holders if not h.backing]
    nodes: list[Node] = [Storage((h.tensor,), h.component) for h in template.holders if h.backing]
    passed = set()
    for gap in range(len(inner) + 1):
        here = [(dim, loop) for (g, dim), loop in zip(places, loops, strict=True) if g == gap]
        nodes += [Temporal(v, tile) for dim, loop in here if dim is None for v, tile in loop]
        depth = len(space.problem.components)
        if gap < len(inner):
            depth = space.problem.level(inner[gap].component)
        coming = {(h.tensor, space.problem.level(h.component)) for h in inner[gap:]}
        for toll in template.tolls:
            own = space.problem.level(toll.component)
            later = any(t == toll.tensor and level < own for t, level in coming)
            if toll not in passed and own < depth and not later:
                passed.add(toll)
                nodes.append(TollNode((toll.tensor,), toll.component))
        for dim, loop in here:
            if dim is not None:
                nodes += [Spatial(v, tile, dim[1], dim[0]) for v, tile in loop]
        if gap < len(inner):
            nodes.append(Storage((inner[gap].tensor,), inner[gap].component))
    nodes.append(ComputeNode(space.einsum.name, space.problem.components[-1].name))
    return Mapping(tuple(nodes))
