"""What an architecture file may say: one pydantic model per kind of node, both dialects.

Fields hold what was written: a number, or the text of an expression. The older dialect of the
format (latency, Fanout, bits_per_value_scale) is accepted beside the current one
(inputs.md §1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from tilewright.arch.expressions.operators import ComparisonOperator
from tilewright.arch.expressions.units import Dimension
from tilewright.arch.names import fault_of_name
from tilewright.arch.spec.schema import SpecModel, no_entries


def _check_scalar(value: Any) -> Any:
    if isinstance(value, bool | int | float | str):
        return value
    raise ValueError("this must be a number or an expression")


def _check_set(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
        return tuple(value)
    raise ValueError("this must be a set of names: a name, an expression such as ~A, or a list")


def _check_values(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _check_scalar(inner) for key, inner in value.items()}
    raise ValueError("this must be a mapping from sets of tensors to numbers")


def _check_scalar_or_values(value: Any) -> Any:
    return _check_values(value) if isinstance(value, dict) else _check_scalar(value)


def _check_name(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    fault = fault_of_name(value) if isinstance(value, str) else "a name must be text"
    if fault:
        raise ValueError(fault)
    return value


Expr = Annotated[Any, BeforeValidator(_check_scalar)]
SetExpr = Annotated[Any, BeforeValidator(_check_set)]
Values = Annotated[dict[str, Any], BeforeValidator(_check_values)]
ExprOrValues = Annotated[Any, BeforeValidator(_check_scalar_or_values)]
Name = Annotated[str, BeforeValidator(_check_name)]
Attributes = dict[str, Any]


class ComparisonSpec(SpecModel):
    """One line of `loop_bounds` or `tile_shape` in a file: `expression operator value`.

    `expression`: a set of rank variables or tensors; `operator`: ==, <=, >=, <, >, or one of them
    behind `product`; `value`: a number or an expression.
    """

    expression: SetExpr
    operator: ComparisonOperator
    value: Expr


class SpatialSpec(SpecModel):
    """One named dimension of a component's spatial fanout, as written in a file.

    `fanout`: number of instances; `may_reuse`: tensors that one transfer may share between them;
    `reuse`: tensors whose rank variables may not be spread over them; `loop_bounds`: constraints on
    the loops over them; `min_usage`: share to use, 0 to 1; `usage_scale`: factor on the share in
    use; `power_gateable`: unused instances do not leak. Values may be expressions.
    """

    name: Name
    fanout: Expr
    may_reuse: SetExpr | None = None
    reuse: SetExpr | None = None
    loop_bounds: tuple[ComparisonSpec, ...] = ()
    min_usage: Expr = 0
    usage_scale: Expr = 1
    power_gateable: Expr = False


class ActionSpec(SpecModel):
    """One action of a component, as written in a file; every number may be an expression.

    `energy`: J per action; `throughput`: actions per second; `latency`: seconds per action (older
    dialect); each with a scale, a factor on it; `bits_per_action`: its width; `values_per_action`:
    values that one action moves, by set of tensors; the attributes are for an estimator of costs.
    """

    name: Name
    energy: Expr | None = None
    energy_scale: Expr = 1
    throughput: Expr | None = None
    throughput_scale: Expr = 1
    latency: Expr | None = None
    latency_scale: Expr = 1
    bits_per_action: Expr | None = None
    values_per_action: Values = Field(default_factory=no_entries)
    extra_attributes_for_component_model: Attributes = Field(default_factory=no_entries)


class TensorsSpec(SpecModel):
    """Which tensors a Memory or Toll keeps, as written in its `tensors:` block.

    `keep`: it must; `may_keep`: it may; `back`: kept here and nowhere above.
    `no_refetch_from_above`, `no_resend_to_below`: tensors that no loop may fetch or send twice.
    `tensor_order_options`: the orders that the tensors' tiles may have.
    `force_memory_hierarchy_order`: false frees the memory from the order of the hierarchy.
    `tile_shape`: constraints on the tiles. Each set is an expression. See theory/model.md §8.
    """

    keep: SetExpr | None = None
    may_keep: SetExpr | None = None
    back: SetExpr | None = None
    no_refetch_from_above: SetExpr | None = None
    no_resend_to_below: SetExpr | None = None
    tensor_order_options: tuple[tuple[SetExpr, ...], ...] = ()
    force_memory_hierarchy_order: Expr | None = None
    tile_shape: tuple[ComparisonSpec, ...] = ()


class LeafSpec(SpecModel):
    """The fields that every component of an architecture file has.

    `name`; `spatial`: dimensions of its fanout; `enabled`: false, or an empty set, switches it off
    for an Einsum.
    """

    name: Name
    spatial: tuple[SpatialSpec, ...] = ()
    enabled: Expr = True


class ComponentSpec(LeafSpec):
    """The fields of a component that costs something, as written in a file.

    `area` (m²) and `leak_power` (W) of one instance; `actions`: its billable events;
    `total_latency`: expression for its time in seconds. The scales are factors on these numbers;
    `n_parallel_instances` multiplies area, leakage and throughput. `component_class`,
    `component_model` and the attributes tell an estimator what to price where a cost is missing.
    """

    area: Expr | None = None
    area_scale: Expr = 1
    leak_power: Expr | None = None
    leak_power_scale: Expr = 1
    energy_scale: Expr = 1
    throughput_scale: Expr = 1
    latency_scale: Expr = 1
    actions_scale: Expr = 1
    n_parallel_instances: Expr = 1
    total_latency: Expr | None = None
    component_class: str | None = None
    component_model: str | None = None
    component_modeling_log: Any = None
    extra_attributes_for_component_model: Attributes = Field(default_factory=no_entries)
    actions: tuple[ActionSpec, ...] = ()


class MovingSpec(ComponentSpec):
    """The fields of a component that moves values: Memory, Toll and Network.

    `bits_per_value`: width by set of tensors, in place of the workload's; `bits_per_value_scale`:
    factor on the workload's (older dialect); `bits_per_action`: width of an action;
    `values_per_action`: values that one action moves, by set of tensors.
    """

    bits_per_value: Values = Field(default_factory=no_entries)
    bits_per_value_scale: ExprOrValues = 1
    bits_per_action: Expr | None = None
    values_per_action: Values = Field(default_factory=no_entries)


class HolderSpec(MovingSpec):
    """The fields that Memory and Toll share; `tensors`: which tensors they keep or charge."""

    tensors: TensorsSpec = TensorsSpec.model_construct()


class MemorySpec(HolderSpec):
    """A `!Memory` of a file: it stores tiles; `size` in bits (may be inf).

    `skip_initial_output_write`: the first read of each partial sum, which holds nothing yet, is
    left out (theory/model.md §3.3).
    """

    size: Expr
    skip_initial_output_write: Expr = True


class TollSpec(HolderSpec):
    """A `!Toll` of a file: it charges for data that pass through and stores nothing.

    `direction`: up, down or up_and_down, for all tensors or by set of tensors.
    """

    direction: ExprOrValues


class ComputeSpec(ComponentSpec):
    """A `!Compute` of a file: it performs the operations of an Einsum.

    `skip_initial_output_write`: the first read of each partial sum, which holds nothing yet, is
    left out (theory/model.md §3.3).
    """

    skip_initial_output_write: Expr = True


class ContainerSpec(LeafSpec):
    """A `!Container` of a file, only a spatial fanout; the older dialect calls it `!Fanout`."""


class NetworkSpec(MovingSpec):
    """A `!Network` of a file: it moves values between instances, as a mesh or all to all."""

    topology: Literal["mesh", "all_to_all"] = "mesh"


class BranchSpec(SpecModel):
    """A `!Hierarchical` of a file: its nodes continue the hierarchy in its place."""

    name: Name | None = None
    nodes: Any = ()


class ForkSpec(BranchSpec):
    """A `!Fork` of a file: a side branch of the hierarchy that ends with a Compute of its own.

    `forked_power_gateable`: the branch does not leak while other Computes work;
    `non_forked_power_gateable`: the rest does not leak while its Compute works.
    """

    forked_power_gateable: Expr = False
    non_forked_power_gateable: Expr = False


class ArraySpec(LeafSpec):
    """An `!Array` of a file: a fanout whose memories are spread over one physical grid."""

    nodes: Any = ()


class CostTableSpec(SpecModel):
    """A file of component costs that an architecture names; `section`: the part of it to use."""

    file: str
    section: str | None = None


class ArchSpec(SpecModel):
    """The `arch:` block of an architecture file.

    `nodes`: the list of components and branches, top-down; `variables`: names for expressions;
    `cost_tables`: files with missing costs; the attributes are given to every estimator. `version`
    and `name` are accepted and not used.
    """

    nodes: Any
    variables: dict[str, Any] = Field(default_factory=no_entries)
    extra_attributes_for_all_component_models: Attributes = Field(default_factory=no_entries)
    cost_tables: tuple[CostTableSpec | str, ...] = ()
    version: Any = None
    name: Any = None


UNITS_OF: Mapping[str, Mapping[Dimension, str]] = {
    "energy": {"energy": "0.2 pJ"},
    "latency": {"time": "2 ns"},
    "throughput": {"frequency": "1 GHz", "bits per second": "64 Gbit/s"},
    "leak_power": {"power": "3 mW"},
    "area": {"area": "0.5 mm^2"},
    "size": {"bits": "256 KiB"},
    "bits_per_action": {"bits": "64 bit"},
    "bits_per_value": {"bits": "8 bit"},
}
"""The kinds of units that a field of a component may have, each with an example."""
LEAVES: dict[str, type[LeafSpec]] = {
    "Memory": MemorySpec,
    "Toll": TollSpec,
    "Compute": ComputeSpec,
    "Container": ContainerSpec,
    "Network": NetworkSpec,
}
BRANCHES: dict[str, type[SpecModel]] = {
    "Hierarchical": BranchSpec,
    "Fork": ForkSpec,
    "Array": ArraySpec,
}
OLD_TAGS = {"Fanout": "Container"}
EXPECTED_ACTIONS: dict[str, tuple[str, ...]] = {
    "Memory": ("read", "write"),
    "Toll": ("read",),
    "Compute": ("compute",),
    "Network": ("hop",),
    "Container": (),
}
