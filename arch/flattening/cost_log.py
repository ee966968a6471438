"""A log of where the energy and the area of every component come from.

A cost is written in the architecture file, or an estimator gave it: a cost table, `Dummy`, or the
package hwcomponents. AccelForge keeps such a log in the field `component_modeling_log`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from tilewright.arch.components.components import Component
from tilewright.arch.components.cost_query import CostEstimate, CostQuery, Estimator
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import Where
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.spec import ComponentSpec
from tilewright.arch.spec.tree import Node


@dataclass(frozen=True, slots=True)
class CostSource:
    """Where one cost of one component comes from.

    `quantity`: `area` (m²), `leak_power` (W), or `energy of read` (J per action), with all scales;
    `value`: in these units. `source`: `written` in the file, the name of the estimator, or `nothing
    said` for a 0. `where`: the component's place in the file.
    """

    component: str
    quantity: str
    value: float
    source: str
    where: Where | None

    def __str__(self) -> str:
        return f"{self.component}: {self.quantity} {self.value:g} ({self.source})"


class _Witness:
    """Wraps an estimator and notes which components it was able to price."""

    def __init__(self, estimator: Estimator, priced: dict[str, str]) -> None:
        self.estimator = estimator
        self.priced = priced

    def estimate(self, query: CostQuery) -> CostEstimate | None:
        costs = self.estimator.estimate(query)
        if costs is not None:
            self.priced[query.name] = type(self.estimator).__name__
        return costs


def cost_log(arch: Arch, scope: Scope | None = None) -> tuple[CostSource, ...]:
    """Return the source of every area, leakage and energy of an architecture, in file order.

    `scope`: names and sets of an Einsum, for fields that depend on it. Raises SpecError, with the
    place, for what is wrong in the file.
    """
    priced: dict[str, str] = {}
    witnesses = tuple(_Witness(estimator, priced) for estimator in arch.estimators)
    flats = flatten(arch.with_estimators(*witnesses), scope)
    components = {c.name: c for flat in flats for c in flat.components}
    log: list[CostSource] = []
    for node in arch.root.walk():
        component = components.get(node.name)
        if component is not None and isinstance(node.spec, ComponentSpec):
            log += _sources(component, node, priced.get(node.name), arch.where(node))
    return tuple(log)


def _sources(
    component: Component, node: Node, priced_by: str | None, where: Where | None
) -> list[CostSource]:
    spec = cast(ComponentSpec, node.spec)
    estimator = priced_by or _builtin_estimator(spec)
    given = {
        "area": (spec.area, component.area),
        "leak_power": (spec.leak_power, component.leak_power),
    }
    energies = {action.name: action.energy for action in spec.actions}
    for action in component.actions:
        given[f"energy of {action.name}"] = (energies.get(action.name), action.energy)
    return [
        CostSource(
            node.name, quantity, value, "written" if written is not None else estimator, where
        )
        for quantity, (written, value) in given.items()
    ]


def _builtin_estimator(spec: ComponentSpec) -> str:
    """Return the name of the built-in estimator that prices a component no other one knows."""
    if spec.component_model is None and (spec.component_class or "").lower() == "dummy":
        return "Dummy"
    return "hwcomponents" if spec.component_class or spec.component_model else "nothing said"
