"""Recognise Einsums that pose the same problem under other names: one solution serves all."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from tilewright.arch.components.components import (
    Component,
    Compute,
    Memory,
    Network,
    PlacementRules,
    SpatialDim,
    TensorHolder,
    Toll,
)
from tilewright.arch.flattening.kinds.scope_signature import einsum_signature
from tilewright.arch.flattening.placement import SpecTensorRules
from tilewright.mapper.mapping.mapping import ComputeNode, Node, Spatial, Storage, Temporal
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.metric_terms import leaks_of
from tilewright.mapper.searches.result import EinsumMapping
from tilewright.mapper.templates.placement import Placement
from tilewright.mapper.workload.einsum import Einsum

Numbers = Mapping[str, int]


class HashedOnce:
    """Wrap a value so that its hash is computed once: a search looks it up thousands of times."""

    __slots__ = ("hash", "value")

    def __init__(self, value: Hashable) -> None:
        self.value = value
        self.hash = hash(value)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, HashedOnce) and self.value == other.value)


class ProblemKeys:
    """Gives each mapspace the signature of its problem: one object for all equal ones.

    Signatures are large. Their largest part, the placements, is made once for all Einsums that the
    architecture cannot tell apart but by names.
    """

    def __init__(self) -> None:
        self._keys: dict[Hashable, Hashable] = {}
        self._by_origin: dict[Hashable, Hashable] = {}

    def of(self, space: Mapspace) -> Hashable:
        """Return the key of a mapspace, equal where problems differ in names only."""
        origin = _origin(space)
        key = self._by_origin.get(origin)
        if key is None:
            key = HashedOnce(problem_signature(space))
            key = self._keys.setdefault(key, key)
            if origin is not None:
                self._by_origin[origin] = key
        return key


def problem_signature(space: Mapspace) -> Hashable:
    """Return a hashable key, equal for Einsums that pose the same problem under other names.

    It has all that a search looks at: bounds, indices, components, placements, leakage, with
    tensors and rank variables numbered. Einsums may differ in name and n_instances. Latency rules
    that cannot be compared count as different. A placement says which memory keeps which tensors.
    """
    tensors, variables = _numbers(space)
    return (_all_but_placements(space), _placements(space.placements, tensors, variables))


def _origin(space: Mapspace) -> Hashable | None:
    """Return a key from which the problem follows, without its placements; None if there is none.

    Instead of placements it has what they come from: the tensor rules as written, what these see of
    the Einsum, and what the outermost memory must keep. It holds while the mapspace exists.
    """
    origins: list[Hashable] = []
    for component in space.flat.components:
        if not isinstance(component, TensorHolder):
            continue
        rules = component.tensors
        if not isinstance(rules, SpecTensorRules) or rules.resolver.einsum is None:
            return None
        arch, scope = rules.resolver.arch, rules.resolver.einsum.scope
        signature = einsum_signature(arch, scope)
        if signature is None:
            return None
        origins.append((id(arch), id(rules.spec), rules.holders_above, rules.is_toll, signature))
        origins += (_order_in(scope.tensors, space.einsum.tensors),
                    _order_in(scope.rank_variables, tuple(space.einsum.bounds)))  # fmt: skip
    backed = _chosen(space.backed, _numbers(space)[0])
    return (_all_but_placements(space), backed, tuple(origins))


def _order_in(names: Sequence[str], ordered: Sequence[str]) -> Hashable:
    """Return the place among `names` of each of the `ordered` ones."""
    if tuple(names) == ordered:
        return len(ordered)
    return tuple(names.index(name) if name in names else name for name in ordered)


def _all_but_placements(space: Mapspace) -> Hashable:
    tensors, variables = _numbers(space)
    return (
        space.conventions,
        _chosen(space.uneven, variables),
        _chosen(space.floating_tensors, tensors),
        _chosen(space.exchanged, tensors),
        space.crowded,
        _einsum(space.einsum, variables),
        tuple(_component(c, tensors, variables) for c in space.problem.components),
        leaks_of(space.flat, space.conventions),
    )


def _numbers(space: Mapspace) -> tuple[Numbers, Numbers]:
    """Return the numbers of the tensors and of the rank variables of an Einsum."""
    tensors = {tensor: i for i, tensor in enumerate(space.einsum.tensors)}
    return tensors, {v: i for i, v in enumerate(space.einsum.bounds)}


def _einsum(einsum: Einsum, variables: Numbers) -> Hashable:
    persistent = any(access.persistent for access in einsum.accesses)
    return (
        tuple(einsum.bounds.values()),
        einsum.is_copy,
        einsum.n_instances if persistent else 1,
        tuple(
            (
                access.output,
                access.persistent,
                access.bits_per_value,
                tuple(
                    (
                        form.constant,
                        form.point_extent,
                        tuple((variables[name], n) for name, n in form.terms),
                    )
                    for _, form in access.projection
                ),
            )
            for access in einsum.accesses
        ),
    )


def _component(component: Component, tensors: Numbers, variables: Numbers) -> Hashable:
    bits_per_value: Hashable = None
    if isinstance(component, (Memory, Toll)):
        bits_per_value = _values(component.bits_per_value, tensors)
    kind_attributes: Hashable = None
    if isinstance(component, Memory):
        kind_attributes = (component.size, component.skip_initial_output_write)
    elif isinstance(component, Compute):
        kind_attributes = component.skip_initial_output_write
    elif isinstance(component, Toll):
        kind_attributes = _values(component.direction, tensors)
    elif isinstance(component, Network):
        kind_attributes = component.topology
    actions = tuple(
        (a.name, a.energy, a.throughput, _values(a.values_per_action, tensors))
        for a in component.actions
    )
    return (
        type(component).__name__,
        component.name,
        component.physical_fanout,
        tuple(_dim(dim, tensors, variables) for dim in component.spatial),
        actions,
        component.actions_scale,
        _rule(component),
        bits_per_value,
        kind_attributes,
    )


def _rule(component: Component) -> Hashable:
    rule: object = component.latency
    try:
        hash(rule)
    except TypeError:
        return id(rule)
    return rule


def _dim(dim: SpatialDim, tensors: Numbers, variables: Numbers) -> Hashable:
    bounds = (
        tuple(replace(b, rank_variables=frozenset()) for b in dim.loop_bounds),
        tuple(_chosen(b.rank_variables, variables) for b in dim.loop_bounds),
    )
    sets = (_chosen(dim.may_reuse, tensors), _chosen(dim.reuse, tensors))
    return (
        (dim.name, dim.fanout, dim.min_usage, dim.usage_scale, dim.power_gateable), sets, bounds
    )  # fmt: skip


def _placements(
    placements: Sequence[Placement], tensors: Numbers, variables: Numbers
) -> tuple[Hashable, ...]:
    """Return a hashable key of placements: kept tensors and rules, by numbers instead of names.

    Hundreds of placements share few rules and few sets of tensors.
    """
    known: dict[int, Hashable] = {}

    def rules_of(rules: PlacementRules) -> Hashable:
        if id(rules) not in known:
            known[id(rules)] = _rules(rules, tensors, variables)
        return known[id(rules)]

    @cache
    def kept(names: tuple[str, ...]) -> tuple[int, ...]:
        return _chosen(frozenset(names), tensors)

    return tuple(
        (
            tuple((name, kept(names)) for name, names in placement.kept_tensors),
            tuple(map(rules_of, placement.rules)),
        )
        for placement in placements
    )


def _rules(rules: PlacementRules, tensors: Numbers, variables: Numbers) -> Hashable:
    shapes = tuple(
        (shape.operator, shape.value, shape.of_tensors, _chosen(shape.rank_variables, variables))
        for shape in rules.tile_shape
    )
    orders = tuple(
        tuple(_chosen(group, tensors) for group in option) for option in rules.tensor_order_options
    )
    return (
        _chosen(rules.no_refetch_from_above, tensors),
        _chosen(rules.no_resend_to_below, tensors),
        orders,
        rules.force_memory_hierarchy_order,
        shapes,
    )


def _values(values: Mapping[str, object], tensors: Numbers) -> Hashable:
    return tuple((tensors[t], values[t]) for t in tensors if t in values)


def _chosen(names: frozenset[str], numbers: Numbers) -> tuple[int, ...]:
    return tuple(number for name, number in numbers.items() if name in names)


def renamed_mapping(candidate: EinsumMapping, source: Mapspace, target: Mapspace) -> EinsumMapping:
    """Return the mapping found for one Einsum as a mapping of another with the same signature.

    Tensors and variables get the names of `target`; energy and latency are scaled to its
    instances.
    """
    pairs = [
        *zip(source.einsum.tensors, target.einsum.tensors, strict=True),
        *zip(source.einsum.bounds, target.einsum.bounds, strict=True),
    ]
    tensors = dict(pairs[: len(source.einsum.tensors)])
    variables = dict(pairs[len(source.einsum.tensors) :])
    nodes = tuple(_renamed(node, tensors, variables, target) for node in candidate.mapping.nodes)
    share = target.einsum.n_instances / source.einsum.n_instances
    return EinsumMapping(LoopNest(nodes), candidate.energy * share, candidate.latency * share)


def _renamed(
    node: Node, tensors: Mapping[str, str], variables: Mapping[str, str], target: Mapspace
) -> Node:
    if isinstance(node, Storage):
        return replace(node, tensors=tuple(tensors[t] for t in node.tensors))
    if isinstance(node, (Temporal, Spatial)):
        return replace(node, rank_variable=variables[node.rank_variable])
    assert isinstance(node, ComputeNode)
    return replace(node, einsum=target.einsum.name)
