"""One node of the tree to one resolved component: numbers, scales, estimates, latency rule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from tilewright.arch.components import (
    Action,
    Component,
    Compute,
    Container,
    Direction,
    Memory,
    Network,
    SpatialDim,
    Toll,
)
from tilewright.arch.errors import SpecError
from tilewright.arch.estimate import CostEstimate, CostQuery, find_costs
from tilewright.arch.latency import (
    DEFAULT_LATENCY,
    NETWORK_LATENCY,
    ActionCosts,
    compile_latency,
)
from tilewright.arch.names import did_you_mean
from tilewright.arch.placement import SpecTensorRules
from tilewright.arch.resolve import Resolver
from tilewright.arch.scope import LazyNames, evaluate_deep
from tilewright.arch.spec import (
    EXPECTED_ACTIONS,
    ActionSpec,
    ComponentSpec,
    ComputeSpec,
    HolderSpec,
    LeafSpec,
    MemorySpec,
    MovingSpec,
    NetworkSpec,
    SpatialSpec,
    TollSpec,
)

_DIRECTIONS = ("up", "down", "up_and_down")
_NOT_NAMES = frozenset({"name", "spatial", "enabled", "total_latency", "component_class"})
_ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class Position:
    """Where a node stands: copies of its surroundings, holders above it, inside an Array or not."""

    parent_fanout: int
    holders_above: tuple[str, ...]
    in_array: bool = False


def build_component(resolver: Resolver, position: Position) -> Component:
    """Evaluate all fields of a node. SpecError at the field that does not hold."""
    node = resolver.node
    spec = cast(LeafSpec, node.spec)
    resolver = resolver.nested(_own_names(resolver, spec))
    dims = tuple(_spatial(resolver, dim, i) for i, dim in enumerate(spec.spatial))
    shape: dict[str, Any] = {
        "name": node.name,
        "spatial": () if position.in_array else dims,
        "physical_spatial": dims if position.in_array else (),
        "parent_fanout": position.parent_fanout,
    }
    if not isinstance(spec, ComponentSpec):
        return Container(**shape)
    shape.update(_costs(resolver, spec))
    return _typed(resolver, spec, shape, position)


def _typed(
    resolver: Resolver, spec: ComponentSpec, shape: dict[str, Any], position: Position
) -> Component:
    if isinstance(spec, NetworkSpec):
        return Network(
            **shape, topology=spec.topology, bits_per_value=_bits_per_value(resolver, spec)
        )
    if isinstance(spec, ComputeSpec):
        skip = resolver.flag(spec.skip_initial_output_write, "skip_initial_output_write")
        return Compute(**shape, skip_initial_output_write=skip)
    assert isinstance(spec, HolderSpec)
    is_toll = isinstance(spec, TollSpec)
    shape["tensors"] = SpecTensorRules(spec.tensors, resolver, position.holders_above, is_toll)
    shape["bits_per_value"] = _bits_per_value(resolver, spec)
    if isinstance(spec, TollSpec):
        return Toll(**shape, direction=_direction(resolver, spec))
    assert isinstance(spec, MemorySpec)
    return Memory(
        **shape,
        size=resolver.number(spec.size, "size"),
        skip_initial_output_write=resolver.flag(
            spec.skip_initial_output_write, "skip_initial_output_write"
        ),
    )


def _own_names(resolver: Resolver, spec: LeafSpec) -> LazyNames:
    """The node's own numbers and expressions, so that `area: size * 1e-12` works."""
    raw = {
        name: getattr(spec, name)
        for name in sorted(spec.model_fields_set - _NOT_NAMES)
        if isinstance(getattr(spec, name), bool | int | float | str)
    }
    return LazyNames(raw, resolver.names, resolver.where)


# ---- fanouts


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
            "min_usage is a share: at most 1",
            where=resolver.where(*at, "min_usage"),
            value=spec.min_usage,
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


def _costs(resolver: Resolver, spec: ComponentSpec) -> dict[str, Any]:
    """Area, leakage, actions and latency rule, with all scales applied (accelforge.md §2.5-2.6)."""
    parallel = resolver.number(spec.n_parallel_instances, "n_parallel_instances")
    estimate = _Estimates(resolver, spec)
    area = _given(resolver, spec.area, "area", estimate)
    leak = _given(resolver, spec.leak_power, "leak_power", estimate)
    resolved = _actions(resolver, spec, estimate, parallel)
    actions_scale = _ONE
    if spec.actions_scale != 1:
        actions_scale = resolver.fraction(spec.actions_scale, "actions_scale")
    text = spec.total_latency
    if text is None:
        text = NETWORK_LATENCY if isinstance(spec, NetworkSpec) else DEFAULT_LATENCY
    rule = compile_latency(
        str(text),
        tuple(costs for _, costs in resolved),
        resolver.names,
        resolver.where("total_latency"),
    )
    return {
        "area": area * resolver.number(spec.area_scale, "area_scale") * parallel,
        "leak_power": leak * resolver.number(spec.leak_power_scale, "leak_power_scale") * parallel,
        "actions": tuple(action for action, _ in resolved),
        "actions_scale": actions_scale,
        "latency": rule,
    }


class _Estimates:
    """The estimator's answer, asked for once and only if a field is missing."""

    def __init__(self, resolver: Resolver, spec: ComponentSpec) -> None:
        self._resolver = resolver
        self._spec = spec
        self._found: CostEstimate | None = None

    @property
    def possible(self) -> bool:
        spec = self._spec
        return bool(spec.component_class or spec.component_model or self._resolver.arch.estimators)

    def get(self) -> CostEstimate:
        if self._found is None:
            self._found = find_costs(self._query(), self._resolver.arch.estimators)
        return self._found

    def _query(self) -> CostQuery:
        resolver, spec = self._resolver, self._spec
        extra = {
            **resolver.arch.extra_attributes,
            **_scalar_fields(spec),
            **spec.extra_attributes_for_component_model,
        }
        where = resolver.where("component_class")
        attributes = _LazyAttributes(extra, resolver)
        names = [action.name for action in spec.actions]
        actions = dict.fromkeys((*names, *EXPECTED_ACTIONS[resolver.node.tag]))
        return CostQuery(
            resolver.node.name,
            spec.component_class,
            spec.component_model,
            attributes,
            tuple(actions),
            where,
        )


class _LazyAttributes(dict[str, object]):
    """Attributes for an estimator, each evaluated when it is read."""

    def __init__(self, raw: Mapping[str, object], resolver: Resolver) -> None:
        super().__init__(raw)
        self._resolver = resolver

    def __getitem__(self, name: str) -> object:
        where = self._resolver.where("extra_attributes_for_component_model", name)
        return evaluate_deep(super().__getitem__(name), self._resolver.names, where)


def _scalar_fields(spec: ComponentSpec) -> dict[str, object]:
    return {
        name: getattr(spec, name)
        for name in sorted(spec.model_fields_set)
        if name not in _NOT_NAMES and isinstance(getattr(spec, name), int | float | str)
    }


def _given(resolver: Resolver, written: object, name: str, estimate: _Estimates) -> float:
    """A cost of the component: as written, else estimated, else 0."""
    if written is not None:
        return resolver.number(written, name)
    if not estimate.possible:
        return 0.0
    found = getattr(estimate.get(), name)
    return 0.0 if found is None else float(found)


def _actions(
    resolver: Resolver, spec: ComponentSpec, estimate: _Estimates, parallel: float
) -> list[tuple[Action, ActionCosts]]:
    expected = EXPECTED_ACTIONS[resolver.node.tag]
    written = {action.name: (index, action) for index, action in enumerate(spec.actions)}
    if len(written) < len(spec.actions):
        raise SpecError("two actions have the same name", where=resolver.where("actions"))
    for name, (index, _) in written.items():
        if name not in expected:
            raise SpecError(
                f"a {resolver.node.tag} has no action {name}",
                where=resolver.where("actions", index, "name"),
                instead=did_you_mean(name, expected) or None,
            )
    resolved = []
    for name in expected:
        index, action = written.get(name, (0, ActionSpec(name=name)))
        if name not in written and not estimate.possible:
            raise SpecError(
                f"{resolver.node.name} has no action {name}",
                where=resolver.where("actions"),
                instead=f"add `- {{name: {name}, energy: ..., throughput: ...}}`, "
                "or a component_class that an estimator knows",
            )
        builder = _ActionBuilder(resolver, spec, action, ("actions", index))
        resolved.append(builder.build(estimate, parallel))
    return resolved


class _ActionBuilder:
    """Evaluates one action of a component."""

    def __init__(
        self, outer: Resolver, spec: ComponentSpec, action: ActionSpec, at: tuple[str, int]
    ) -> None:
        raw = {
            name: getattr(action, name)
            for name in sorted(action.model_fields_set - {"name"})
            if isinstance(getattr(action, name), bool | int | float | str)
        }
        self.resolver = outer.nested(
            LazyNames(raw, outer.names, lambda name: outer.where(*at, name))
        )
        self.spec = spec
        self.action = action
        self.at = at

    def build(self, estimate: _Estimates, parallel: float) -> tuple[Action, ActionCosts]:
        action = self.action
        energy = self._energy(estimate)
        energy *= self._scale("energy_scale")
        throughput, latency = self._speed(estimate)
        faster = self._scale("throughput_scale") * parallel
        slower = self._scale("latency_scale")
        rate = faster / slower if slower else math.inf
        throughput = throughput * rate if throughput else 0.0
        latency = latency / rate if rate and latency else 0.0
        bits = self._bits_per_action()
        resolved = Action(
            name=action.name,
            energy=energy,
            throughput=throughput,
            values_per_action=self._values_per_action(bits),
            bits_per_action=bits,
        )
        seen_bits = int(bits) if bits.denominator == 1 else bits
        costs = ActionCosts(action.name, energy, throughput, latency, seen_bits)
        return resolved, costs

    def _scale(self, field: str) -> float:
        """Product of the component's and the action's scale of this name."""
        product = 1.0
        if getattr(self.spec, field) != 1:
            product *= self.resolver.number(getattr(self.spec, field), field)
        if getattr(self.action, field) != 1:
            product *= self.resolver.number(getattr(self.action, field), *self.at, field)
        return product

    def _energy(self, estimate: _Estimates) -> float:
        if self.action.energy is not None:
            return self.resolver.number(self.action.energy, *self.at, "energy")
        if estimate.possible:
            found = estimate.get().actions.get(self.action.name)
            if found is not None and found.energy is not None:
                return found.energy
        raise self._missing("energy")

    def _speed(self, estimate: _Estimates) -> tuple[float, float]:
        """Throughput (1/s) and latency (s) of one call; each gives the other if it is missing."""
        resolver, action, at = self.resolver, self.action, self.at
        throughput = latency = None
        if action.throughput is not None:
            throughput = resolver.number(action.throughput, *at, "throughput")
        if action.latency is not None:
            latency = resolver.number(action.latency, *at, "latency")
        if throughput is None and latency is None:
            throughput = self._estimated_throughput(estimate)
        if throughput is None:
            assert latency is not None
            throughput = 1 / latency if latency else math.inf
        if latency is None:
            if isinstance(self.spec, NetworkSpec) and self.spec.total_latency is None:
                raise self._missing("latency")
            latency = 1 / throughput if throughput else math.inf
        return throughput, latency

    def _estimated_throughput(self, estimate: _Estimates) -> float:
        if estimate.possible:
            found = estimate.get().actions.get(self.action.name)
            if found is not None and found.throughput is not None:
                return found.throughput
        if self.spec.total_latency is not None:
            return math.inf  # the rule in the file says how long calls take
        raise self._missing("throughput")

    def _missing(self, field: str) -> SpecError:
        return SpecError(
            f"the action {self.action.name} of {self.resolver.node.name} has no {field}",
            where=self.resolver.where(*self.at),
            instead=f"write {field} (0 or inf if it costs nothing), or a component_class that an "
            "estimator knows",
        )

    def _bits_per_action(self) -> Fraction:
        if self.action.bits_per_action is not None:
            return self.resolver.fraction(self.action.bits_per_action, *self.at, "bits_per_action")
        written = getattr(self.spec, "bits_per_action", None)
        return _ONE if written is None else self.resolver.fraction(written, "bits_per_action")

    def _values_per_action(self, bits: Fraction) -> dict[str, Fraction]:
        """Precedence of accelforge.md §2.2: the action's, the component's, bits over width."""
        spec, einsum = self.spec, self.resolver.einsum
        if not isinstance(spec, MovingSpec) or einsum is None:
            return {}
        own = self.resolver.by_tensor(self.action.values_per_action, *self.at, "values_per_action")
        shared = self.resolver.by_tensor(spec.values_per_action, "values_per_action")
        widths = _bits_per_value(self.resolver, spec)
        result = {tensor: bits / width for tensor, width in widths.items()}
        for tensor, value in shared.items():
            result[tensor] = self.resolver.fraction(value, "values_per_action")
        for tensor, value in own.items():
            result[tensor] = self.resolver.fraction(value, *self.at, "values_per_action")
        return result


# ---- widths and directions


def _bits_per_value(resolver: Resolver, spec: MovingSpec) -> dict[str, Fraction]:
    """Width of each tensor here: the component's own, else the workload's times the old scale."""
    if resolver.einsum is None:
        resolver.by_tensor(spec.bits_per_value, "bits_per_value")
        return {}
    universe = resolver.einsum.universe
    widths = {tensor: universe.bits_per_value[tensor] for tensor in sorted(universe.tensors)}
    scale = spec.bits_per_value_scale
    if isinstance(scale, dict):
        for tensor, value in resolver.by_tensor(scale, "bits_per_value_scale").items():
            widths[tensor] *= resolver.fraction(value, "bits_per_value_scale")
    elif scale != 1:
        factor = resolver.fraction(scale, "bits_per_value_scale")
        widths = {tensor: width * factor for tensor, width in widths.items()}
    for tensor, value in resolver.by_tensor(spec.bits_per_value, "bits_per_value").items():
        widths[tensor] = resolver.fraction(value, "bits_per_value")
    return widths


def _direction(resolver: Resolver, spec: TollSpec) -> dict[str, Direction]:
    written = spec.direction
    if not isinstance(written, dict):
        single = _one_direction(resolver, written)
        tensors = resolver.einsum.universe.tensors if resolver.einsum else frozenset()
        return dict.fromkeys(sorted(tensors), single)
    values = resolver.by_tensor(written, "direction")
    result = {tensor: _one_direction(resolver, value) for tensor, value in values.items()}
    missing = sorted(resolver.einsum.universe.tensors - result.keys()) if resolver.einsum else []
    if missing:
        raise SpecError(
            f"direction says nothing about {', '.join(missing)}",
            where=resolver.where("direction"),
            instead="add a key `Other: up_and_down`, for example",
        )
    return result


def _one_direction(resolver: Resolver, value: object) -> Direction:
    if value not in _DIRECTIONS:
        raise SpecError(
            "direction must be up, down or up_and_down",
            where=resolver.where("direction"),
            value=value,
            instead=did_you_mean(str(value), _DIRECTIONS) or None,
        )
    return cast(Direction, value)
