"""The lists of one Einsum with their energy and latency, those left out that others beat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod

from fused_lists import INNER, LOW, OUTER, Resolve, deep_lists, lists
from fused_rules import breaks_rule, inner_rules, kept_low, lanes_of, scattered
from fused_tolls import passing
from search_rules import breaks_lanes, divides_sums, lanes_used

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapping.mapping import Node, Spatial, Storage, Temporal
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.costs import costs_of
from tilewright.mapper.model.occupancy.capacity import check_capacity, peak_bits
from tilewright.mapper.model.occupancy.occupancy import Occupancy, PathOccupancies
from tilewright.mapper.model.paths.path import paths_of
from tilewright.mapper.model.paths.view import EinsumView, make_view
from tilewright.mapper.model.tally import tally
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload

Alone = tuple[tuple[float, float], list[Occupancy]]  # joule, second, and what is held
Scored = Callable[[Einsum, FlatArch, tuple[Node, ...]], tuple[float, float]]


@dataclass(frozen=True)
class Subject:
    """A workload on a design. Einsums share up to `repeats` loops per rank variable.

    `scored`: joule and second of one Einsum on its own path, instead of the model's.
    `low`: what the innermost memory holds matters, too. `deep`: so does what is exchanged there,
    which are all tensors but `not_low`.
    """

    arch: Arch
    workload: Workload
    conventions: str
    repeats: int = 1
    scored: Scored | None = None
    low: bool = False
    deep: bool = False
    not_low: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Own:
    """One Einsum: its nodes below the outermost memory, and how many of its loops are fused."""

    einsum: str
    tensors: tuple[str, ...]
    nodes: tuple[Node, ...]
    fused: int
    chip: dict[str, int]  # tensor on chip -> loops above
    memory: Mapping[str, str]  # tensor on chip -> where
    energy: float = 0.0
    latency: float = 0.0
    backed: frozenset[str] = frozenset()  # tensors of this Einsum alone that DRAM does not have

    @property
    def loops(self) -> tuple[Temporal | Spatial, ...]:
        return tuple(n for n in self.nodes if isinstance(n, Temporal | Spatial))[: self.fused]


def owns(subject: Subject, einsum: Einsum, chip: Mapping[str, str]) -> list[Own]:
    """Score every list alone; of those that look the same from outside, keep the Pareto points.

    `chip`: the memory of each tensor on chip.
    """
    best: dict[object, list[tuple[tuple[float, ...], Own]]] = {}
    (flat,) = flatten(subject.arch, subject.workload.scope(einsum))
    for backed in backed_ways(subject.workload, flat, einsum, frozenset(chip)):
        add_owns(subject, Placed(einsum, flat, chip, backed), best)
    return [own for known in best.values() for _, own in known]


@dataclass(frozen=True)
class Placed:
    """An Einsum on its path, with the memory of each tensor on chip.

    `backed`: tensors of its own in the inner memory that the outermost one does not have.
    """

    einsum: Einsum
    flat: FlatArch
    chip: Mapping[str, str]
    backed: frozenset[str]

    @property
    def outer(self) -> tuple[Storage, ...]:
        """The Storage nodes of the outermost memory."""
        inside = {*self.chip, *self.backed}
        return tuple(Storage((t,), OUTER) for t in self.einsum.tensors if t not in inside)


def add_owns(
    subject: Subject, placed: Placed, best: dict[object, list[tuple[tuple[float, ...], Own]]]
) -> None:
    """Add those of one choice of what is on chip."""
    einsum, chip, backed = placed.einsum, placed.chip, placed.backed
    for nodes, ((energy, latency), held) in well_used(
        placed.flat, einsum, fitting_lists(subject, placed)
    ):
        fused, depths = fused_of(nodes, chip)
        own = Own(
            einsum.name, einsum.tensors, tuple(nodes), fused, depths, chip, energy, latency, backed
        )
        shared = (INNER, LOW) if subject.deep else (INNER,)
        inner = [h for h in held if h.component in shared and chip.get(h.tensor) != h.component]
        deep = sum(h.bits for h in held if subject.low and h.component == LOW)
        if subject.deep:
            deep = sum(h.bits for h in inner if h.loops_above >= fused and h.component == LOW)
        bits = sum(h.bits for h in inner if h.loops_above >= fused and h.component == INNER)
        seen: object = (own.loops, tuple(sorted(depths.items())), outside(own, inner), backed)
        if einsum.is_copy:  # whose tiles may stand for each other
            bits, seen = sum(h.bits for h in held if h.component == INNER), upper(nodes, chip)
        keep_best(best.setdefault(seen, []), (energy, latency, float(bits), float(deep)), own)


def fitting_lists(subject: Subject, placed: Placed) -> list[tuple[list[Node], Alone]]:
    """Return the legal lists of nodes that fit, each with its score alone."""
    einsum, flat = placed.einsum, placed.flat
    view = make_view(einsum, flat)
    rules = inner_rules(flat, einsum, frozenset(placed.chip) | placed.backed)

    def is_legal(nodes: list[Node]) -> bool:
        chip, conventions = frozenset(placed.chip), subject.conventions
        return not (
            breaks_rule(einsum, nodes, rules, chip, conventions)
            or breaks_lanes(einsum, flat.components, nodes, conventions == "accelforge")
            or scattered(nodes, flat)
            or (conventions == "default" and divides_sums(einsum, (*placed.outer, *nodes)))
        )

    legal = filter(is_legal, passing(flat, einsum, placed.chip, node_lists(subject, placed)))
    scored = ((nodes, scored_alone(subject, view, (*placed.outer, *nodes))) for nodes in legal)
    return [(nodes, found) for nodes, found in scored if found is not None]


def node_lists(subject: Subject, placed: Placed) -> Iterable[list[Node]]:
    """Return the lists of nodes below the outermost memory, legal or not."""
    einsum, flat, chip = placed.einsum, placed.flat, placed.chip
    if subject.deep:
        resolve = tuple(resolver(flat, name) for name in (INNER, LOW))
        found = deep_lists(subject.workload, einsum, chip, resolve, lanes_of(flat), subject.repeats)
    else:
        as_source = einsum.is_copy and subject.conventions == "accelforge"
        below = [] if as_source else kept_low(flat, einsum), lanes_of(flat)
        found = lists(subject.workload, einsum, frozenset(chip), below, subject.repeats)
    return with_backed(found, placed.backed, flat) if placed.backed else found


def backed_ways(
    workload: Workload, flat: FlatArch, einsum: Einsum, chip: frozenset[str]
) -> Iterator[frozenset[str]]:
    """Yield the tensors of one Einsum alone that the outermost memory leaves to the inner one."""
    users = Counter(tensor for other in workload.einsums for tensor in other.tensors)
    alone = [t for t in einsum.tensors if users[t] == 1]
    memories = {c.name: c.tensors for c in flat.components if isinstance(c, Memory)}
    outer = memories[OUTER].resolve({})
    must = frozenset(t for t in alone if t not in outer.keep | outer.may_keep)
    may = [t for t in alone if t in outer.may_keep - outer.keep]
    for some in chain.from_iterable(combinations(may, n) for n in range(len(may) + 1)):
        backed = must | frozenset(some)
        there = frozenset(einsum.tensors) - chip - backed
        inner = memories[INNER].resolve({OUTER: there})
        if backed <= inner.keep | inner.back | inner.may_keep and not inner.back & there:
            yield backed


def with_backed(
    found: Iterable[list[Node]], backed: frozenset[str], flat: FlatArch
) -> Iterator[list[Node]]:
    """Yield the lists that hold none of some tensors in the inner memory, with these there on top:
    below lanes above that memory, and no loop in time."""
    upper = {lanes.component for lanes, above in lanes_of(flat) if above == OUTER}
    on_top = [Storage((tensor,), INNER) for tensor in sorted(backed)]
    for nodes in found:
        if any(isinstance(n, Storage) and n.component == INNER and n.tensors[0] in backed
               for n in nodes):  # fmt: skip
            continue
        dealt = [isinstance(n, Spatial) and n.component in upper for n in nodes]
        if dealt == sorted(dealt, reverse=True):
            yield [*nodes[: sum(dealt)], *on_top, *nodes[sum(dealt) :]]


def well_used(
    flat: FlatArch, einsum: Einsum, fitting: list[tuple[list[Node], Alone]]
) -> list[tuple[list[Node], Alone]]:
    """Return those that use enough lanes, of each placement: the innermost dimension decides first,
    and where none reaches its min_usage the highest usage does."""
    dims = [(c, dim) for c in flat.components for dim in c.spatial if dim.min_usage > 0]
    if einsum.is_copy or not dims:
        return fitting
    groups: dict[frozenset[tuple[str, str]], list[tuple[list[Node], Alone]]] = {}
    for nodes, found in fitting:
        held = ((n.tensors[0], n.component) for n in nodes if isinstance(n, Storage))
        groups.setdefault(frozenset(held), []).append((nodes, found))
    left: list[tuple[list[Node], Alone]] = []
    for kept in groups.values():
        group = kept
        for component, dim in reversed(dims):
            key = component.name, dim.name
            used = [
                prod(lanes_used(einsum, n).get(key, {}).values()) / dim.fanout for n, _ in group
            ]
            floor = min(dim.min_usage, max(used)) - 1e-9
            group = [one for one, usage in zip(group, used, strict=True) if usage >= floor]
        left += group
    return left


def scored_alone(subject: Subject, view: EinsumView, nodes: tuple[Node, ...]) -> Alone | None:
    """Return energy, latency and what the holders occupy; None if it does not fit."""
    rules = conventions_called(subject.conventions)
    (path,) = paths_of(LoopNest(nodes))
    sizes = {c.name: c.size for c in view.flat.components if isinstance(c, Memory)}
    try:
        counted = tally(path, view, rules)
        bodies = [PathOccupancies(counted.path, counted.occupancy)]
        check_capacity(bodies, peak_bits(bodies, rules.shared, rules.tile), sizes)
    except InfeasibleMapping:
        return None
    held = list(counted.occupancy)
    if subject.scored is not None:
        return subject.scored(view.einsum, view.flat, nodes), held
    costs = costs_of(counted, view.flat, rules)
    return (costs.dynamic_energy + costs.leak_energy, costs.latency), held


def keep_best(
    known: list[tuple[tuple[float, ...], Own]], costs: tuple[float, ...], own: Own
) -> None:
    """Add one to those that no other beats in every cost."""
    if any(all(a <= b for a, b in zip(other, costs, strict=True)) for other, _ in known):
        return
    known[:] = [
        (other, one)
        for other, one in known
        if any(a < b for a, b in zip(other, costs, strict=True))
    ]
    known.append((costs, own))


def fused_of(nodes: list[Node], chip: Mapping[str, str]) -> tuple[int, dict[str, int]]:
    """Return the number of loops above the lowest exchanged tensor, and above each of them."""
    depths = {
        n.tensors[0]: sum(isinstance(m, Temporal | Spatial) for m in nodes[:i])
        for i, n in enumerate(nodes)
        if isinstance(n, Storage) and is_chip(n, chip)
    }
    return max(depths.values(), default=0), depths


def upper(nodes: list[Node], chip: Mapping[str, str]) -> tuple[Node, ...]:
    """Return the nodes down to the lowest exchanged tensor."""
    lowest = max((i for i, node in enumerate(nodes) if is_chip(node, chip)), default=-1)
    return tuple(nodes[: lowest + 1])


def is_chip(node: Node, chip: Mapping[str, str]) -> bool:
    return isinstance(node, Storage) and chip.get(node.tensors[0]) == node.component


def resolver(flat: FlatArch, name: str) -> Resolve:
    memory = flat.component(name)
    assert isinstance(memory, Memory)
    return memory.tensors.resolve


def outside(own: Own, inner: list[Occupancy]) -> object:
    """What other Einsums can notice of the others in the inner memory: what outlasts its turns."""
    high = tuple(
        sorted(
            (h.component, h.tensor, h.loops_above, h.bits)
            for h in inner
            if h.loops_above < own.fused
        )
    )
    written = tuple(
        (s.component, s.tensors[0], sum(isinstance(m, Temporal | Spatial) for m in own.nodes[:i]))
        for i, s in enumerate(own.nodes)
        if isinstance(s, Storage) and not is_chip(s, own.memory)
    )
    return high, tuple(sorted(one for one in written if one[2] < own.fused))
