"""Resolved hardware components: what one Einsum sees of the architecture, all numbers evaluated.

SI units: joule, second, metre², watt; sizes in bits. Scales of the file (energy_scale,
throughput_scale, area_scale, …, n_parallel_instances) are already applied to these numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Protocol

Direction = Literal["up", "down", "up_and_down"]
Operator = Literal[
    "==", "<=", ">=", "<", ">", "product==", "product<=", "product>=", "product<", "product>"
]
Kept = Mapping[str, frozenset[str]]  # memory (or Toll) name -> tensors kept there


@dataclass(frozen=True, slots=True)
class Comparison:
    """`expression operator value`: targets are the rank variables the expression selects.

    `of_tensors`: the expression was a set of tensors, whose rank variables are meant (AccelForge
    selects nothing then, so that the constraint has no effect there).
    """

    rank_variables: frozenset[str]
    operator: Operator
    value: int
    of_tensors: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SpatialDim:
    """One dimension of a component's spatial fanout; the component and all below are copied."""

    name: str
    fanout: int
    may_reuse: frozenset[str]
    reuse: frozenset[str] = frozenset()
    loop_bounds: tuple[Comparison, ...] = ()
    min_usage: float = 0.0
    usage_scale: float = 1.0
    power_gateable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A billable event of a component.

    `energy` in joule per action; `throughput` in actions per second of one instance (may be inf);
    `values_per_action[T]`: values of tensor T that one action moves.
    """

    name: str
    energy: float
    throughput: float
    values_per_action: Mapping[str, Fraction] = field(default_factory=dict)
    bits_per_action: Fraction = Fraction(1)


class LatencyRule(Protocol):
    """`total_latency` of a component, compiled."""

    def __call__(self, calls: Mapping[str, float]) -> float:
        """Seconds of one instance that performs `calls[action]` of each action."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """What all components share. `area` and `leak_power` are those of one instance."""

    name: str
    spatial: tuple[SpatialDim, ...] = ()
    parent_fanout: int = 1  # product of the fanouts of the components above this one
    area: float = 0.0
    leak_power: float = 0.0
    actions: tuple[Action, ...] = ()
    actions_scale: Fraction = Fraction(1)
    latency: LatencyRule | None = None  # None: the component takes no time (Container)
    physical_spatial: tuple[SpatialDim, ...] = ()  # its places on the grid of the Array it is in
    grid_fanout: int = 1  # places of that grid

    @property
    def own_fanout(self) -> int:
        product = 1
        for dim in self.spatial:
            product *= dim.fanout
        return product

    @property
    def physical_fanout(self) -> int:
        """Places on the grid of an Array that share this component's work; 1 outside Arrays."""
        product = 1
        for dim in self.physical_spatial:
            product *= dim.fanout
        return product

    def action(self, name: str) -> Action:
        """Return the action called `name`; KeyError if there is none."""
        for action in self.actions:
            if action.name == name:
                return action
        raise KeyError(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRules:
    """Which tensors a holder keeps, evaluated for what the holders above keep."""

    keep: frozenset[str]
    may_keep: frozenset[str]
    back: frozenset[str] = frozenset()
    no_refetch_from_above: frozenset[str] = frozenset()
    no_resend_to_below: frozenset[str] = frozenset()
    tensor_order_options: tuple[tuple[frozenset[str], ...], ...] = ()
    force_memory_hierarchy_order: bool | None = None  # None: the mapper's default
    tile_shape: tuple[Comparison, ...] = ()


class TensorRules(Protocol):
    """The `tensors:` block of a holder; its expressions may name the memories above."""

    @property
    def names(self) -> frozenset[str]:
        """Names in its expressions, those of holders above among them, or `Above`."""
        ...

    def resolve(self, kept_above: Kept) -> PlacementRules:
        """Evaluate the block when the holders above keep `kept_above`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorHolder(Component):
    """Memory or Toll. `bits_per_value[T]`: width of a value of tensor T in this holder."""

    tensors: TensorRules
    bits_per_value: Mapping[str, Fraction] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(TensorHolder):
    """Stores data over time. `size` in bits (may be inf). Actions: read, write."""

    size: float
    skip_initial_output_write: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Toll(TensorHolder):
    """Charges data that pass through; stores nothing. Action: read."""

    direction: Mapping[str, Direction]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute(Component):
    """Performs the Einsum's operations, one value each. Action: compute."""

    skip_initial_output_write: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Container(Component):
    """Only a spatial fanout (the older files call it Fanout)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network(Component):
    """Moves values between the instances of a fanout. Action: hop."""

    topology: Literal["mesh", "all_to_all"]
    bits_per_value: Mapping[str, Fraction] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The names that one Einsum brings to the expressions of an architecture.

    `sets` maps All, Tensors, Nothing, Inputs, Outputs, Intermediates, Shared, Persistent, each
    rename (input, weight, …) and each tensor name of the workload (empty if not in this Einsum) to
    a set of tensor names; each rank variable to the set of itself is in `rank_variables`.
    `rank_sets` maps renames of rank variables, and rank variables of other Einsums (empty), to
    sets of rank variables.
    """

    einsum: str
    tensors: tuple[str, ...]
    rank_variables: tuple[str, ...]
    sets: Mapping[str, frozenset[str]]
    rank_variables_of: Mapping[str, frozenset[str]]
    bits_per_value: Mapping[str, Fraction]
    is_copy: bool = False
    rank_sets: Mapping[str, frozenset[str]] = field(default_factory=dict)
