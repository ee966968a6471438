"""The nodes of one Einsum below the outermost memory: every list, constraints aside.

Every subset and order of holders in the inner memory, what the innermost one keeps below them in
every order, every loop in every gap. Loops above a tensor on chip, and lanes above the inner
memory, come in all orders; those of other gaps in every order that differs for a holder in the run
right above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations, permutations, product
from math import prod

from tilewright.arch.components.components import PlacementRules
from tilewright.mapper.mapping.mapping import ComputeNode, Node, Spatial, Storage, Temporal
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.workload import Workload

OUTER, INNER, LOW, MAC = "DRAM", "BUF", "REG", "MAC"
Place = tuple[str, str]  # tensor, memory
Resolve = Callable[[Mapping[str, frozenset[str]]], PlacementRules]
Loop = tuple[str, int]  # rank variable, turns
SIDE_BY_SIDE = "|"  # behind the number of a dimension, before the variable


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


@dataclass(frozen=True)
class Lanes:
    """A dimension of lanes."""

    component: str
    dim: str
    fanout: int


@dataclass(frozen=True)
class Order:
    """Holders from the outermost in, and the variables allowed in each gap above the exchanged.

    `lanes`: dimensions, each with the memory above it. `repeats`: how many loops over one variable
    may stand in those gaps.
    """

    places: tuple[Place, ...]
    legal: tuple[frozenset[str], ...]
    lanes: tuple[tuple[Lanes, str], ...]
    repeats: int

    def dealing(self, number: int) -> int:
        """The gap with the lanes of a dimension: below all holders of the memory above them."""
        above = (OUTER, INNER, LOW).index(self.lanes[number][1])
        return sum(memory in (INNER, LOW)[:above] for _, memory in self.places)


def lists(
    workload: Workload,
    einsum: Einsum,
    chip: frozenset[str],
    below: tuple[list[str], tuple[tuple[Lanes, str], ...]],
    repeats: int = 1,
) -> Iterator[list[Node]]:
    """Yield the nodes of `einsum` below the outermost memory, constraints aside.

    `below`: what the innermost memory keeps, and the lanes.
    """
    low, lanes = below
    mine = [t for t in einsum.tensors if t in chip]
    others = [t for t in einsum.tensors if t not in chip]
    candidates = on_chip_candidates(workload)
    above = {t: relevant_above(workload, t, candidates[t]) for t in mine}
    held = chain.from_iterable(combinations(others, n) for n in range(len(others) + 1))
    for subset in held:
        for order in permutations((*mine, *subset)):
            lowest = max((i for i, t in enumerate(order) if t in chip), default=-1)
            legal = tuple(
                frozenset.intersection(*(frozenset(above[t]) for t in order[gap:] if t in chip))
                for gap in range(lowest + 1)
            )
            for last in permutations(low):
                places = (*((t, INNER) for t in order), *((t, LOW) for t in last))
                yield from placed(einsum, Order(places, legal, lanes, repeats))


def deep_lists(
    workload: Workload,
    einsum: Einsum,
    chip: Mapping[str, str],
    rules: tuple[Resolve, Resolve],
    lanes: tuple[tuple[Lanes, str], ...] = (),
    repeats: int = 1,
) -> Iterator[list[Node]]:
    """Yield the nodes where the innermost memory, too, may hold what is exchanged.

    `chip`: the memory of each tensor on chip; `rules`: what the inner and the innermost memory must
    and may keep, when the memories above keep some tensors.
    """
    candidates = on_chip_candidates(workload)
    above = {t: relevant_above(workload, t, candidates[t]) for t in einsum.tensors if t in chip}
    outer = frozenset(t for t in einsum.tensors if t not in chip)
    first = frozenset(t for t in above if chip[t] == INNER)
    second = frozenset(above) - first
    for upper in kept_ways(rules[0]({OUTER: outer}), einsum, (first, second)):
        kept = {OUTER: outer, INNER: upper}
        for lower in kept_ways(rules[1](kept), einsum, (second, frozenset())):
            for order in product(permutations(sorted(upper)), permutations(sorted(lower))):
                places = (*((t, INNER) for t in order[0]), *((t, LOW) for t in order[1]))
                lowest = max((i for i, (t, m) in enumerate(places) if chip.get(t) == m), default=-1)
                legal = tuple(
                    frozenset.intersection(
                        *(frozenset(above[t]) for t, m in places[gap:] if chip.get(t) == m)
                    )
                    for gap in range(lowest + 1)
                )
                yield from placed(einsum, Order(places, legal, lanes, repeats))


def kept_ways(
    rules: PlacementRules, einsum: Einsum, wanted: tuple[frozenset[str], frozenset[str]]
) -> Iterator[frozenset[str]]:
    """Yield what a memory may keep, with some tensors and without some."""
    must, never = rules.keep | rules.back | wanted[0], wanted[1]
    may = [t for t in einsum.tensors if t in rules.may_keep - must - never]
    if must & never or not wanted[0] <= rules.keep | rules.back | rules.may_keep:
        return
    for some in chain.from_iterable(combinations(may, n) for n in range(len(may) + 1)):
        yield (must & frozenset(einsum.tensors)) | frozenset(some)


def placed(einsum: Einsum, order: Order) -> Iterator[list[Node]]:
    """Yield the nodes with all loops; the last parts of each bound are its lanes.

    Those above what is exchanged, or above the inner memory, come in every order with the loops of
    their gap, others as the last loops of it.
    """
    names, fused = list(einsum.bounds), len(order.legal)
    gaps = len(order.places) + 1
    dims = range(len(order.lanes))
    parts = gaps + len(dims)
    for turns in product(*(list(splits(b, parts)) for b in einsum.bounds.values())):
        named = list(zip(names, turns, strict=True))
        shares = [{n: turn[gaps + i] for n, turn in named if turn[gaps + i] > 1} for i in dims]
        loops = [[(n, turn[g]) for n, turn in named if turn[g] > 1] for g in range(gaps)]
        last: list[list[Loop]] = [[] for _ in range(gaps)]
        for i in dims:
            gap = order.dealing(i)
            among = loops if gap < fused or order.lanes[i][1] == OUTER else last
            among[gap] += [(f"{i}{SIDE_BY_SIDE}{n}", share) for n, share in shares[i].items()]
        if any(
            prod(share.values()) > lanes.fanout
            for share, (lanes, _) in zip(shares, order.lanes, strict=True)
        ):
            continue
        if any(
            name.rpartition(SIDE_BY_SIDE)[2] not in order.legal[gap]
            for gap in range(fused)
            for name, _ in loops[gap]
        ):
            continue
        choices = [
            orders_of(loops[gap], order.repeats)
            if gap < fused
            else orders_seen(einsum, order.places, loops[: gap + 1])
            for gap in range(gaps)
        ]
        for chosen in product(*choices):
            shared = [name for gap in chosen[:fused] for name, _ in gap]
            if all(shared.count(name) <= order.repeats for name in shared):
                whole = ((*some, *fixed) for some, fixed in zip(chosen, last, strict=True))
                yield nodes_of(einsum, order, tuple(whole))


def orders_seen(
    einsum: Einsum, places: tuple[Place, ...], loops: list[list[Loop]]
) -> list[tuple[Loop, ...]]:
    """Return orders of the last gap, one of each kind that the holders above tell apart.

    These are the holders of the run right above the gap: without a loop between them and it. Below
    a Network it matters, too, whether loops stand below the lanes. Of a kind the order with the
    lanes together and as in the file is taken, where there is one: others are no answers there.
    """
    *upper, gap = loops
    start = max((g for g, loops_there in enumerate(upper) if loops_there), default=0)
    run = [tensor for tensor, _ in places[start : len(upper)]]
    kinds = {
        (_dealt_last(order), *(streamed(einsum, t, order) for t in run)): order
        for order in sorted(permutations(gap), key=_dealt_together)
    }
    return list(kinds.values())


def _dealt_together(loops: tuple[Loop, ...]) -> bool:
    """Tell whether no loop in time stands between lanes, and their dimensions are in order."""
    dealt = [(place, name) for place, (name, _) in enumerate(loops) if SIDE_BY_SIDE in name]
    dims = [name.partition(SIDE_BY_SIDE)[0] for _, name in dealt]
    return dims == sorted(dims) and (not dealt or dealt[-1][0] - dealt[0][0] < len(dealt))


def _dealt_last(loops: tuple[Loop, ...]) -> bool:
    """Tell whether no loop in time stands below lanes."""
    dealt = [SIDE_BY_SIDE in name for name, _ in loops]
    return dealt == sorted(dealt)


def streamed(einsum: Einsum, tensor: str, loops: tuple[Loop, ...]) -> frozenset[str]:
    """Return the variables that the walk down from a holder of the tensor passes at most."""
    passed: set[str] = set()
    for name, _ in loops:
        if SIDE_BY_SIDE in name:
            break
        ranks = [form for _, form in einsum.access(tensor).projection if name in dict(form.terms)]
        if not ranks:
            break
        passed.add(name)
        if any(len(form.terms) > 1 or form.terms[0][1] != 1 for form in ranks):
            break  # the window slides
    return frozenset(passed)


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


def nodes_of(einsum: Einsum, order: Order, loops: tuple[tuple[Loop, ...], ...]) -> list[Node]:
    """Write the loops and lanes between the holders."""
    tile = dict(einsum.bounds)
    nodes: list[Node] = []
    for gap, turns in enumerate(loops):
        for loop, turn in turns:
            number, _, name = loop.rpartition(SIDE_BY_SIDE)
            tile[name] //= turn
            if number:
                lanes, _ = order.lanes[int(number)]
                nodes.append(Spatial(name, tile[name], lanes.dim, lanes.component))
            else:
                nodes.append(Temporal(name, tile[name]))
        if gap < len(order.places):
            tensor, memory = order.places[gap]
            nodes.append(Storage((tensor,), memory))
    return [*nodes, ComputeNode(einsum.name, MAC)]
