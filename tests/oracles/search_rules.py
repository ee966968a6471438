"""The rules of the files, checked on a mapping straight from their definitions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence, Set
from math import prod

from tilewright.arch.components.components import Comparison, Component, SpatialDim
from tilewright.mapper.mapping.mapping import Mapping, Node, Spatial, Storage, Temporal
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.workload.einsum import Einsum

Lanes = dict[tuple[str, str], dict[str, int]]
OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, "<": operator.lt, "==": operator.eq, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip


def breaks_rule(space: Mapspace, template: Template, mapping: Mapping) -> bool:
    """Check the rules of the files on a mapping, straight from their definitions (model.md §8)."""
    return (
        _breaks_dims(space, mapping)
        or _breaks_fetch(space, template, mapping)
        or _breaks_shape(space, template, mapping)
        or (space.conventions != "accelforge" and divides_sums(space.einsum, mapping.nodes))
    )


def divides_sums(einsum: Einsum, nodes: Sequence[Node]) -> bool:
    """Tell whether lanes above all holders of an output divide a variable that it sums over."""
    shape = dict(einsum.bounds)
    for access in einsum.outputs:
        for node in nodes:
            if isinstance(node, Storage) and access.tensor in node.tensors:
                break
            if isinstance(node, (Temporal, Spatial)):
                turns = -(-shape[node.rank_variable] // node.tile_shape)
                shape[node.rank_variable] = node.tile_shape
                loose = access.relevance(node.rank_variable) != "relevant"
                if isinstance(node, Spatial) and turns > 1 and loose:
                    return True
    return False


def _breaks_shape(space: Mapspace, template: Template, mapping: Mapping) -> bool:
    if space.conventions == "accelforge":
        return False
    shape = dict(space.einsum.bounds)
    seen: set[str] = set()
    for node in mapping.nodes:
        if isinstance(node, (Temporal, Spatial)):
            shape[node.rank_variable] = node.tile_shape
        if isinstance(node, Storage) and node.component not in seen:
            seen.add(node.component)
            for bound in template.placement.rules_of(node.component).tile_shape:
                values = [shape[v] for v in shape if v in bound.rank_variables]
                if bound.operator.startswith("product"):
                    values = [prod(values)]
                compare = OPERATORS[bound.operator.removeprefix("product")]
                if not all(compare(value, bound.value) for value in values):
                    return True
    return False


def _breaks_dims(space: Mapspace, mapping: Mapping) -> bool:
    accelforge = space.conventions == "accelforge"
    return breaks_lanes(space.einsum, space.problem.components, mapping.nodes, accelforge)


def breaks_lanes(
    einsum: Einsum, components: Sequence[Component], nodes: Sequence[Node], accelforge: bool
) -> bool:
    """Tell whether `reuse` or a loop bound of some dimension forbids the spatial loops of nodes."""
    used, own = lanes_used(einsum, nodes), frozenset(einsum.bounds)
    for component in components:
        for dim in component.spatial:
            chosen = used.get((component.name, dim.name), {})
            reused = _reused(einsum, dim)
            if any(chosen.get(v, 1) > 1 for v in reused):
                return True
            if accelforge:
                if _breaks_accelforge_bounds(chosen, dim, reused):
                    return True
                continue
            if any(breaks_bound(b, chosen, b.rank_variables & own) for b in dim.loop_bounds):
                return True
    return False


def _reused(einsum: Einsum, dim: SpatialDim) -> frozenset[str]:
    """Return the variables over which `reuse` leaves no loop that a bound could be about."""
    shared = [a.rank_variables for a in einsum.accesses if a.tensor in dim.reuse]
    return frozenset[str]().union(*shared)


def _breaks_accelforge_bounds(
    chosen: dict[str, int], dim: SpatialDim, reused: frozenset[str]
) -> bool:
    """Check loop bounds as model.md §8.3 says: a set of tensors names no loop, what is bound
    to one lane is no loop, and bounds that are left without a loop say nothing."""
    bounds = [bound for bound in dim.loop_bounds if not bound.of_tensors]
    one = [
        b for b in bounds if b.value == 1 and b.operator in {"==", "<=", "product==", "product<="}
    ]
    gone = reused.union(*(bound.rank_variables for bound in one))
    if any(chosen.get(v, 1) > 1 for bound in one for v in bound.rank_variables):
        return True
    rest = [(bound, bound.rank_variables - gone) for bound in bounds if bound not in one]
    return any(targets and breaks_bound(bound, chosen, targets) for bound, targets in rest)


def breaks_bound(bound: Comparison, chosen: dict[str, int], targets: Set[str]) -> bool:
    """Tell whether lanes over some variables break a comparison; without a loop there is one."""
    values = [chosen.get(v, 1) for v in targets]
    if bound.operator.startswith("product"):
        values = [prod(values)]
    return not all(
        OPERATORS[bound.operator.removeprefix("product")](v, bound.value) for v in values
    )


def lanes_used(einsum: Einsum, nodes: Sequence[Node]) -> Lanes:
    """Return the lanes of every dimension, from the spatial loops of an Einsum's nodes."""
    shape = dict(einsum.bounds)
    used: Lanes = {}
    for node in nodes:
        if isinstance(node, (Temporal, Spatial)):
            turns = -(-shape[node.rank_variable] // node.tile_shape)
            shape[node.rank_variable] = node.tile_shape
            if isinstance(node, Spatial):
                used.setdefault((node.component, node.name), {})[node.rank_variable] = turns
    return used


def _breaks_fetch(space: Mapspace, template: Template, mapping: Mapping) -> bool:
    spatial_too = space.conventions != "accelforge"
    passing = {toll.component for toll in template.tolls}
    for name, tensors in template.placement.kept_tensors:
        rules = template.placement.rules_of(name)
        for tensor in tensors:
            seen_first = between_up = below = False
            access = space.einsum.access(tensor)
            for node in mapping.nodes:
                if isinstance(node, Storage) and node.component in passing:
                    continue  # a Toll stores nothing: what it passes on still comes from above
                if isinstance(node, Storage) and tensor in node.tensors:
                    if below:
                        below = False
                    elif node.component == name:
                        below = tensor in rules.no_resend_to_below
                        between_up = False
                        seen_first = True
                    elif not seen_first:
                        between_up = tensor in rules.no_refetch_from_above
                if not isinstance(node, (Temporal, Spatial)):
                    continue
                temporal = isinstance(node, Temporal)
                fetched = between_up and (temporal or (spatial_too and _above(space, node, name)))
                loose = access.relevance(node.rank_variable) != "relevant"
                if loose and (fetched or (below and temporal)):
                    return True
    return False


def _above(space: Mapspace, node: Temporal | Spatial, memory: str) -> bool:
    assert isinstance(node, Spatial)
    return space.problem.level(node.component) <= space.problem.level(memory)
