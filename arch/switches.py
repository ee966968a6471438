"""What `enabled` makes of a component on the way to a Compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tilewright.arch.components import Component, Kept, Network, PlacementRules, TensorHolder

Switch = Callable[[Component, object], Component | None]
"""Takes a component and what its `enabled` comes to; returns what stands in its place, if any."""


@dataclass(frozen=True, slots=True)
class KeepsNothing:
    """The `tensors:` block of a holder that may hold nothing."""

    names: frozenset[str] = frozenset()

    def resolve(self, kept_above: Kept) -> PlacementRules:
        """Return rules that keep nothing."""
        del kept_above
        return PlacementRules(keep=frozenset(), may_keep=frozenset())


def passed_by(component: Component, enabled: object) -> Component | None:
    """Leave out what is disabled, with its lanes; a set that is empty disables."""
    return component if enabled else None


def emptied(component: Component, enabled: object) -> Component | None:
    """Return what accelforge 1.0.467 makes of it (docs/conventions.md §13): only False disables a
    memory or Toll, which stays with its lanes and keeps nothing; a Network is always there."""
    if isinstance(component, Network):
        return component
    if not isinstance(component, TensorHolder):
        return component if enabled else None
    return replace(component, tensors=KeepsNothing()) if enabled is False else component
