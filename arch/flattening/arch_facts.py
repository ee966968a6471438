"""An architecture as a person reads it: its components with all numbers evaluated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.arch.quantities import finite_or_none, some, with_unit
from tilewright.arch.text_table import text_table

if TYPE_CHECKING:
    from tilewright.arch.components.components import Action, Component
    from tilewright.arch.spec.architecture import Arch
    from tilewright.arch.spec.render import Row

_HEAD = ("component", "kind", "fanout", "instances", "size", "energy", "rate", "keeps")
_ALIGN = "<<<>><<<"


@dataclass(frozen=True, slots=True)
class ComponentFacts:
    """One component of an architecture.

    `row`: where it stands in the tree, and what is written; `component`: its numbers, None where
    the file has no Compute; `instances`: how many there are.
    """

    row: Row
    component: Component | None
    instances: int

    @property
    def size(self) -> float | None:
        """Bits of one instance; NaN if it depends on the Einsum, None for what holds nothing."""
        size = getattr(self.component, "size", None)
        return None if size is None else float(size)

    @property
    def keeps(self) -> str:
        """What the file says that it keeps, as written; empty if nothing."""
        keep = getattr(getattr(self.row.node.spec, "tensors", None), "keep", None)
        if keep is None:
            return ""
        return ", ".join(map(str, keep)) if isinstance(keep, tuple) else str(keep)

    def _fanout(self) -> str:
        if self.component is None:
            return self.row.fanout
        dims = (*self.component.spatial, *self.component.physical_spatial)
        return ", ".join(f"{dim.fanout} {dim.name}" for dim in dims)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON data, in SI units and bits; None where there is no number."""
        component = self.component
        fanouts = () if component is None else (*component.spatial, *component.physical_spatial)
        return {
            "name": self.row.label,
            "kind": self.row.node.tag,
            "depth": self.row.depth,
            "fanout": {dim.name: dim.fanout for dim in fanouts},
            "instances": self.instances,
            "size": finite_or_none(self.size),
            "unlimited": self.size == math.inf,
            "keep": self.keeps or None,
            "area": finite_or_none(getattr(component, "area", None)),
            "leak_power": finite_or_none(getattr(component, "leak_power", None)),
            "actions": [_action(action) for action in getattr(component, "actions", ())],
        }

    def cells(self) -> tuple[str, ...]:
        """Return the facts as the cells of a table."""
        name = f"{'   ' * self.row.depth}{'└─ ' if self.row.depth else ''}{self.row.label}"
        actions = getattr(self.component, "actions", ())
        return (
            name,
            self.row.node.tag,
            self._fanout(),
            f"{self.instances:,}",
            _size(self.size),
            _joined((action.name, _energy(action)) for action in actions),
            _joined((action.name, _rate(action)) for action in actions),
            self.keeps,
        )


def arch_facts(arch: Arch) -> tuple[ComponentFacts, ...]:
    """Return the components of an architecture, top-down, evaluated for no Einsum.

    Raises SpecError, with the place, for an expression that is wrong.
    """
    from tilewright.arch.flattening.flat import instances
    from tilewright.arch.flattening.flattening import flatten
    from tilewright.arch.spec.render import rows

    components: dict[str, Component] = {}
    for flat in flatten(arch):
        components.update({each.name: each for each in (*flat.components, *flat.beside)})
    return tuple(
        ComponentFacts(row, component, instances(component) if component is not None else 1)
        for row in rows(arch)
        for component in (components.get(row.label),)
    )


def arch_text(arch: Arch, facts: tuple[ComponentFacts, ...]) -> str:
    """Return the tree of an architecture with its numbers, and its totals, for a person to read."""
    lines = text_table([_HEAD, *(each.cells() for each in facts)], _ALIGN)
    lines += ["", f"area: {with_unit(total(facts, 'area'), 'm²')}"]
    lines.append(f"leakage power: {with_unit(total(facts, 'leak_power'), 'W')}")
    if arch.variables:
        named = ", ".join(f"{name} = {value}" for name, value in arch.variables.items())
        lines.append(f"variables: {named} (--set changes them)")
    return "\n".join(lines)


def total(facts: tuple[ComponentFacts, ...], field: str) -> float:
    """Return the area or leak power of all instances of all components, in SI units."""
    values = ((getattr(each.component, field, 0.0), each.instances) for each in facts)
    return sum(value * count for value, count in values if math.isfinite(value))


def in_one_line(facts: tuple[ComponentFacts, ...]) -> str:
    """Return the memories of an architecture, top-down, and how many Computes stand below them."""
    memories = [each.row.label for each in facts if each.row.node.tag == "Memory"]
    computes = [each for each in facts if each.row.node.tag == "Compute"]
    most = max(computes, key=lambda each: each.instances, default=None)
    below = [] if most is None else [f"{most.instances:,} {most.row.label}"]
    return " > ".join([*memories, *below]) or some(len(facts), "component")


def arch_dict(arch: Arch) -> dict[str, Any]:
    """Return an architecture as JSON data: variables, totals, components with their numbers."""
    facts = arch_facts(arch)
    return {
        "variables": _variables(arch),
        "area": total(facts, "area"),
        "leak_power": total(facts, "leak_power"),
        "components": [each.to_dict() for each in facts],
    }


def arch_html(arch: Arch) -> str:
    """Return an architecture for a notebook: a picture of its tree, and the numbers as a table."""
    from tilewright.arch.html_parts import html_table
    from tilewright.arch.spec.render import svg

    cells = [each.cells() for each in arch_facts(arch)]
    return svg(arch) + html_table([_HEAD, *cells], _ALIGN)


def _variables(arch: Arch) -> Mapping[str, object]:
    """Return the variables of an architecture, values JSON can hold, expressions as text."""
    return {
        name: value if isinstance(value, int | float | bool) else str(value)
        for name, value in arch.variables.items()
    }


def _action(action: Action) -> dict[str, Any]:
    return {
        "name": action.name,
        "energy": finite_or_none(action.energy),
        "throughput": finite_or_none(action.throughput),
        "bits_per_action": float(action.bits_per_action),
    }


def _joined(parts: Iterator[tuple[str, str]]) -> str:
    """Return `read, write 5 pJ`: names with the same text stand together."""
    names: dict[str, list[str]] = {}
    for name, text in parts:
        if text:
            names.setdefault(text, []).append(name)
    return "; ".join(f"{', '.join(named)} {text}" for text, named in names.items())


def _energy(action: Action) -> str:
    if math.isnan(action.energy):
        return "depends on the Einsum"
    shown = with_unit(action.energy, "J")
    if not _moves(action):
        return shown
    width = float(action.bits_per_action)
    return f"{shown} / bit" if width == 1 else f"{shown} / {width:g} bit"


def _rate(action: Action) -> str:
    if math.isnan(action.throughput):
        return "depends on the Einsum"
    if action.throughput == math.inf:
        return "unlimited"
    if _moves(action):
        return with_unit(action.throughput * float(action.bits_per_action) / 8, "B/s")
    return with_unit(action.throughput, "/s")


def _moves(action: Action) -> bool:
    return action.name != "compute"


def _size(bits: float | None) -> str:
    if bits is None:
        return ""
    if math.isnan(bits):
        return "depends on the Einsum"
    return "unlimited" if bits == math.inf else with_unit(bits, "bit")
