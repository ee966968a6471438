"""The roofline of a mapping: the rate of its operations, and what each memory would allow.

A memory moves B bytes for N operations in the time T that it is busy. At N / B operations per byte
it allows N / T operations per second; the mapping runs at N / latency. Its roof is the line of
slope B / T, the rate at which it moves the mapping's reads and writes, over the instances in use,
up to where the operations of the Computes end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.arch.quantities import quantity, with_unit
from tilewright.dse.report.mapping.mapping_chart import ChartAxis
from tilewright.mapper.evaluation.breakdown import ComponentCosts, component_costs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.arch.flattening.arch_facts import ComponentFacts
    from tilewright.mapper.mapping.score import Score

WIDTH, HEIGHT = 1080, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 92, 24, 24, 52
_MARGIN = 0.6  # decades beside the points
_ABOVE = 0.9  # decades above the highest rate, for the names of the points
_APART = 18  # pixels between names


@dataclass(frozen=True, slots=True)
class Level:
    """A memory in a roofline; `name`: of the component.

    `intensity`: operations of the mapping per byte that the memory moves; `bandwidth`: bytes per
    second that it moves while it is busy.
    """

    name: str
    intensity: float
    bandwidth: float


@dataclass(frozen=True, slots=True)
class Roof:
    """The roof of one memory in a chart, in pixels.

    `name`: of the memory; `line`: ends of its sloped line; `point`: operations per byte and per
    second of the mapping; `label`: place of its name; `text`: what is shown when it is pointed at.
    """

    name: str
    line: tuple[float, float, float, float]
    point: tuple[float, float]
    label: tuple[float, float]
    text: str


@dataclass(frozen=True, slots=True)
class Roofline:
    """A roofline chart in pixels.

    `x`, `y`: its axes; `roofs`: of the memories; `peak`: where the operations of the Computes end,
    with its text; `reached`: where the mapping is, with its text.
    """

    x: ChartAxis
    y: ChartAxis
    roofs: tuple[Roof, ...]
    peak: tuple[float, str] | None
    reached: tuple[float, str]


def roofline(score: Score, facts: Sequence[ComponentFacts]) -> Roofline | None:
    """Return the roofline of a mapping; None if no memory takes time or nothing is computed.

    `facts`: components of the architecture, for the bits of an action and what computes.
    """
    costs = {each.component: each for each in component_costs(score)}
    computes = [costs[each.row.label] for each in facts if _is_used("Compute", each, costs)]
    operations = sum(sum(map(float, each.actions.values())) for each in computes)
    levels = list(_levels(facts, costs, operations))
    if not (levels and operations and score.is_timed and math.isfinite(score.latency)):
        return None
    busiest = max((each.seconds for each in computes), default=0.0)
    return _chart(levels, operations / score.latency, operations / busiest if busiest else None)


def _is_used(tag: str, facts: ComponentFacts, costs: Mapping[str, ComponentCosts]) -> bool:
    return facts.row.node.tag == tag and facts.row.label in costs


def _levels(
    facts: Sequence[ComponentFacts], costs: Mapping[str, ComponentCosts], operations: float
) -> Iterator[Level]:
    """Yield the memories that take time."""
    for each in facts:
        if _is_used("Memory", each, costs):
            level = _level(each, costs[each.row.label], operations)
            if level is not None:
                yield level


def _level(facts: ComponentFacts, costs: ComponentCosts, operations: float) -> Level | None:
    actions = {action.name: action for action in getattr(facts.component, "actions", ())}
    moved = sum(
        float(count) * float(actions[name].bits_per_action) / 8
        for name, count in costs.actions.items()
        if name in actions
    )
    if not moved or not costs.seconds or not math.isfinite(costs.seconds):
        return None
    return Level(facts.row.label, operations / moved, moved / costs.seconds)


def _chart(levels: Sequence[Level], reached: float, peak: float | None) -> Roofline:
    highest = max(reached, peak or reached)
    ridges = [math.log10(highest / level.bandwidth) for level in levels]
    wide = [math.log10(level.intensity) for level in levels] + ridges
    rates = [math.log10(rate) for rate in (reached, highest)]
    x = ChartAxis("operations_per_byte", min(wide) - _MARGIN, max(wide) + _MARGIN,
                  True, _LEFT, WIDTH - _LEFT - _RIGHT)  # fmt: skip
    y = ChartAxis("operations_per_second", min(rates) - _MARGIN, max(rates) + _ABOVE,
                  True, HEIGHT - _BOTTOM, -(HEIGHT - _TOP - _BOTTOM))  # fmt: skip
    names = _spread([x.at(level.intensity) for level in levels])
    roofs = tuple(
        _roof(level, x, y, (reached, highest), name)
        for level, name in zip(levels, names, strict=True)
    )
    shown = quantity(reached, "operations_per_second")
    at_peak = None
    if peak is not None:
        at_peak = y.at(peak), f"compute: {quantity(peak, 'operations_per_second')}"
    return Roofline(x, y, roofs, at_peak, (y.at(reached), f"this mapping: {shown}"))


def _roof(
    level: Level, x: ChartAxis, y: ChartAxis, rates: tuple[float, float], name: float
) -> Roof:
    """Return the roof of a level; its line ends at the border and at the highest rate.

    `rates`: operations per second of the mapping, and the highest. `name`: pixel of its name.
    """
    reached, highest = rates
    low = max(10**x.low, 10**y.low / level.bandwidth)
    high = max(low, highest / level.bandwidth)
    ends = (x.at(low), y.at(low * level.bandwidth), x.at(high), y.at(high * level.bandwidth))
    allowed = level.bandwidth * level.intensity
    text = (
        f"{level.name}: {quantity(level.intensity, 'operations_per_byte')} at"
        f" {with_unit(level.bandwidth, 'B/s')} allow"
        f" {quantity(allowed, 'operations_per_second')}, {reached / allowed:.0%} of it is reached"
    )
    point = x.at(level.intensity), y.at(reached)
    return Roof(level.name, ends, point, (name, point[1] - 10), text)


def _spread(places: Sequence[float]) -> list[float]:
    """Return places of names in pixels, moved right where they would stand on each other."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    placed, last = list(places), -math.inf
    for number in order:
        last = placed[number] = max(places[number], last + _APART)
    return placed
