"""Build the component of one node: evaluate its numbers, scales, estimates and latency rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from tilewright.arch.components.actions import Estimates, build_actions
from tilewright.arch.components.components import (
    Component,
    Compute,
    Container,
    LatencyRule,
    Memory,
    Network,
    SpatialDim,
    Toll,
)
from tilewright.arch.errors import SpecError
from tilewright.arch.expressions.expressions import UnknownNameError
from tilewright.arch.flattening.latency import (
    DEFAULT_LATENCY,
    NETWORK_LATENCY,
    ActionCosts,
    WaitingLatency,
    compile_latency,
)
from tilewright.arch.flattening.placement import SpecTensorRules
from tilewright.arch.flattening.resolve import Places, Resolver
from tilewright.arch.flattening.scope import LazyNames
from tilewright.arch.flattening.widths import bits_per_value, directions
from tilewright.arch.spec.spec import (
    ComponentSpec,
    ComputeSpec,
    HolderSpec,
    LeafSpec,
    MemorySpec,
    NetworkSpec,
    SpatialSpec,
    TollSpec,
)

_NOT_NAMES = frozenset({"name", "spatial", "enabled", "total_latency", "component_class"})
_SCALES = (
    *("area_scale", "leak_power_scale", "energy_scale"),
    *("throughput_scale", "latency_scale", "actions_scale"),
)
_ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What matters of the nodes around a component when its fields are evaluated.

    `parent_fanout`: product of the fanouts above; `holders_above`: names of Memories and Tolls
    above, top-down; `grid`: places of the grid of the Array it is in, None outside.
    """

    parent_fanout: int
    holders_above: tuple[str, ...]
    grid: int | None = None  # places of the grid; None outside of an Array


def build_component(resolver: Resolver, position: Surroundings) -> Component:
    """Return the component of a node of the architecture file, with all fields evaluated.

    `resolver`: evaluates the fields of the node; `position`: fanouts and memories above it. Raises
    SpecError at the field that is wrong.
    """
    node = resolver.node
    spec = cast(LeafSpec, node.spec)
    resolver = resolver.nested(_own_names(resolver, spec))
    dims = tuple(_spatial(resolver, dim, i) for i, dim in enumerate(spec.spatial))
    shape: dict[str, Any] = {
        "name": node.name,
        "spatial": dims if position.grid is None else (),
        "physical_spatial": () if position.grid is None else dims,
        "parent_fanout": position.parent_fanout,
        "grid_fanout": 1 if position.grid is None else position.grid,
    }
    if not isinstance(spec, ComponentSpec):
        return Container(**shape)
    shape.update(_costs(resolver, spec))
    return _typed(resolver, spec, shape, position)


def _typed(
    resolver: Resolver, spec: ComponentSpec, shape: dict[str, Any], position: Surroundings
) -> Component:
    if isinstance(spec, NetworkSpec):
        return Network(
            **shape, topology=spec.topology, bits_per_value=bits_per_value(resolver, spec)
        )
    if isinstance(spec, ComputeSpec):
        skip = resolver.flag(spec.skip_initial_output_write, "skip_initial_output_write")
        return Compute(**shape, skip_initial_output_write=skip)
    assert isinstance(spec, HolderSpec)
    is_toll = isinstance(spec, TollSpec)
    rules = SpecTensorRules(spec.tensors, resolver, position.holders_above, is_toll)
    rules.check_names()
    shape["tensors"] = rules
    shape["bits_per_value"] = bits_per_value(resolver, spec)
    if isinstance(spec, TollSpec):
        return Toll(**shape, direction=directions(resolver, spec))
    assert isinstance(spec, MemorySpec)
    return Memory(
        **shape,
        size=resolver.number(spec.size, "size"),
        skip_initial_output_write=resolver.flag(
            spec.skip_initial_output_write, "skip_initial_output_write"
        ),
    )


def tensor_rules(resolver: Resolver, holders_above: tuple[str, ...]) -> SpecTensorRules:
    """Return the rules of a Memory or Toll that say which tensors it keeps.

    `resolver`: of its node; `holders_above`: names of Memories and Tolls above it. Nothing is
    evaluated or checked.
    """
    spec = cast(HolderSpec, resolver.node.spec)
    inner = resolver.nested(_own_names(resolver, spec))
    return SpecTensorRules(spec.tensors, inner, holders_above, isinstance(spec, TollSpec))


def _own_names(resolver: Resolver, spec: LeafSpec) -> LazyNames:
    """Return the node's own fields as names, so that `area: size * 1e-12` works."""
    raw = {
        name: getattr(spec, name)
        for name in sorted(spec.model_fields_set - _NOT_NAMES)
        if isinstance(getattr(spec, name), bool | int | float | str)
    }
    return LazyNames(raw, resolver.names, Places(resolver.arch, resolver.node))


# ---- fanouts


def fanout_of(resolver: Resolver) -> int:
    """Return the product of a node's own fanouts; SpecError if one is no whole number above 0."""
    spec = cast(LeafSpec, resolver.node.spec)
    resolver = resolver.nested(_own_names(resolver, spec))
    product = 1
    for index, dim in enumerate(spec.spatial):
        product *= resolver.count(dim.fanout, "spatial", index, "fanout")
    return product


def _spatial(resolver: Resolver, spec: SpatialSpec, index: int) -> SpatialDim:
    at = ("spatial", index)
    everything = resolver.einsum.universe.tensors if resolver.einsum else frozenset()
    reuse: frozenset[str] = frozenset()
    may_reuse = everything
    if spec.reuse is not None:
        may_reuse = reuse = resolver.tensors(spec.reuse, *at, "reuse")
    if spec.may_reuse is not None:
        may_reuse = resolver.tensors(spec.may_reuse, *at, "may_reuse")
    min_usage = resolver.number(spec.min_usage, *at, "min_usage")
    if min_usage > 1:
        raise SpecError(
            "min_usage is a share of the lanes, from 0 to 1",
            where=resolver.where(*at, "min_usage"),
            value=spec.min_usage,
            instead=f"{min_usage / 100:g}, if {min_usage:g} % is meant; 1 for all lanes",
        )
    return SpatialDim(
        name=spec.name,
        fanout=resolver.count(spec.fanout, *at, "fanout"),
        may_reuse=may_reuse,
        reuse=reuse,
        loop_bounds=tuple(
            resolver.comparison(bound, *at, "loop_bounds", number)
            for number, bound in enumerate(spec.loop_bounds)
        ),
        min_usage=min_usage,
        usage_scale=resolver.number(spec.usage_scale, *at, "usage_scale"),
        power_gateable=resolver.flag(spec.power_gateable, *at, "power_gateable"),
    )


# ---- costs


def _instances(resolver: Resolver, spec: ComponentSpec) -> float:
    parallel = resolver.number(spec.n_parallel_instances, "n_parallel_instances")
    if parallel == 0:
        raise SpecError(
            "n_parallel_instances must be above 0",
            where=resolver.where("n_parallel_instances"),
            value=spec.n_parallel_instances,
            instead="1, or leave the component out",
        )
    return parallel


def _costs(resolver: Resolver, spec: ComponentSpec) -> dict[str, Any]:
    """Return area, leakage, actions and latency rule, all scales applied (model.md §5.2, §6)."""
    parallel = _instances(resolver, spec)
    estimate = Estimates(resolver, spec)
    scales = {name: resolver.number(getattr(spec, name), name) for name in _SCALES}
    area = _given(resolver, spec.area, "area", estimate)
    leak = _given(resolver, spec.leak_power, "leak_power", estimate)
    leak *= scales["leak_power_scale"] * parallel
    resolved = build_actions(resolver, spec, estimate, parallel)
    actions_scale = _ONE
    if spec.actions_scale != 1:
        actions_scale = resolver.fraction(spec.actions_scale, "actions_scale")
    text = spec.total_latency
    if text is None:
        text = NETWORK_LATENCY if isinstance(spec, NetworkSpec) else DEFAULT_LATENCY
    seen: dict[str, object] = {
        **scales,
        "n_parallel_instances": parallel,
        "area": area,
        "leak_power": leak,
    }
    seen |= {"name": spec.name, "enabled": True}  # what is disabled takes no time
    rule = _latency(resolver.nested(seen), str(text), tuple(costs for _, costs in resolved))
    return {
        "area": area * scales["area_scale"] * parallel,
        "leak_power": leak,
        "actions": tuple(action for action, _ in resolved),
        "actions_scale": actions_scale,
        "latency": rule,
    }


def _latency(resolver: Resolver, text: str, actions: tuple[ActionCosts, ...]) -> LatencyRule:
    where = resolver.where("total_latency")
    if any(math.isnan(number) for costs in actions for number in (costs.throughput, costs.latency)):
        return WaitingLatency(resolver.node.name, where)  # one of them needs the Einsum
    try:
        return compile_latency(text, actions, resolver.names, where)
    except UnknownNameError:
        if resolver.einsum is not None:
            raise
        resolver.unresolved.append(f"{resolver.node.name}.total_latency")
        return WaitingLatency(resolver.node.name, where)


def _given(resolver: Resolver, written: object, name: str, estimate: Estimates) -> float:
    """Return a cost of the component: as written, else estimated, else 0."""
    if written is not None:
        return resolver.number(written, name)
    if not estimate.possible:
        return 0.0
    estimated = getattr(estimate.get(), name)
    return 0.0 if estimated is None else float(estimated)
