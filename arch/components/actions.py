"""The actions of a component: energy, speed and values per action, with all scales applied."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from tilewright.arch.components.components import Action
from tilewright.arch.components.cost_query import CostEstimate, CostQuery
from tilewright.arch.components.estimators import find_costs
from tilewright.arch.errors import SpecError
from tilewright.arch.expressions.units import is_bit_rate
from tilewright.arch.flattening.latency import ActionCosts
from tilewright.arch.flattening.resolve import Places, Resolver, Steps
from tilewright.arch.flattening.scope import LazyNames, evaluate_deep
from tilewright.arch.flattening.widths import bits_per_value
from tilewright.arch.names import did_you_mean
from tilewright.arch.spec.spec import (
    EXPECTED_ACTIONS,
    ActionSpec,
    ComponentSpec,
    MovingSpec,
    NetworkSpec,
)

_ONE = Fraction(1)
_NOT_ATTRIBUTES = frozenset({"name", "enabled", "total_latency", "component_class"})


class Estimates:
    """The costs that an estimator gives for one component, asked for at most once.

    It is asked only if the architecture file leaves a field open (area, energy of an action, ...).
    """

    def __init__(self, resolver: Resolver, spec: ComponentSpec) -> None:
        self._resolver = resolver
        self._spec = spec
        self._found: CostEstimate | None = None

    @property
    def possible(self) -> bool:
        """Whether an estimator can be asked for costs that the architecture file leaves open.

        So if the component names a class or a model, or the architecture has estimators.
        """
        spec = self._spec
        return bool(spec.component_class or spec.component_model or self._resolver.arch.estimators)

    def get(self) -> CostEstimate:
        """Return the estimated costs; SpecError if no estimator knows the component."""
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
        actions = {action.name: action for action in spec.actions}
        for name in EXPECTED_ACTIONS[resolver.node.tag]:
            actions.setdefault(name, ActionSpec(name=name))
        return CostQuery(
            resolver.node.name,
            spec.component_class,
            spec.component_model,
            attributes,
            tuple(actions),
            where,
            {name: self._of_action(action) for name, action in actions.items()},
        )

    def _of_action(self, action: ActionSpec) -> Mapping[str, object]:
        """Return the attributes that an estimator sees for one action.

        The width is 1 bit if not given.
        """
        raw: dict[str, object] = {}
        if isinstance(self._spec, MovingSpec):
            widths = (action.bits_per_action, self._spec.bits_per_action, 1)
            raw["bits_per_action"] = next(bits for bits in widths if bits is not None)
        raw |= action.extra_attributes_for_component_model
        where = self._resolver.where("actions")
        return {
            name: evaluate_deep(value, self._resolver.names, where) for name, value in raw.items()
        }


class _LazyAttributes(dict[str, object]):
    """Attributes for an estimator, each evaluated when it is first read."""

    def __init__(self, raw: Mapping[str, object], resolver: Resolver) -> None:
        super().__init__(raw)
        self._resolver = resolver

    def __getitem__(self, name: str) -> object:
        where = self._resolver.where("extra_attributes_for_component_model", name)
        value = evaluate_deep(super().__getitem__(name), self._resolver.names, where)
        return float(value) if isinstance(value, Fraction) else value


def _inverse(rate: float) -> float:
    return 1 / rate if rate else math.inf


def _scalar_fields(spec: ComponentSpec) -> dict[str, object]:
    return {
        name: getattr(spec, name)
        for name in sorted(spec.model_fields_set)
        if name not in _NOT_ATTRIBUTES and isinstance(getattr(spec, name), int | float | str)
    }


def build_actions(
    resolver: Resolver, spec: ComponentSpec, estimate: Estimates, parallel: float
) -> list[tuple[Action, ActionCosts]]:
    """Return the actions of a component, each with what latency expressions see of it.

    `resolver` evaluates the component's fields, `spec` are its fields as written, `estimate` gives
    what is missing, `parallel` is the number of instances that work in parallel and multiplies the
    throughput. All scales are applied. Raises SpecError for an unknown, missing or repeated action,
    and for an energy or throughput that is neither written nor estimated.
    """
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
    """Evaluates the fields of one action of a component.

    `at`: the action's path in its component.
    """

    def __init__(self, outer: Resolver, spec: ComponentSpec, action: ActionSpec, at: Steps) -> None:
        raw = {
            name: getattr(action, name)
            for name in sorted(action.model_fields_set - {"name"})
            if isinstance(getattr(action, name), bool | int | float | str)
        }
        self.resolver = outer.nested(
            LazyNames(raw, outer.names, Places(outer.arch, outer.node, at))
        )
        self.spec = spec
        self.action = action
        self.at = at

    def build(self, estimate: Estimates, parallel: float) -> tuple[Action, ActionCosts]:
        action = self.action
        energy = self._energy(estimate)
        energy *= self._scale("energy_scale")
        throughput, latency = self._speed(estimate)
        faster = self._scale("throughput_scale") * parallel
        slower = self._scale("latency_scale")
        rate = faster / slower if slower else math.inf
        throughput = throughput * rate if throughput else 0.0
        if action.latency is not None and action.throughput is not None:
            latency *= slower  # a time of its own, as of a hop: more throughput makes none shorter
        else:
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
        scales = [self._own_scale(name) for name in ("energy_scale", "throughput_scale")]
        costs = ActionCosts(action.name, energy, throughput, latency, seen_bits, *scales)
        return resolved, costs

    def _scale(self, field: str) -> float:
        """Return the product of the component's and the action's scale called `field`."""
        product = 1.0
        if getattr(self.spec, field) != 1:
            product *= self.resolver.number(getattr(self.spec, field), field)
        return product * self._own_scale(field)

    def _own_scale(self, field: str) -> float:
        written = getattr(self.action, field)
        return 1.0 if written == 1 else self.resolver.number(written, *self.at, field)

    def _energy(self, estimate: Estimates) -> float:
        if self.action.energy is not None:
            return self.resolver.number(self.action.energy, *self.at, "energy")
        if estimate.possible:
            action_estimate = estimate.get().actions.get(self.action.name)
            if action_estimate is not None and action_estimate.energy is not None:
                return action_estimate.energy
        raise self._missing("energy")

    def _speed(self, estimate: Estimates) -> tuple[float, float]:
        """Return (throughput in 1/s, latency in s) of one call.

        Each gives the other if it is missing. Raises SpecError if neither is written nor estimated,
        or a Network has no latency for a hop.
        """
        throughput = self._written("throughput", self.action.throughput)
        if throughput == 0 and self.spec.total_latency is None:
            raise SpecError(
                f"the throughput of {self.action.name} must be above 0",
                where=self.resolver.where(*self.at, "throughput"),
                value=self.action.throughput,
                instead="inf if it takes no time",
            )
        if throughput is not None and is_bit_rate(self.action.throughput):
            throughput /= float(self._bits_per_action())
        latency = self._written("latency", self.action.latency)
        if latency is not None:
            return (_inverse(latency) if throughput is None else throughput), latency
        if throughput is None:
            throughput = self._estimated_throughput(estimate)
        if isinstance(self.spec, NetworkSpec) and self.spec.total_latency is None:
            raise self._missing("latency")
        return throughput, _inverse(throughput)

    def _written(self, field: str, value: object) -> float | None:
        return None if value is None else self.resolver.number(value, *self.at, field)

    def _estimated_throughput(self, estimate: Estimates) -> float:
        if estimate.possible:
            action_estimate = estimate.get().actions.get(self.action.name)
            if action_estimate is not None and action_estimate.throughput is not None:
                return action_estimate.throughput
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
        """Return the values of each tensor that one action moves.

        As the action says, else the component, else `bits` over the tensor's width (model.md §3.2).
        """
        spec, einsum = self.spec, self.resolver.einsum
        if not isinstance(spec, MovingSpec) or einsum is None:
            return {}
        action_widths = self.resolver.by_tensor(
            self.action.values_per_action, *self.at, "values_per_action"
        )
        shared = self.resolver.by_tensor(spec.values_per_action, "values_per_action")
        widths = bits_per_value(self.resolver, spec)
        result = {tensor: bits / width for tensor, width in widths.items()}
        for tensor, value in shared.items():
            result[tensor] = self.resolver.fraction(value, "values_per_action")
        for tensor, value in action_widths.items():
            result[tensor] = self.resolver.fraction(value, *self.at, "values_per_action")
        return result
