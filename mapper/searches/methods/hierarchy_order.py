"""Search exactly with all holders in the order of the memory hierarchy; bound all other mappings.

For architectures that let holders leave that order, where the uneven search does not model it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from tilewright.arch.components.components import TensorHolder
from tilewright.mapper.explain.constraint import on_rules
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.exact.least_placement_costs import least_value
from tilewright.mapper.searches.result import MapspaceResult
from tilewright.mapper.workload.errors import UnsupportedFeature

_IN_ORDER = on_rules(lambda rules, _: replace(rules, force_memory_hierarchy_order=True))


@dataclass(frozen=True, slots=True)
class HierarchyOrderSearch:
    """The exact search among mappings that keep holders in the order of the memory hierarchy.

    Used with uneven tiles where the architecture lets a holder leave that order, which that search
    does not model. The lower bound holds for all mappings. `memory`: bytes of the process before
    which it ends.
    """

    memory: float = inf

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the best mapping that keeps to the order, and a lower bound over all mappings.

        It is never proven. `goal`: what is least; `budget`: seconds, None for no limit. Raises
        UnsupportedFeature if no mapping keeps to the order, or for features that the exact search
        does not model.
        """
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
    components = tuple(
        _IN_ORDER(component) if isinstance(component, TensorHolder) else component
        for component in space.flat.components
    )
    return space.with_flat(replace(space.flat, components=components))
