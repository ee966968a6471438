"""Fused mappings of small workloads, enumerated: a slow twin of the cascade search.

Two memories (the outermost backs everything else, the inner one may back intermediates), at most
one more that keeps a fixed set, lanes of at most one dimension, right above that or the Compute,
and one Compute. Every subset and order of holders,
every loop in every gap, every order of the loops that stand above a tensor on chip; the model
scores each Einsum alone and each tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, combinations, permutations, product
from math import prod

from tilewright.arch.components import Memory, PlacementRules
from tilewright.arch.flat import FlatArch
from tilewright.arch.flattening import flatten
from tilewright.arch.tree import Arch
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.errors import InfeasibleMapping
from tilewright.mapper.evaluation import evaluate, evaluate_flat
from tilewright.mapper.mapping import (
    Compute,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
)
from tilewright.mapper.mapspace.fanout import holds
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.path import paths_of
from tilewright.mapper.model.tally import tally
from tilewright.mapper.model.view import make_view
from tilewright.mapper.score import Score
from tilewright.mapper.workload import Workload

OUTER, INNER, LOW, MAC = "DRAM", "BUF", "REG", "MAC"


@dataclass(frozen=True)
class Own:
    """One Einsum: its nodes below the outermost memory, and how many of its loops are fused."""

    einsum: str
    tensors: tuple[str, ...]
    nodes: tuple[Node, ...]
    fused: int
    chip: dict[str, int]  # tensor on chip -> loops above
    energy: float
    latency: float

    @property
    def loops(self) -> tuple[Temporal, ...]:
        return tuple(n for n in self.nodes if isinstance(n, Temporal))[: self.fused]


def on_chip_candidates(workload: Workload) -> dict[str, list[int]]:
    users = {
        t: [i for i, e in enumerate(workload.einsums) if t in e.tensors] for t in workload.tensors
    }
    written = {a.tensor for e in workload.einsums for a in e.outputs}
    return {t: u for t, u in users.items() if len(u) > 1 and t in written}


def relevant_above(workload: Workload, tensor: str, users: list[int]) -> set[str]:
    """Variables that are one rank of the tensor, the same one in all its users."""
    found = []
    for number in users:
        projection = workload.einsums[number].access(tensor).projection
        alone = [(rank, form.terms[0]) for rank, form in projection if len(form.terms) == 1]
        found.append({(rank, name) for rank, (name, factor) in alone if factor == 1})
    return {name for _, name in set.intersection(*found)}


def splits(number: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (number,)
        return
    for first in (d for d in range(1, number + 1) if number % d == 0):
        for rest in splits(number // first, parts - 1):
            yield (first, *rest)


Lanes = tuple[str, str, int]  # component, dimension, fanout


def lists(
    workload: Workload,
    einsum: Einsum,
    chip: frozenset[str],
    low: tuple[list[str], Lanes],
    repeats: int = 1,
) -> Iterator[list[Node]]:
    """Yield the nodes of `einsum` below the outermost memory, constraints aside.

    `low`: what the innermost memory keeps, and the lanes above it.
    """
    mine = [t for t in einsum.tensors if t in chip]
    others = [t for t in einsum.tensors if t not in chip]
    candidates = on_chip_candidates(workload)
    above = {t: relevant_above(workload, t, candidates[t]) for t in mine}
    held = chain.from_iterable(combinations(others, n) for n in range(len(others) + 1))
    for subset in held:
        for order in permutations((*mine, *subset)):
            lowest = max((i for i, t in enumerate(order) if t in chip), default=-1)
            legal = [
                set.intersection(*(above[t] for t in order[gap:] if t in chip))
                for gap in range(lowest + 1)
            ]
            for last in permutations(low[0]):
                places = (*((t, INNER) for t in order), *((t, LOW) for t in last))
                yield from placed(einsum, places, (lowest, legal, low[1]), repeats)


def placed(
    einsum: Einsum,
    order: tuple[tuple[str, str], ...],
    rules: tuple[int, list[set[str]], Lanes],
    repeats: int = 1,
) -> Iterator[list[Node]]:
    """Yield the nodes with all loops; the last part of each bound is its lanes."""
    names, (lowest, legal, lanes) = list(einsum.bounds), rules
    parts = len(order) + 1 + (lanes[2] > 1)
    for turns in product(*(list(splits(b, parts)) for b in einsum.bounds.values())):
        dealt = {n: turn[-1] for n, turn in zip(names, turns, strict=True) if lanes[2] > 1}
        if prod(dealt.values()) > lanes[2] or any(
            turn[gap] > 1 and name not in legal[gap]
            for gap in range(lowest + 1)
            for name, turn in zip(names, turns, strict=True)
        ):
            continue
        gaps = [[(n, turn[g]) for n, turn in zip(names, turns, strict=True) if turn[g] > 1]
                for g in range(len(order) + 1)]  # fmt: skip
        choices = [
            orders_of(gap, repeats) if g <= lowest else [tuple(gap)] for g, gap in enumerate(gaps)
        ]
        for chosen in product(*choices):
            shared = [name for gap in chosen[: lowest + 1] for name, _ in gap]
            if all(shared.count(name) <= repeats for name in shared):
                yield nodes_of(einsum, order, chosen, (lanes, dealt))


def orders_of(gap: list[tuple[str, int]], repeats: int) -> list[tuple[tuple[str, int], ...]]:
    """Return the loops of a gap in all orders, each variable in at most `repeats` of them."""
    ways = [[(name, part) for part in factored(turn, repeats)] for name, turn in gap]
    found: dict[tuple[tuple[str, int], ...], None] = {}
    for way in product(*ways):
        loops = [(name, factor) for name, factors in way for factor in factors]
        found |= dict.fromkeys(permutations(loops))
    return list(found)


def factored(number: int, most: int) -> list[tuple[int, ...]]:
    """Return the ways to write a number as at most `most` factors above 1."""
    found = [(number,)]
    if most > 1:
        for first in (d for d in range(2, number) if number % d == 0):
            found += [(first, *rest) for rest in factored(number // first, most - 1)]
    return found


def nodes_of(
    einsum: Einsum,
    order: tuple[tuple[str, str], ...],
    loops: tuple[tuple[tuple[str, int], ...], ...],
    dealt: tuple[Lanes, dict[str, int]],
) -> list[Node]:
    tile = dict(einsum.bounds)
    nodes: list[Node] = []
    (component, dim, _), lanes = dealt
    low = sum(memory == INNER for _, memory in order)
    for gap, turns in enumerate(loops):
        for name, turn in turns:
            tile[name] //= turn
            nodes.append(Temporal(name, tile[name]))
        for name, share in lanes.items() if gap == low else ():
            tile[name] //= share
            if share > 1:
                nodes.append(Spatial(name, tile[name], dim, component))
        if gap < len(order):
            nodes.append(Storage((order[gap][0],), order[gap][1]))
    return [*nodes, Compute(einsum.name, MAC)]


Scored = Callable[[Einsum, FlatArch, tuple[Node, ...]], tuple[float, float]]


def owns(
    arch: Arch,
    workload: Workload,
    einsum: Einsum,
    chip: frozenset[str],
    conventions: str,
    scored: Scored | None = None,
    repeats: int = 1,
    low: bool = False,
) -> list[Own]:
    """Score every list alone; of those that look the same from outside, keep the Pareto points.

    `low`: what the innermost memory holds matters, too.
    """
    (flat,) = flatten(arch, workload.scope(einsum))
    view = make_view(einsum, flat)
    rules = conventions_called(conventions)
    outer = tuple(Storage((t,), OUTER) for t in einsum.tensors if t not in chip)
    best: dict[object, list[Own]] = {}
    inner_rules = resolved(flat, einsum, chip)
    below = kept_low(flat, einsum), lanes_of(flat)
    for nodes in lists(workload, einsum, chip, below, repeats):
        if moves_again(einsum, nodes, inner_rules, chip) or disordered(nodes, inner_rules):
            continue
        if conventions == "default" and misshapen(einsum, nodes, inner_rules):
            continue
        (path,) = paths_of(Mapping((*outer, *nodes)))
        try:
            score = evaluate_flat([(path, view)], rules)
        except InfeasibleMapping:
            continue
        lowest = max((i for i, n in enumerate(nodes) if is_chip(n, chip)), default=-1)
        fused = sum(isinstance(n, Temporal) for n in nodes[: lowest + 1])
        depths = {
            n.tensors[0]: sum(isinstance(m, Temporal) for m in nodes[:i])
            for i, n in enumerate(nodes)
            if is_chip(n, chip)
        }
        energy, latency = score.energy, score.latency
        if scored is not None:
            energy, latency = scored(einsum, flat, (*outer, *nodes))
        own = Own(einsum.name, einsum.tensors, tuple(nodes), fused, depths, energy, latency)
        counted = tally(path, view, rules)
        deep = sum(h.bits for h in counted.occupancy if low and h.component == LOW)
        seen = (own.loops, tuple(sorted(depths.items())), outside(own, counted), deep)
        known = best.setdefault(seen, [])
        if not any(k.energy <= own.energy and k.latency <= own.latency for k in known):
            known[:] = [k for k in known if k.energy < own.energy or k.latency < own.latency]
            known.append(own)
    return [own for known in best.values() for own in known]


def resolved(flat: FlatArch, einsum: Einsum, chip: frozenset[str]) -> PlacementRules:
    memory = flat.component(INNER)
    assert isinstance(memory, Memory)
    return memory.tensors.resolve({OUTER: frozenset(einsum.tensors) - chip})


def kept_low(flat: FlatArch, einsum: Einsum) -> list[str]:
    """Return what the innermost memory keeps, if there is one."""
    for component in flat.components:
        if isinstance(component, Memory) and component.name == LOW:
            rules = component.tensors.resolve({})
            return [t for t in einsum.tensors if t in rules.keep]
    return []


def lanes_of(flat: FlatArch) -> Lanes:
    """Return the dimension with lanes, if there is one."""
    dims = [(c.name, d.name, d.fanout) for c in flat.components for d in c.spatial]
    return dims[0] if dims else ("", "", 1)


def moves_again(
    einsum: Einsum, nodes: list[Node], rules: PlacementRules, chip: frozenset[str]
) -> bool:
    """Tell whether no_refetch_from_above or no_resend_to_below forbids a loop of the list."""
    for place, node in enumerate(nodes):
        if not isinstance(node, Storage) or node.component != INNER:
            continue
        (tensor,) = node.tensors
        used = einsum.access(tensor).rank_variables
        above = [] if tensor in chip else nodes[:place]
        end = next(
            (i for i, n in enumerate(nodes) if isinstance(n, Storage)
             and n.component == LOW and tensor in n.tensors), len(nodes),
        )  # fmt: skip
        for names, part in (
            (rules.no_refetch_from_above, above),
            (rules.no_resend_to_below, nodes[place:end]),
        ):
            loops = {n.rank_variable for n in part if isinstance(n, Temporal)}
            if tensor in names and not loops <= used:
                return True
    return False


def disordered(nodes: list[Node], rules: PlacementRules) -> bool:
    """Tell whether the inner memory's holders agree with no list of tensor_order_options."""
    held = [n.tensors[0] for n in nodes if isinstance(n, Storage) and n.component == INNER]

    def agrees(option: tuple[frozenset[str], ...]) -> bool:
        places = [[i for i, group in enumerate(option) if t in group] for t in held]
        listed = [place[0] for place in places if place]
        return listed == sorted(listed)

    return bool(rules.tensor_order_options) and not any(map(agrees, rules.tensor_order_options))


def misshapen(einsum: Einsum, nodes: list[Node], rules: PlacementRules) -> bool:
    """Tell whether tile_shape of the inner memory forbids the tile above its first holder."""
    tile = dict(einsum.bounds)
    for node in nodes:
        if isinstance(node, Temporal):
            tile[node.rank_variable] = node.tile_shape
        if isinstance(node, Storage) and node.component == INNER:
            return not all(holds(comparison, tile) for comparison in rules.tile_shape)
    return False


def is_chip(node: Node, chip: frozenset[str]) -> bool:
    return isinstance(node, Storage) and node.component == INNER and node.tensors[0] in chip


def outside(own: Own, counted: object) -> object:
    """What other Einsums can notice: tiles above the fused loops, and the bits of all others."""
    inner = [h for h in counted.occupancy if h.component == INNER and h.tensor not in own.chip]  # type: ignore[attr-defined]
    high = tuple(
        sorted((h.tensor, h.loops_above, h.bits) for h in inner if h.loops_above < own.fused)
    )
    written = tuple(
        (s.tensors[0], sum(isinstance(m, Temporal) for m in own.nodes[:i]))
        for i, s in enumerate(own.nodes)
        if isinstance(s, Storage) and s.component == INNER and s.tensors[0] not in own.chip
    )
    where = tuple(sorted((t, d) for t, d in written if d < own.fused))
    return high, where, sum(h.bits for h in inner if h.loops_above >= own.fused)


def tree(chosen: tuple[Own, ...], shared: list[int], done: int = 0) -> tuple[Node, ...] | None:
    """Merge lists that share `shared[b]` loops pairwise; None where they cannot be merged."""
    if len(chosen) == 1:
        return chosen[0].nodes
    split = min(shared)
    if any(o.fused < split - done or o.loops[: split - done] != chosen[0].loops[: split - done]
           for o in chosen):  # fmt: skip
        return None
    nodes: list[Node] = []
    rests = [list(own.nodes) for own in chosen]
    for _ in range(done, split):
        nodes += take_storages(rests)
        heads = [rest.pop(0) for rest in rests]
        nodes.append(heads[0])
    groups: list[list[int]] = [[0]]
    for boundary, depth in enumerate(shared):
        if depth == split:
            groups.append([])
        groups[-1].append(boundary + 1)
    parting = {
        t for t in chain(*(o.chip for o in chosen))
        if sum(any(is_chip(n, frozenset({t})) for i in g for n in rests[i]) for g in groups) > 1
    }  # fmt: skip
    nodes += [Storage((t,), INNER) for t in sorted(parting)]
    rests = [[n for n in rest if not is_chip(n, frozenset(parting))] for rest in rests]
    branches = []
    for group in groups:
        part = tuple(
            Own(chosen[i].einsum, chosen[i].tensors, tuple(rests[i]),
                chosen[i].fused - (split - done), chosen[i].chip, 0.0, 0.0) for i in group
        )  # fmt: skip
        branch = tree(part, shared[group[0] : group[-1]], split)
        if branch is None:
            return None
        branches.append(branch)
    return (*nodes, Sequential(tuple(branches)))


def take_storages(rests: list[list[Node]]) -> list[Node]:
    """Take the storages on top of all lists, in an order that keeps that of each if one does."""
    found: list[Node] = []
    for rest in rests:
        place = 0
        while isinstance(rest[0], Storage):
            node = rest.pop(0)
            if node not in found:
                found.insert(place, node)
            place = found.index(node) + 1
    return found


def says_the_same(mapping: Mapping, chosen: tuple[Own, ...]) -> bool:
    """Tell whether each Einsum sees in the tree what its own list says."""
    for path, own in zip(paths_of(mapping), chosen, strict=True):
        seen: list[object] = []
        for step in path.steps:
            if isinstance(step, Temporal):
                seen.append(step)
            elif getattr(step, "component", "") == INNER and step.tensor in own.tensors:  # type: ignore[union-attr]
                seen.append(step.tensor)  # type: ignore[union-attr]
        wanted = [
            n.tensors[0] if isinstance(n, Storage) else n
            for n in own.nodes[:-1]
            if isinstance(n, Temporal) or (isinstance(n, Storage) and n.component == INNER)
        ]
        if levels(seen) != levels(wanted):
            return False
    return True


def levels(items: list[object]) -> list[object]:
    """Sort what stands between two loops: its order means nothing here."""
    out: list[object] = []
    run: list[str] = []
    for item in items:
        if isinstance(item, str):
            run.append(item)
        else:
            out += [*sorted(run), item]
            run = []
    return out + sorted(run)


def combinations_of(choices: list[list[Own]]) -> Iterator[tuple[Own, ...]]:
    """Yield the choices that agree about every tensor on chip."""

    def agree(first: Own, second: Own) -> bool:
        return all(
            second.chip[t] == d and first.loops[:d] == second.loops[:d]
            for t, d in first.chip.items()
            if t in second.chip
        )

    def extend(done: tuple[Own, ...]) -> Iterator[tuple[Own, ...]]:
        if len(done) == len(choices):
            yield done
            return
        for own in choices[len(done)]:
            if all(agree(earlier, own) for earlier in done):
                yield from extend((*done, own))

    yield from extend(())


VALUES: dict[str, Callable[[float, float], float]] = {
    "energy": lambda energy, latency: energy,
    "latency": lambda energy, latency: latency,
    "edp": lambda energy, latency: energy * latency,
}


def fused_mappings(
    arch: Arch,
    workload: Workload,
    conventions: str,
    limit: int,
    scored: Scored | None = None,
    repeats: int = 1,
    low: bool = False,
) -> list[tuple[tuple[Own, ...], list[int]]] | None:
    """Return every choice of lists with the loops it shares; None if there are too many."""
    candidates = on_chip_candidates(workload)
    found: list[tuple[tuple[Own, ...], list[int]]] = []
    for count in range(len(candidates) + 1):
        for subset in combinations(candidates, count):
            chip = frozenset(subset)
            choices = [
                owns(arch, workload, e, chip, conventions, scored, repeats, low)
                for e in workload.einsums
            ]
            for chosen in combinations_of(choices):
                depths = {t: d for own in chosen for t, d in own.chip.items()}
                shared = [
                    max((depths[t] for t in chip if candidates[t][0] <= b < candidates[t][-1]),
                        default=0)
                    for b in range(len(chosen) - 1)
                ]  # fmt: skip
                found.append((chosen, shared))
                if len(found) > limit:
                    return None
    return found


def best_fused(
    arch: Arch,
    workload: Workload,
    objective: str,
    conventions: str,
    limit: int = 200_000,
    scored: Scored | None = None,
    repeats: int = 1,
) -> tuple[float, Mapping | None] | None:
    """Return the least value over all fused and unfused mappings; None if there are too many.

    Einsums share up to `repeats` loops per rank variable. `scored` gives joule and second of one
    Einsum on its own path, instead of the model.
    """
    found = fused_mappings(arch, workload, conventions, limit, scored, repeats)
    if found is None:
        return None

    def value(chosen: tuple[Own, ...]) -> float:
        latency = sum(own.latency for own in chosen)
        return VALUES[objective](sum(own.energy for own in chosen), latency)

    for chosen, shared in sorted(found, key=lambda one: value(one[0])):
        mapping = whole(workload, chosen, shared)
        if mapping is None:
            continue
        try:
            score = evaluate(arch, workload, mapping, conventions)
        except InfeasibleMapping:
            continue
        assert abs(VALUES[objective](score.energy, score.latency) / value(chosen) - 1) < 1e-9
        return value(chosen), mapping
    return float("inf"), None


def front_fused(
    arch: Arch, workload: Workload, conventions: str, limit: int = 200_000
) -> list[tuple[float, float]] | None:
    """Return the Pareto points (energy, latency) of all mappings; None if there are too many."""
    found = fused_mappings(arch, workload, conventions, limit)
    if found is None:
        return None
    totals = [
        (sum(own.energy for own in chosen), sum(own.latency for own in chosen))
        for chosen, _ in found
    ]
    front: list[tuple[float, float]] = []
    for number in sorted(range(len(found)), key=totals.__getitem__):
        if front and totals[number][1] >= front[-1][1] * (1 - 1e-12):
            continue
        mapping = whole(workload, *found[number])
        if mapping is None:
            continue
        try:
            evaluate(arch, workload, mapping, conventions)
        except InfeasibleMapping:
            continue
        if front and totals[number][0] <= front[-1][0] * (1 + 1e-12):
            front.pop()
        front.append(totals[number])
    return front


def rows_fused(arch: Arch, workload: Workload, conventions: str, limit: int) -> list[Score] | None:
    """Return the scores of all mappings that fit, whatever memories they use; None if too many."""
    found = fused_mappings(arch, workload, conventions, limit, low=True)
    if found is None:
        return None
    scores: list[Score] = []
    for chosen, shared in found:
        mapping = whole(workload, chosen, shared)
        if mapping is not None:
            with suppress(InfeasibleMapping):
                scores.append(evaluate(arch, workload, mapping, conventions))
    return scores


def whole(workload: Workload, chosen: tuple[Own, ...], shared: list[int]) -> Mapping | None:
    nodes = tree(chosen, shared)
    if nodes is None:
        return None
    chip = {t for own in chosen for t in own.chip}
    outer = tuple(Storage((t,), OUTER) for t in workload.tensors if t not in chip)
    mapping = Mapping((*outer, *nodes))
    return mapping if says_the_same(mapping, chosen) else None
