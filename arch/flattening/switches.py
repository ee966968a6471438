"""Say what stands on the path to a Compute instead of a component that may be disabled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tilewright.arch.components.components import (
    Component,
    Kept,
    Network,
    PlacementRules,
    SpatialDim,
    TensorHolder,
)

Switch = Callable[[Component, object, str], Component | None]
"""Takes a component, what its `enabled` comes to, and the tag of its node; returns what stands in
its place, if anything does."""


@dataclass(frozen=True, slots=True)
class KeepsNothing:
    """The tensor rules of a Memory or Toll that may keep nothing, because it is disabled."""

    names: frozenset[str] = frozenset()

    def resolve(self, kept_above: Kept) -> PlacementRules:
        """Return rules that keep no tensor, whatever the Memories and Tolls above keep."""
        del kept_above
        return PlacementRules(keep=frozenset(), may_keep=frozenset())


def is_emptied(component: Component | None) -> bool:
    """Return whether this is a disabled Memory or Toll that stays but keeps nothing."""
    return isinstance(component, TensorHolder) and isinstance(component.tensors, KeepsNothing)


def passed_by(component: Component, enabled: object, _tag: str) -> Component | None:
    """Return an enabled component, None for a disabled one: the path passes it by, with its lanes.

    `enabled`: what its field comes to; an empty set, 0 or False disables it.
    """
    return component if enabled else None


def emptied(component: Component, enabled: object, tag: str) -> Component | None:
    """Return what accelforge 1.0.467 makes of a component whose field `enabled` has this value.

    Only False disables a Memory or Toll, which stays with its lanes and keeps nothing; a Network is
    always there, and nothing constrains the lanes of an Array (`tag`); other components that are
    disabled are left out (None). See docs/conventions.md §13.
    """
    if isinstance(component, Network):
        return component
    if tag == "Array":
        component = replace(component, spatial=tuple(map(_unbound, component.spatial)))
    if not isinstance(component, TensorHolder):
        return component if enabled else None
    return replace(component, tensors=KeepsNothing()) if enabled is False else component


def _unbound(dim: SpatialDim) -> SpatialDim:
    return replace(dim, reuse=frozenset(), loop_bounds=(), min_usage=0.0)
