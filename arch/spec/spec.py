"""What an architecture file may say: one pydantic model per kind of node, both dialects.

Fields hold what was written: a number, or the text of an expression. The older dialect of the
format (latency, Fanout, bits_per_value_scale) is accepted beside the current one
(inputs.md §1).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from tilewright.arch.components.components import Operator
from tilewright.arch.spec.schema import SpecModel


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
    if isinstance(value, str) and value and not value.isspace():
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError("a name must be text")


Expr = Annotated[Any, BeforeValidator(_check_scalar)]
SetExpr = Annotated[Any, BeforeValidator(_check_set)]
Values = Annotated[dict[str, Any], BeforeValidator(_check_values)]
ExprOrValues = Annotated[Any, BeforeValidator(_check_scalar_or_values)]
Name = Annotated[str, BeforeValidator(_check_name)]
Attributes = dict[str, Any]


class ComparisonSpec(SpecModel):
    """One line of `loop_bounds` or `tile_shape`."""

    expression: SetExpr
    operator: Operator
    value: Expr


class SpatialSpec(SpecModel):
    """One dimension of a spatial fanout."""

    name: Name
    fanout: Expr
    may_reuse: SetExpr | None = None
    reuse: SetExpr | None = None
    loop_bounds: tuple[ComparisonSpec, ...] = ()
    min_usage: Expr = 0
    usage_scale: Expr = 1
    power_gateable: Expr = False


class ActionSpec(SpecModel):
    """One action: energy and throughput (or, in the older dialect, latency)."""

    name: Name
    energy: Expr | None = None
    energy_scale: Expr = 1
    throughput: Expr | None = None
    throughput_scale: Expr = 1
    latency: Expr | None = None
    latency_scale: Expr = 1
    bits_per_action: Expr | None = None
    values_per_action: Values = Field(default_factory=dict)
    extra_attributes_for_component_model: Attributes = Field(default_factory=dict)


class TensorsSpec(SpecModel):
    """Which tensors a holder keeps, and how."""

    keep: SetExpr | None = None
    may_keep: SetExpr | None = None
    back: SetExpr | None = None
    no_refetch_from_above: SetExpr | None = None
    no_resend_to_below: SetExpr | None = None
    tensor_order_options: tuple[tuple[SetExpr, ...], ...] = ()
    force_memory_hierarchy_order: Expr | None = None
    tile_shape: tuple[ComparisonSpec, ...] = ()


class LeafSpec(SpecModel):
    """What every named node has."""

    name: Name
    spatial: tuple[SpatialSpec, ...] = ()
    enabled: Expr = True


class ComponentSpec(LeafSpec):
    """What every component that costs something has."""

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
    extra_attributes_for_component_model: Attributes = Field(default_factory=dict)
    actions: tuple[ActionSpec, ...] = ()


class MovingSpec(ComponentSpec):
    """What components that move values have."""

    bits_per_value: Values = Field(default_factory=dict)
    bits_per_value_scale: ExprOrValues = 1
    bits_per_action: Expr | None = None
    values_per_action: Values = Field(default_factory=dict)


class HolderSpec(MovingSpec):
    """What Memory and Toll share."""

    tensors: TensorsSpec = TensorsSpec()


class MemorySpec(HolderSpec):
    """`!Memory`."""

    size: Expr
    skip_initial_output_write: Expr = True


class TollSpec(HolderSpec):
    """`!Toll`."""

    direction: ExprOrValues


class ComputeSpec(ComponentSpec):
    """`!Compute`."""

    skip_initial_output_write: Expr = True


class ContainerSpec(LeafSpec):
    """`!Container`, which the older dialect calls `!Fanout`."""


class NetworkSpec(MovingSpec):
    """`!Network`."""

    topology: Literal["mesh", "all_to_all"] = "mesh"


class BranchSpec(SpecModel):
    """`!Hierarchical`: its nodes continue the hierarchy."""

    name: Name | None = None
    nodes: Any = ()


class ForkSpec(BranchSpec):
    """`!Fork`: a side branch that ends with its own Compute."""

    forked_power_gateable: Expr = False
    non_forked_power_gateable: Expr = False


class ArraySpec(LeafSpec):
    """`!Array`: nodes that share one physical grid."""

    nodes: Any = ()


class CostTableSpec(SpecModel):
    """A file of component costs, and the section of it that counts."""

    file: str
    section: str | None = None


class ArchSpec(SpecModel):
    """The `arch:` block."""

    nodes: Any
    variables: dict[str, Any] = Field(default_factory=dict)
    extra_attributes_for_all_component_models: Attributes = Field(default_factory=dict)
    cost_tables: tuple[CostTableSpec | str, ...] = ()
    version: Any = None
    name: Any = None


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
