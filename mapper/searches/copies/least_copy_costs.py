"""Bound the cost of copy Einsums that repeat values or slide windows over them.

Where a rank variable does not belong to both tensors, or slides over one, tiles decide how often a
value travels. Every holder passes every value at least once, as in a mapping whose holders all
stand above all loops, and the innermost hands over one for each operation, which lanes may share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, prod

from tilewright.arch.components.components import Component, Memory
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Storage,
    Temporal,
    TollNode,
)
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.evaluation import evaluate_flat
from tilewright.mapper.model.paths.path import paths_of
from tilewright.mapper.model.paths.view import Requests, TensorView, make_view
from tilewright.mapper.searches.exact.metric_terms import latency_rises, leaks_of, touched_values
from tilewright.mapper.templates.placement import Placement, Template
from tilewright.mapper.workload.einsum import Einsum


def repeated_variables(einsum: Einsum) -> frozenset[str]:
    """Return the rank variables of a copy over which values repeat or windows slide.

    These are variables that some tensor lacks, or that stand in a sum in an index. Only over them
    do tile sizes decide how often a value moves.
    """
    return frozenset(
        variable
        for variable in einsum.bounds
        if any(access.relevance(variable) != "relevant" for access in einsum.accesses)
    )


def least_copy_costs(space: Mapspace, placements: Sequence[Placement]) -> tuple[float, float]:
    """Return (joules, seconds) that no mapping of a copy Einsum with these placements is below.

    Both hold for all instances together, each by itself. A placement says which memory keeps which
    tensors. Assumed is that every holder passes every value at least once.
    """
    leaks = leaks_of(space.flat, space.conventions)
    watts = sum(leak.watts * prod(used for _, used in leak.gates) for leak in leaks)
    costs = list(_moved(space, placements))
    energy = min((energy + watts * latency for energy, latency in costs), default=inf)
    return energy, min((latency for _, latency in costs), default=inf)


def _moved(space: Mapspace, placements: Sequence[Placement]) -> Iterator[tuple[float, float]]:
    """Yield, per placement, the least joules and seconds of moving every value once."""
    einsum = space.einsum
    flat = replace(space.flat, components=tuple(map(_without_limit, space.flat.components)))
    view = make_view(einsum, flat)
    tensor_sizes = {name: tensor.tile(einsum.bounds) for name, tensor in view.tensors.items()}
    if any(
        touched_values(access, einsum.bounds) < tensor_sizes[access.tensor]
        for access in einsum.accesses
    ):
        yield 0.0, 0.0  # small tiles leave out what a stride skips, the whole tensor does not
        return
    operations = prod(einsum.bounds.values())
    tensors = {
        name: _scaled(
            tensor,
            max(Fraction(tensor_sizes[name], operations), Fraction(1, _sharing(space, name))),
        )
        for name, tensor in view.tensors.items()
    }
    ideal, conventions = replace(view, tensors=tensors), conventions_called(space.conventions)
    for template in filter(None, map(space.first_template, placements)):
        (path,) = paths_of(Mapping(tuple(_nodes(space, template))))
        score = evaluate_flat([(path, ideal)], conventions)
        busy = (score.latency_by.get(f"{einsum.name}/{name}", 0.0) for name in _alone(space))
        yield score.dynamic_energy, max(busy, default=0.0)


def _alone(space: Mapspace) -> Iterator[str]:
    """Yield the memories above all lanes whose latency grows with what they move.

    The loops of a mapping make them move no less.
    """
    for component in space.flat.components:
        if component.own_fanout > 1 or component.physical_fanout > 1:
            return
        if (
            isinstance(component, Memory)
            and component.latency is not None
            and latency_rises(component)
        ):
            yield component.name


def _without_limit(component: Component) -> Component:
    return replace(component, size=inf) if isinstance(component, Memory) else component


def _sharing(space: Mapspace, tensor: str) -> int:
    """Return how many operations at most may share one value of a tensor read at the Compute."""
    access, bounds = space.einsum.access(tensor), space.einsum.bounds
    dims = [dim for component in space.flat.components for dim in component.spatial]
    lanes = prod(dim.fanout for dim in dims if tensor in dim.may_reuse)
    return min(lanes, prod(bounds[v] for v in bounds if access.relevance(v) == "irrelevant"))


def _scaled(tensor: TensorView, share: Fraction) -> TensorView:
    """Return the tensor with its accesses at the Compute multiplied by `share` (0 to 1)."""
    return replace(tensor, leaf=Requests(*(share * count for count in tensor.leaf)))


def _nodes(space: Mapspace, template: Template) -> Iterator[Node]:
    """Yield the nodes of a mapping in which all holders of a template stand above all loops."""
    holders = (*template.holders, *template.tolls)
    for component in space.flat.components:
        kind = Storage if isinstance(component, Memory) else TollNode
        passing = sorted(holder.tensor for holder in holders if holder.component == component.name)
        yield from (kind((tensor,), component.name) for tensor in passing)
    for variable in space.einsum.bounds:
        yield Temporal(variable, 1)
    yield ComputeNode(space.einsum.name, space.flat.compute.name)
