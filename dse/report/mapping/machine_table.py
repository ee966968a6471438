"""The machine as a tree with how full and how busy each component is under a mapping."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.arch.quantities import with_unit
from tilewright.mapper.evaluation.breakdown import ComponentCosts, component_costs

if TYPE_CHECKING:
    from tilewright.arch.flattening.arch_facts import ComponentFacts
    from tilewright.mapper.mapping.score import Score


@dataclass(frozen=True, slots=True)
class Meter:
    """A share of something: `share`, 0 to 1 or None if it is not known, and `text`."""

    share: float | None
    text: str


@dataclass(frozen=True, slots=True)
class MachineRow:
    """One component of the machine under a mapping.

    `depth`: in the tree; `name`, `kind`, `instances`, `size`: in words; `full`: share of one
    instance in use at its fullest; `busy`: share of the latency; `energy`: share of the total;
    `limits`: whether it limits the latency of some Einsum.
    """

    depth: int
    name: str
    kind: str
    instances: str
    size: str
    full: Meter
    busy: Meter
    energy: Meter
    limits: bool


def machine_rows(score: Score, facts: Sequence[ComponentFacts]) -> tuple[MachineRow, ...]:
    """Return the components of an architecture, top-down, each with how full and busy it is.

    score: that of the mapping; facts: of the components.
    """
    costs = {each.component: each for each in component_costs(score)}
    return tuple(_machine_row(each, costs.get(each.row.label), score.energy) for each in facts)


def _machine_row(facts: ComponentFacts, cost: ComponentCosts | None, energy: float) -> MachineRow:
    """Return the row of a component. `energy`: of the whole mapping, in joules."""
    in_use = "" if cost is None or not cost.peak_bits else _bits(float(cost.peak_bits))
    return MachineRow(
        facts.row.depth,
        facts.row.label,
        facts.row.node.tag,
        f"× {facts.instances:,}" if facts.instances > 1 else "",
        _size(facts.size),
        Meter(None if cost is None else cost.occupancy, in_use),
        _meter(None if cost is None else cost.utilization),
        _meter(cost.energy / energy if cost is not None and energy else None),
        bool(cost is not None and cost.limits),
    )


def _meter(share: float | None) -> Meter:
    return Meter(share, "" if not share else f"{100 * share:.3g} %")


def _bits(bits: float) -> str:
    return with_unit(bits, "bit")


def _size(bits: float | None) -> str:
    if bits is None:
        return ""
    if math.isnan(bits):
        return "depends on the Einsum"
    return "unlimited" if bits == math.inf else _bits(bits)
