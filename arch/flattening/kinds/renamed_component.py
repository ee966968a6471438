"""Components as another Einsum sees them, which differs from a first one in names only."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from tilewright.arch.components.components import (
    Action,
    Comparison,
    Component,
    Compute,
    Network,
    Scope,
    SpatialDim,
    TensorHolder,
    TensorRules,
    Toll,
)
from tilewright.arch.flattening.flat import FlatArch

T = TypeVar("T")
RulesOf = Callable[[TensorHolder], TensorRules]
_MOST_KNOWN = 2048
_known: OrderedDict[tuple[int, str], tuple[Component, Scope, Component]] = OrderedDict()


def renamed_paths(
    paths: Iterable[FlatArch], scope: Scope, other: Scope, rules_of: RulesOf
) -> tuple[FlatArch, ...]:
    """Return the paths of an Einsum under the names of another one.

    `scope`, `other`: of the two, with equal signatures (scope_signature.py). `rules_of`: gives the
    tensor rules of a Memory or Toll for the other.
    """

    def renamed(component: Component) -> Component:
        """Designs of a study share components: so they share them under other names."""
        place = id(component), other.einsum
        known = _known.get(place)
        if known is None or known[0] is not component or known[1] is not other:
            rules = rules_of(component) if isinstance(component, TensorHolder) else None
            known = component, other, renamed_component(component, scope, other, rules)
            _known[place] = known
            if len(_known) > _MOST_KNOWN:
                _known.popitem(last=False)
        return known[2]

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
