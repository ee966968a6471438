"""The exact search with all holders in the order of the hierarchy, where it may be left but that is
not modelled; the rest is bounded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from tilewright.arch.components import Component, Kept, PlacementRules, TensorHolder, TensorRules
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.compulsory import least_value
from tilewright.mapper.searches.errors import UnsupportedFeature
from tilewright.mapper.searches.exact import ExactSearch
from tilewright.mapper.searches.metrics import Goal
from tilewright.mapper.searches.result import SpaceResult


@dataclass(frozen=True, slots=True)
class InOrder:
    """The rules `inner`, in the order of the hierarchy."""

    inner: TensorRules

    @property
    def names(self) -> frozenset[str]:
        """Names in the expressions of the file."""
        return self.inner.names

    def resolve(self, kept_above: Kept) -> PlacementRules:
        """Evaluate the block, and force the order."""
        return replace(self.inner.resolve(kept_above), force_memory_hierarchy_order=True)


@dataclass(frozen=True, slots=True)
class InOrderSearch:
    """Optimal among the mappings that keep to the order, with a bound on all. `memory`: as in
    ExactSearch."""

    memory: float = inf

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> SpaceResult:
        """Return the best of these mappings; UnsupportedFeature where they are not modelled."""
        result = ExactSearch(self.memory).find(_in_order(space), goal, budget)
        if result.best is None and result.proven:
            raise UnsupportedFeature(
                f"{space.einsum.name} has no mapping with uneven tiles in the order of the"
                " hierarchy, and others are not searched",
                instead="even tiles",
            )
        lower = min(result.lower_bound, least_value(space, goal))
        return replace(result, lower_bound=lower, proven=False)


def _in_order(space: Mapspace) -> Mapspace:
    components = tuple(_ordered(component) for component in space.flat.components)
    return Mapspace(
        space.einsum, replace(space.flat, components=components), space.conventions, space.backed,
        space.uneven, crowded=space.crowded, exchanged=space.exchanged,
    )  # fmt: skip


def _ordered(component: Component) -> Component:
    if not isinstance(component, TensorHolder):
        return component
    return replace(component, tensors=InOrder(component.tensors))
