"""Copies that repeat values or slide over them: what no mapping of such a copy costs less than.

Where a rank variable does not belong to both tensors, or slides over one, tiles decide how often a
value travels. Every holder passes every value at least once, as in a mapping whose holders all
stand above all loops, and the innermost hands over each at least once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import inf, prod

from tilewright.arch.components import Component, Memory
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.evaluation import evaluate_flat
from tilewright.mapper.mapping import Compute, Mapping, Node, Storage, Temporal, Toll
from tilewright.mapper.mapspace.placement import Placement
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.path import paths_of
from tilewright.mapper.model.view import TensorView, make_view
from tilewright.mapper.searches.problem import leaks_of, touched


def repeated(einsum: Einsum) -> frozenset[str]:
    """Return the rank variables that some tensor lacks or slides over."""
    return frozenset(
        variable
        for variable in einsum.bounds
        if any(access.relevance(variable) != "relevant" for access in einsum.accesses)
    )


def least_energy(space: Mapspace, seconds: float) -> float:
    """Return joule that no mapping of all instances is below, if none takes less than `seconds`."""
    leaks = leaks_of(space.flat, space.conventions)
    watts = sum(leak.watts * prod(used for _, used in leak.gates) for leak in leaks)
    return _least_moved(space) + watts * seconds


def _least_moved(space: Mapspace) -> float:
    einsum = space.einsum
    flat = replace(space.flat, components=tuple(map(_without_limit, space.flat.components)))
    view = make_view(einsum, flat)
    whole = {name: tensor.tile(einsum.bounds) for name, tensor in view.tensors.items()}
    if any(touched(access, einsum.bounds) < whole[access.tensor] for access in einsum.accesses):
        return 0.0  # small tiles leave out what a stride skips, the whole tensor does not
    operations = prod(einsum.bounds.values())
    tensors = {
        name: _scaled(tensor, Fraction(whole[name], operations))
        for name, tensor in view.tensors.items()
    }
    ideal, conventions = replace(view, tensors=tensors), conventions_called(space.conventions)
    least = inf
    for placement in space.placements:
        (path,) = paths_of(Mapping(tuple(_nodes(space, placement))))
        least = min(least, evaluate_flat([(path, ideal)], conventions).dynamic_energy)
    return least


def _without_limit(component: Component) -> Component:
    return replace(component, size=inf) if isinstance(component, Memory) else component


def _scaled(tensor: TensorView, part: Fraction) -> TensorView:
    """Let the innermost holder hand over less than a value for every operation."""
    reads, writes, skipped = (part * count for count in tensor.leaf)
    return replace(tensor, leaf=(reads, writes, skipped))


def _nodes(space: Mapspace, placement: Placement) -> Iterator[Node]:
    """Yield all holders, then all loops."""
    memories = {c.name for c in space.flat.components if isinstance(c, Memory)}
    for name, tensors in placement.kept:
        kind = Storage if name in memories else Toll
        yield from (kind((tensor,), name) for tensor in sorted(tensors))
    for variable in space.einsum.bounds:
        yield Temporal(variable, 1)
    yield Compute(space.einsum.name, space.flat.compute.name)
