"""What of an architecture decides mappings and cycles on a grid: all but energies and speeds."""

from __future__ import annotations

from dataclasses import fields

from tilewright.arch.components.components import Action, Component, TensorHolder
from tilewright.arch.flattening.flat import FlatArch

PRICES = frozenset({"area", "leak_power", "latency", "energy", "throughput"})
"""Fields of components and actions that a search for the least latency never reads: the machine's
own clock and cycles stand in its profile."""
_RULES = "tensors"


def machine_part(flat: FlatArch) -> tuple[object, ...]:
    """Return what decides the mappings of one Einsum on a grid, and their cycles, as plain data.

    Those are the components of the path with all their fields but PRICES. Rules which tensors a
    holder keeps may depend on what those above it keep: they are those for nothing above, and for
    all tensors in each holder above.
    """
    holders = [holder for holder in flat.components if isinstance(holder, TensorHolder)]
    everything = {holder.name: _tensors(holder) for holder in holders}
    rules = (holder.tensors.resolve(kept) for holder in holders for kept in ({}, everything))
    return tuple(map(_of_component, flat.components)), *rules


def _tensors(holder: TensorHolder) -> frozenset[str]:
    return frozenset(tensor for action in holder.actions for tensor in action.values_per_action)


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
