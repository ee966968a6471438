"""Resolved hardware components: what one Einsum sees of the architecture, all numbers evaluated.

SI units: joule, second, metre², watt; sizes in bits. Scales of the file (energy_scale,
throughput_scale, area_scale, …, n_parallel_instances) are already applied to these numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Protocol

from tilewright.arch.expressions.operators import ComparisonOperator

Direction = Literal["up", "down", "up_and_down"]
Kept = Mapping[str, frozenset[str]]  # memory (or Toll) name -> tensors kept there


@dataclass(frozen=True, slots=True)
class Comparison:
    """A constraint on loops, `expression operator value`, such as `m <= 4`.

    `rank_variables`: the loop indices that the expression selects; `operator`: ==, <=, >=, < or >
    for each of them, or with the prefix `product` for their product; `value`: the whole number to
    compare with. `of_tensors`: the expression was a set of tensors, whose rank variables are meant
    (AccelForge selects nothing then, so that the constraint has no effect there).
    """

    rank_variables: frozenset[str]
    operator: ComparisonOperator
    value: int
    of_tensors: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SpatialDim:
    """One named dimension of a spatial fanout, which copies a component and all below it.

    `fanout`: number of instances (lanes). `may_reuse`: tensors of which one transfer may serve
    several lanes (multicast, or reduction). `reuse`: tensors whose rank variables may not be spread
    over the lanes. `loop_bounds`: constraints on the loops over the lanes. `min_usage`: share of
    the lanes that a mapping should use, 0 to 1. `usage_scale`: factor on the share in use, which
    may then not exceed 1 (theory/model.md §8.2). `power_gateable`: lanes out of use do not leak.
    """

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
    """A billable event of a component, such as a read.

    `energy`: joule per action. `throughput`: actions per second of one instance (may be inf); it
    takes time only through the component's `latency` rule, which by default is the sum of calls /
    throughput. `values_per_action[T]`: values of tensor T that one action moves. `bits_per_action`:
    width of one action in bits. Energy of n values of T: n * actions_scale of the component /
    values_per_action[T] * energy.
    """

    name: str
    energy: float
    throughput: float
    values_per_action: Mapping[str, Fraction] = field(default_factory=dict)
    bits_per_action: Fraction = Fraction(1)


class LatencyRule(Protocol):
    """A function from a component's call counts to the seconds that one instance takes.

    It is the `total_latency` of the architecture file, compiled.
    """

    def __call__(self, calls: Mapping[str, float]) -> float:
        """Seconds of one instance that performs `calls[action]` of each action."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A hardware component, with all numbers evaluated for one Einsum.

    `spatial`: its fanout; `parent_fanout`: product of the fanouts above it; `area` (m²) and
    `leak_power` (W) of one instance; `actions`: its billable events; `actions_scale`: factor on
    their number; `latency`: rule for its time, None for a component that takes none. Of a component
    inside an Array: `physical_spatial`, its places on the Array's grid, and `grid_fanout`, the
    number of places of that grid.
    """

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
        """Number of instances per parent: the product of its fanouts."""
        product = 1
        for dim in self.spatial:
            product *= dim.fanout
        return product

    @property
    def physical_fanout(self) -> int:
        """Places on the grid of an Array that share this component's work; 1 outside.

        An Array is a fanout whose memories are spread over one physical grid.
        """
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
    """Which tensors a holder (Memory or Toll) keeps, for a given choice of the holders above it.

    `keep`: it must keep them; `may_keep`: it may; `back`: kept here and in no holder above.
    `no_refetch_from_above`, `no_resend_to_below`: tensors that no loop may fetch from above, or
    send below, more than once. `tensor_order_options`: allowed orders of the tensors' tiles.
    `force_memory_hierarchy_order`: False frees this memory from the order of the hierarchy, None
    leaves it to the mapper. `tile_shape`: constraints on the tiles kept. See theory/model.md §8.
    """

    keep: frozenset[str]
    may_keep: frozenset[str]
    back: frozenset[str] = frozenset()
    no_refetch_from_above: frozenset[str] = frozenset()
    no_resend_to_below: frozenset[str] = frozenset()
    tensor_order_options: tuple[tuple[frozenset[str], ...], ...] = ()
    force_memory_hierarchy_order: bool | None = None  # None: the mapper's default
    tile_shape: tuple[Comparison, ...] = ()


class TensorRules(Protocol):
    """What a Memory or Toll may keep: the `tensors:` block of the file, not yet evaluated.

    Its expressions may name the Memories and Tolls above it, as the sets of tensors that they keep.
    """

    @property
    def names(self) -> frozenset[str]:
        """The names in the block's expressions.

        Memories and Tolls above, and `Above`, the union of what they keep, are among them if used.
        """
        ...

    def resolve(self, kept_above: Kept) -> PlacementRules:
        """Return the rules for the case that each holder above keeps the tensors in `kept_above`.

        Raises SpecError for an expression that does not hold.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorHolder(Component):
    """A component that tensors are kept in or pass through: a Memory or a Toll.

    `tensors`: which of them it may keep; `bits_per_value[T]`: width of a value of tensor T here.
    """

    tensors: TensorRules
    bits_per_value: Mapping[str, Fraction] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(TensorHolder):
    """A component that stores tiles of tensors; `size` in bits (may be inf).

    Its actions are read and write. `skip_initial_output_write`: the first read of each partial sum,
    which holds nothing yet, is left out (theory/model.md §3.3).
    """

    size: float
    skip_initial_output_write: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Toll(TensorHolder):
    """A component that charges for the data that pass through it and stores nothing.

    Its action is read. `direction[T]`: which transfers of tensor T it charges: up, down or
    up_and_down.
    """

    direction: Mapping[str, Direction]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute(Component):
    """A component that performs the operations of an Einsum, one value each; its action is compute.

    `skip_initial_output_write`: the first read of each partial sum, which holds nothing yet, is
    left out (theory/model.md §3.3).
    """

    skip_initial_output_write: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Container(Component):
    """A component without costs: only a spatial fanout (older files call it Fanout)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network(Component):
    """A component that moves values between the instances of a fanout; its action is hop.

    `topology`: mesh or all_to_all; `bits_per_value[T]`: width of a value of tensor T on it.
    """

    topology: Literal["mesh", "all_to_all"]
    bits_per_value: Mapping[str, Fraction] = field(default_factory=dict)
