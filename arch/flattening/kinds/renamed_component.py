"""Components as another Einsum sees them, which differs from a first one in names only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from tilewright.arch.components.components import (
    Action,
    Comparison,
    Component,
    Compute,
    Network,
    SpatialDim,
    TensorHolder,
    TensorRules,
    Toll,
)
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.memo import IdentityCache

T = TypeVar("T")
RulesOf = Callable[[TensorHolder], TensorRules]
_RENAMED: Final = IdentityCache(512, per_object=64)
"""Of scopes, (component, what it is under their names) by the identity of the component."""


def renamed_paths(
    paths: Iterable[FlatArch], scope: Scope, other: Scope, rules_of: RulesOf
) -> tuple[FlatArch, ...]:
    """Return the paths of an Einsum under the names of another one.

    `scope`, `other`: of the two, with equal signatures (scope_signature.py). `rules_of`: gives the
    tensor rules of a Memory or Toll for the other.
    """

    def renamed(component: Component) -> Component:
        """Designs of a study share components: so they share them under other names."""
        answer = _RENAMED.of(other, id(component), partial(beside_renamed, component))
        return answer[1]  # type: ignore[no-any-return]

    def beside_renamed(component: Component) -> tuple[Component, Component]:
        """The cache holds the component, too: so no other one comes to its identity."""
        rules = rules_of(component) if isinstance(component, TensorHolder) else None
        return component, renamed_component(component, scope, other, rules)

    return tuple(_renamed_path(flat, other.einsum, renamed) for flat in paths)


def _renamed_path(
    flat: FlatArch, einsum: str, renamed: Callable[[Component], Component]
) -> FlatArch:
    components = tuple(map(renamed, flat.components))
    compute = components[-1]
    assert isinstance(compute, Compute)
    beside = tuple(map(renamed, flat.beside))
    return replace(flat, compute=compute, components=components, beside=beside, einsum=einsum)


class _Renames(NamedTuple):
    """The second Einsum's name of each tensor and rank variable of the first."""

    tensors: Mapping[str, str]
    variables: Mapping[str, str]


def renamed_component(
    component: Component, scope: Scope, other: Scope, rules: TensorRules | None
) -> Component:
    """Return a component, evaluated for the Einsum of `scope`, under the names of another one.

    `other`: its scope, of equal signature (scope_signature.py). `rules`: the tensor rules of a
    Memory or Toll for it; None for other components.
    """
    names = _Renames(
        dict(zip(scope.tensors, other.tensors, strict=True)),
        dict(zip(scope.rank_variables, other.rank_variables, strict=True)),
    )
    changed: dict[str, Any] = {
        "spatial": tuple(_dim(dim, names) for dim in component.spatial),
        "physical_spatial": tuple(_dim(dim, names) for dim in component.physical_spatial),
        "actions": tuple(_action(action, names) for action in component.actions),
    }
    if isinstance(component, Network | TensorHolder):
        changed["bits_per_value"] = _by_tensor(component.bits_per_value, names)
    if isinstance(component, Toll):
        changed["direction"] = _by_tensor(component.direction, names)
    if rules is not None:
        changed["tensors"] = rules
    return replace(component, **changed)


def _dim(dim: SpatialDim, names: _Renames) -> SpatialDim:
    return replace(
        dim,
        may_reuse=_all(dim.may_reuse, names.tensors),
        reuse=_all(dim.reuse, names.tensors),
        loop_bounds=tuple(_comparison(bound, names) for bound in dim.loop_bounds),
    )


def _comparison(bound: Comparison, names: _Renames) -> Comparison:
    return replace(bound, rank_variables=_all(bound.rank_variables, names.variables))


def _action(action: Action, names: _Renames) -> Action:
    if not action.values_per_action:
        return action
    return replace(action, values_per_action=_by_tensor(action.values_per_action, names))


def _by_tensor(values: Mapping[str, T], names: _Renames) -> dict[str, T]:
    return {names.tensors[tensor]: value for tensor, value in values.items()}


def _all(chosen: frozenset[str], names: Mapping[str, str]) -> frozenset[str]:
    return frozenset(names[name] for name in chosen)
