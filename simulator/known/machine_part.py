"""What of an architecture decides mappings and cycles on a grid: all but energies and speeds."""

from __future__ import annotations

from dataclasses import fields

from tilewright.arch.components.components import Action, Component, PlacementRules, TensorHolder
from tilewright.arch.flattening.flat import FlatArch

PRICES = frozenset({"area", "leak_power", "latency", "energy", "throughput"})
"""Fields of components and actions that a search for the least latency never reads: the machine's
own clock and cycles stand in its profile."""
_RULES = "tensors"


def machine_part(flat: FlatArch, host: str) -> tuple[object, ...]:
    """Return what decides the mappings of one Einsum on a grid, and their cycles, as plain data.

    Those are the components of the path with all their fields but PRICES. Of the rules which
    tensors a holder keeps, those of the memory outside (`host`) count alone.
    """
    rules = [_rules(component) for component in flat.components if component.name == host]
    return tuple(map(_of_component, flat.components)), *rules


def _of_component(component: Component) -> tuple[object, ...]:
    parts = [
        (field.name, getattr(component, field.name))
        for field in fields(component)
        if field.name not in PRICES and field.name not in {_RULES, "actions"}
    ]
    return type(component).__name__, *parts, *map(_of_action, component.actions)


def _of_action(action: Action) -> tuple[object, ...]:
    return tuple(
        (field.name, getattr(action, field.name))
        for field in fields(action)
        if field.name not in PRICES
    )


def _rules(component: Component) -> PlacementRules | None:
    return component.tensors.resolve({}) if isinstance(component, TensorHolder) else None


def prices(flat: FlatArch) -> tuple[object, ...]:
    """Return what the energy of actions and leakage depend on, as plain data."""
    return tuple(
        (
            component.name,
            component.leak_power,
            component.parent_fanout,
            component.own_fanout,
            tuple((action.name, action.energy) for action in component.actions),
        )
        for component in (*flat.components, *flat.beside)
    )
