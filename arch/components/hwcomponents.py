"""Adapter to the `hwcomponents` package, where that is installed.

Its models answer `try_call_arbitrary_action` with an object that has `energy` and `throughput`
(hwcomponents 1.0.114); earlier releases with the two as a tuple (inputs.md §2.4). The package
itself is optional and brings estimators of its own.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

from tilewright.arch.components.cost_query import ActionEstimate, CostEstimate, CostQuery
from tilewright.arch.errors import SpecError

PACKAGE = "hwcomponents"


class HwComponents:
    """The estimator that asks the Python package `hwcomponents`, if it is installed."""

    def estimate(self, query: CostQuery) -> CostEstimate | None:
        """Return the package's costs of a component; None without the package or a component class.

        Raises SpecError if the package is there and fails.
        """
        component_class = query.component_model or query.component_class
        if component_class is None or find_spec(PACKAGE) is None:
            return None
        import hwcomponents

        attributes = {name: query.attributes[name] for name in query.attributes}
        try:
            model = hwcomponents.get_model(
                component_class, attributes, required_actions=list(query.actions)
            )
            actions = {name: _action(model, name, attributes, query) for name in query.actions}
            return CostEstimate(_cost(model.area), _cost(model.leak_power), actions)
        except Exception as error:  # whatever that package raises concerns the user's component
            raise SpecError(
                f"hwcomponents cannot estimate {query.name}: {error}",
                where=query.where,
                value=component_class,
                instead="write the costs in the file, or give a cost table",
            ) from None


def _action(
    model: Any, name: str, attributes: dict[str, object], query: CostQuery
) -> ActionEstimate:
    arguments = {**attributes, **query.action_attributes.get(name, {})}
    answer = model.try_call_arbitrary_action(
        action_name=name, _return_estimation_object=True, **arguments
    )
    cost = answer.value
    energy, throughput = cost if isinstance(cost, tuple) else (cost.energy, cost.throughput)
    return ActionEstimate(_cost(energy), _cost(throughput))


def _cost(value: Any) -> float:
    number = float(value)
    if math.isnan(number) or number < 0:
        raise ValueError(f"it answered {value}")
    return number
