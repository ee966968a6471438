"""What an estimator of component costs is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tilewright.arch.errors import Where


@dataclass(frozen=True, slots=True)
class CostQuery:
    """A component whose costs are asked for: its name, class and evaluated attributes."""

    name: str
    component_class: str | None
    component_model: str | None
    attributes: Mapping[str, object]
    actions: tuple[str, ...]
    where: Where | None = None
    action_attributes: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ActionEstimate:
    """Joule per action, actions per second; None where the estimator does not know."""

    energy: float | None = None
    throughput: float | None = None


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """Costs of one instance: m², watt, and per action. None where the estimator does not know."""

    area: float | None = None
    leak_power: float | None = None
    actions: Mapping[str, ActionEstimate] = field(default_factory=dict)


class Estimator(Protocol):
    """A source of component costs."""

    def estimate(self, query: CostQuery) -> CostEstimate | None:
        """Return the costs of a component, or None if this estimator does not know it."""
        ...
