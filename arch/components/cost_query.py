"""What an estimator of component costs is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tilewright.arch.errors import Where


@dataclass(frozen=True, slots=True)
class CostQuery:
    """A question to an estimator: a component whose costs the architecture file leaves open.

    `name`, `component_class`, `component_model`: as written in the file; `attributes`: further
    fields by name, evaluated; `actions`: names of the actions to price; `where`: place of the
    component in the file; `action_attributes`: fields that hold for one action only.
    """

    name: str
    component_class: str | None
    component_model: str | None
    attributes: Mapping[str, object]
    actions: tuple[str, ...]
    where: Where | None = None
    action_attributes: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ActionEstimate:
    """Estimated costs of one action: `energy` in J, `throughput` in actions per second.

    None where the estimator does not know.
    """

    energy: float | None = None
    throughput: float | None = None


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Estimated costs of one instance of a component.

    `area` in m², `leak_power` in W, `actions` by name. None, or a missing action, where the
    estimator does not know.
    """

    area: float | None = None
    leak_power: float | None = None
    actions: Mapping[str, ActionEstimate] = field(default_factory=dict)


class Estimator(Protocol):
    """A source of component costs, such as a cost table or the package hwcomponents."""

    def estimate(self, query: CostQuery) -> CostEstimate | None:
        """Return the costs of a component, or None if this estimator does not know it."""
        ...
