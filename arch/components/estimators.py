"""Ask for the costs that a file leaves open: cost tables, `Dummy`, the hwcomponents package."""

from __future__ import annotations

import math
from importlib.util import find_spec

from tilewright.arch.components.cost_query import ActionEstimate, CostEstimate, CostQuery, Estimator
from tilewright.arch.components.hwcomponents import HwComponents
from tilewright.arch.errors import SpecError


class DummyEstimator:
    """The estimator of components with `component_class: Dummy`, which cost nothing."""

    def estimate(self, query: CostQuery) -> CostEstimate | None:
        """Return zero area, leakage and energy and infinite throughput for a Dummy, else None."""
        if query.component_model or (query.component_class or "").lower() != "dummy":
            return None
        free = ActionEstimate(0.0, math.inf)
        return CostEstimate(0.0, 0.0, dict.fromkeys(query.actions, free))


def find_costs(query: CostQuery, estimators: tuple[Estimator, ...]) -> CostEstimate:
    """Return the costs that the first estimator gives that knows the component.

    After the given ones it asks for Dummy and the package hwcomponents. Raises SpecError, which
    says what to write, if none knows it.
    """
    for estimator in (*estimators, DummyEstimator(), HwComponents()):
        costs = estimator.estimate(query)
        if costs is not None:
            return costs
    installed = find_spec("hwcomponents") is not None
    raise SpecError(
        f"no estimator knows {query.name} (component_class: {query.component_class})",
        where=query.where,
        value=query.component_model or query.component_class,
        instead="write area, leak_power, and energy and throughput of each action in the file, "
        "give a cost table" + ("" if installed else ", or install the package hwcomponents"),
    )
