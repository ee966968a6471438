"""The constraints that an architecture puts on mappings, one by one, each with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from tilewright.arch.components.components import (
    Comparison,
    Component,
    Kept,
    Memory,
    PlacementRules,
    SpatialDim,
    TensorHolder,
    TensorRules,
    Toll,
)
from tilewright.arch.errors import Where
from tilewright.arch.flattening.placement import SpecTensorRules
from tilewright.mapper.workload.einsum import Einsum

Steps = tuple[str | int, ...]
Edit = Callable[[Component], Component]
RulesEdit = Callable[[PlacementRules, Kept], PlacementRules]


@dataclass(frozen=True, slots=True)
class MappingConstraint:
    """One thing that one field of the architecture forbids mappings of an Einsum.

    `kind`: name of the field (size, keep, may_keep, back, no_refetch_from_above,
    no_resend_to_below, tensor_order_options, force_memory_hierarchy_order, tile_shape, loop_bounds,
    reuse, fanout, usage_scale, min_usage, enabled), or "unfused": Einsums mapped one by one
    exchange a tensor through the outermost memory. `component`: its name. `steps`: path of the
    field inside the component. `tensor`: the tensor concerned, if the field is a set of tensors.
    `text`: the constraint in words. `where`: place in the file. `lift`: edit of the component that
    removes the constraint. Two are equal if kind, component, steps and tensor are.
    """

    kind: str
    component: str
    steps: Steps
    tensor: str = ""
    text: str = field(default="", compare=False)
    where: Where | None = field(default=None, compare=False)
    lift: Edit = field(default=lambda component: component, compare=False, repr=False)

    @property
    def path(self) -> str:
        """The field as the option --set names it, for example PE.spatial.0.fanout."""
        return ".".join([self.component, *map(str, self.steps)])

    def __str__(self) -> str:
        if self.where is None:
            return self.text
        return f"{self.text} ({replace(self.where, path='')})"


Locate = Callable[[str, Steps], Where | None]


def constraints_of(
    component: Component, einsum: Einsum, locate: Locate, min_usage: bool = False
) -> Iterator[MappingConstraint]:
    """Yield the constraints that a component puts on mappings of an Einsum, in field order.

    `locate`: returns where in the file a field of a component is written. `min_usage`: yield that
    field too; it is no constraint by itself, because it gives way where no mapping reaches it.
    """
    for constraint in _all(component, einsum):
        if constraint.kind != "min_usage" or min_usage:
            yield replace(constraint, where=locate(component.name, constraint.steps))


def _all(component: Component, einsum: Einsum) -> Iterator[MappingConstraint]:
    for number, dim in enumerate(component.spatial):
        yield from _of_dim(component.name, number, dim, einsum)
    if isinstance(component, Memory) and component.size < inf:
        yield MappingConstraint(
            "size", component.name, ("size",), "", f"{component.name} has {component.size:g} bit",
            lift=of_size(inf),
        )  # fmt: skip
    if isinstance(component, TensorHolder):
        yield from _of_rules(component, einsum)


def of_size(size: float) -> Edit:
    """Return the edit that gives a memory another size, in bits; inf lifts the limit.

    An edit is a function from a component to its changed copy.
    """

    def edit(component: Component) -> Component:
        assert isinstance(component, Memory)
        return replace(component, size=size)

    return edit


# ---- fanouts


def _of_dim(name: str, number: int, dim: SpatialDim, einsum: Einsum) -> Iterator[MappingConstraint]:
    field_steps: Steps = ("spatial", number)
    label = f"{name}.{dim.name}"

    def make(
        kind: str, steps: Steps, text: str, tensor: str = "", **changes: object
    ) -> MappingConstraint:
        lift = on_dim(number, **changes)
        return MappingConstraint(kind, name, (*field_steps, *steps), tensor, text, lift=lift)

    yield make("fanout", ("fanout",), f"{label} has fanout {dim.fanout}", fanout=einsum.operations)
    if dim.usage_scale > 1:
        text = f"{label} counts each lane {dim.usage_scale:g} times"
        yield make("usage_scale", ("usage_scale",), text, usage_scale=1.0)
    for tensor in (t for t in einsum.tensors if t in dim.reuse):
        text = f"the lanes of {label} must share {tensor}"
        yield make("reuse", ("reuse",), text, tensor, reuse=dim.reuse - {tensor})
    for index, bound in enumerate(dim.loop_bounds):
        text = f"lanes of {label} over {compared(bound, einsum)}"
        bounds = neutral(dim.loop_bounds, index)
        yield make("loop_bounds", ("loop_bounds", index), text, loop_bounds=bounds)
    if dim.min_usage > 0:
        text = f"{label} must be used to {dim.min_usage:g} where possible"
        yield make("min_usage", ("min_usage",), text, min_usage=0.0)


def on_dim(number: int, **changes: object) -> Edit:
    """Return the edit that changes fields of one dimension of a component's fanout.

    An edit is a function from a component to its changed copy. `number`: of the dimension.
    `changes`: new values by field. A set is intersected with the present one, and a list of
    comparisons is opened entry by entry, so that several such edits add up.
    """

    def edit(component: Component) -> Component:
        dims = list(component.spatial)
        dim = dims[number]
        fresh = {name: _merged(getattr(dim, name), value) for name, value in changes.items()}
        dims[number] = replace(dim, **fresh)  # type: ignore[arg-type]
        return replace(component, spatial=tuple(dims))

    return edit


def _merged(current: object, value: object) -> object:
    if isinstance(current, frozenset) and isinstance(value, frozenset):
        return current & value
    if isinstance(current, tuple) and isinstance(value, tuple):
        return tuple(b if _open(b) else a for a, b in zip(current, value, strict=True))
    return value


def compared(bound: Comparison, einsum: Einsum) -> str:
    """Write a comparison of tile shapes or lanes as text, with the bounds of its rank variables.

    Example: "m (of 64), n (of 8): product <= 16".
    """
    names = [v for v in einsum.bounds if v in bound.rank_variables]
    listed = ", ".join(f"{v} (of {einsum.bounds[v]})" for v in names) or "nothing"
    kind = "product " if bound.operator.startswith("product") else ""
    return f"{listed}: {kind}{bound.operator.removeprefix('product')} {bound.value}"


def neutral(bounds: tuple[Comparison, ...], index: int) -> tuple[Comparison, ...]:
    """Return the comparisons with one of them replaced by one that always holds.

    `bounds`: comparisons of tile shapes or lanes with numbers, as tile_shape and loop_bounds list
    them. `index`: of the one to replace (by >= 0); the others keep their numbers, so that several
    edits add up.
    """
    free = replace(bounds[index], operator=">=", value=0)
    return (*bounds[:index], free, *bounds[index + 1 :])


def _open(bound: object) -> bool:
    return isinstance(bound, Comparison) and (bound.operator, bound.value) == (">=", 0)


# ---- tensors


@dataclass(frozen=True, slots=True, eq=False)
class EditedRules:
    """Rules of a file about the tensors of a memory or Toll, with an edit applied after evaluation.

    `inner`: the rules as written. `edit`: changes the evaluated rules, given what holders above
    keep.
    """

    inner: TensorRules
    edit: RulesEdit

    @property
    def names(self) -> frozenset[str]:
        """Names that the expressions of the rules use: tensors, and memories above."""
        return self.inner.names

    def resolve(self, kept_above: Kept) -> PlacementRules:
        """Evaluate the rules for what the holders above keep, then apply the edit.

        `kept_above`: tensors that each holder above keeps, by its name.
        """
        return self.edit(self.inner.resolve(kept_above), kept_above)


def on_rules(edit: RulesEdit) -> Edit:
    """Return the edit of a Memory or Toll that changes its rules about tensors.

    Rules (keep, may_keep, …) are expressions in the file; `edit` gets their values as sets of
    tensors, and what the holders above keep, and returns the changed values. The returned edit maps
    the component to its changed copy.
    """

    def changed(component: Component) -> Component:
        assert isinstance(component, TensorHolder)
        return replace(component, tensors=EditedRules(component.tensors, edit))

    return changed


def _of_rules(component: TensorHolder, einsum: Einsum) -> Iterator[MappingConstraint]:
    seen = _seen(component, einsum)
    for tensor in einsum.tensors:
        yield from _of_keeping(component, tensor, seen)
    yield from _of_transfers(component, einsum, seen)
    yield from _of_order(component, einsum, seen)


def _of_keeping(
    component: TensorHolder, tensor: str, seen: Sequence[PlacementRules]
) -> Iterator[MappingConstraint]:
    """Yield the constraints on whether a component keeps one tensor.

    `seen`: the component's rules in some cases, as `_seen` returns them.
    """
    name = component.name
    if any(tensor in rules.keep - rules.back for rules in seen):
        text = f"{name} must keep {tensor}"
        yield _tensor_constraint(name, "keep", tensor, text, _without("keep", tensor))
    if any(tensor not in rules.may_keep for rules in seen) and not isinstance(component, Toll):
        text = f"{name} may not keep {tensor}"
        yield _tensor_constraint(name, "may_keep", tensor, text, _allowing(tensor))
    if any(tensor in rules.back for rules in seen):
        text = f"{name} must be the outermost memory of {tensor}"
        yield _tensor_constraint(name, "back", tensor, text, _without_back(component, tensor))


def _of_transfers(
    component: TensorHolder, einsum: Einsum, seen: Sequence[PlacementRules]
) -> Iterator[MappingConstraint]:
    """Yield the constraints on how often a component moves the values of tensors.

    `seen`: as in `_of_keeping`.
    """
    name = component.name
    for kind, says in (
        ("no_refetch_from_above", "fetches each value of {} once"),
        ("no_resend_to_below", "sends each value of {} down once"),
    ):
        moved_once = frozenset[str]().union(*(getattr(rules, kind) for rules in seen))
        for tensor in (t for t in einsum.tensors if t in moved_once):
            text = f"{name} {says.format(tensor)}"
            yield _tensor_constraint(name, kind, tensor, text, _without(kind, tensor))


def _tensor_constraint(
    component: str, kind: str, tensor: str, text: str, edit: RulesEdit
) -> MappingConstraint:
    """Return a constraint on one tensor of a component, which `edit` removes."""
    steps = ("tensors", kind)
    return MappingConstraint(kind, component, steps, tensor, text, lift=on_rules(edit))


def _of_order(
    component: TensorHolder, einsum: Einsum, seen: Sequence[PlacementRules]
) -> Iterator[MappingConstraint]:
    name = component.name
    if any(r.tensor_order_options for r in seen):
        yield MappingConstraint(
            "tensor_order_options", name, ("tensors", "tensor_order_options"), "",
            f"{name} orders its tensors", lift=on_rules(_setting(tensor_order_options=())),
        )  # fmt: skip
    if any(r.force_memory_hierarchy_order for r in seen):
        kind = "force_memory_hierarchy_order"
        text = f"{name} stays at its place in the hierarchy"
        lift = on_rules(_setting(force_memory_hierarchy_order=False))
        yield MappingConstraint(kind, name, ("tensors", kind), "", text, lift=lift)
    for index, bound in enumerate(seen[0].tile_shape):
        text = f"the tile at {name} over {compared(bound, einsum)}"
        lift = on_rules(_open_shape(index))
        yield MappingConstraint(
            "tile_shape", name, ("tensors", "tile_shape", index), "", text, lift=lift
        )


def _seen(component: TensorHolder, einsum: Einsum) -> list[PlacementRules]:
    """Return a component's rules for some cases: memories above keep nothing, all, or one tensor.

    These show which tensors a rule can concern; a superfluous constraint has no effect.
    """
    rules = component.tensors
    holders_above = rules.holders_above if isinstance(rules, SpecTensorRules) else ()
    everything = frozenset(einsum.tensors)
    sets = (frozenset[str](), everything, *(frozenset({t}) for t in einsum.tensors))
    return [rules.resolve(dict.fromkeys(holders_above, names)) for names in sets]


def _without(kind: str, tensor: str) -> RulesEdit:
    def edit(rules: PlacementRules, _: Kept) -> PlacementRules:
        if kind == "keep" and tensor in rules.back:
            return rules
        fresh = {kind: getattr(rules, kind) - {tensor}}
        return replace(rules, **fresh)

    return edit


def _allowing(tensor: str) -> RulesEdit:
    return lambda rules, _: replace(rules, may_keep=rules.may_keep | {tensor})


def _without_back(component: TensorHolder, tensor: str) -> RulesEdit:
    written = component.tensors

    def edit(rules: PlacementRules, kept_above: Kept) -> PlacementRules:
        keep = rules.keep - {tensor}
        if isinstance(written, SpecTensorRules):
            spec = written.spec.model_copy(update={"back": None})
            plain = replace(written, spec=spec).resolve(kept_above)
            keep = rules.keep if tensor in plain.keep else keep
        return replace(rules, back=rules.back - {tensor}, keep=keep)

    return edit


def _setting(**values: object) -> RulesEdit:
    return lambda rules, _: replace(rules, **values)  # type: ignore[arg-type]


def _open_shape(index: int) -> RulesEdit:
    return lambda rules, _: replace(rules, tile_shape=neutral(rules.tile_shape, index))


def set_text(written: object) -> str:
    """Write a set of tensors, as an architecture file has it, as one expression.

    A list of expressions becomes their union, "(A) | (B)"; an empty list becomes "Nothing".
    """
    if isinstance(written, tuple):
        return " | ".join(f"({part})" for part in written) or "Nothing"
    return f"({written})"
