"""The tables of a breakdown: cells in words, for the terminal, the page and a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tilewright.arch.quantities import shortened, with_unit
from tilewright.arch.text_table import text_table
from tilewright.mapper.evaluation.breakdown import Breakdown, ComponentCosts, EinsumCosts
from tilewright.mapper.mapping.score import Score

_FULL = 1 - 1e-9
_MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class BreakdownTable:
    """A table of costs as cells of text.

    `title`; `head`: names of the columns; `align`: `<` or `>` for each; `rows`: the cells.
    """

    title: str
    head: tuple[str, ...]
    align: str
    rows: tuple[tuple[str, ...], ...]

    def text(self, most: int | None = None) -> list[str]:
        """Return the table as lines of text; of rows beyond `most` only the number is told."""
        shown = self.rows if most is None or len(self.rows) <= most + 1 else self.rows[:most]
        rest = len(self.rows) - len(shown)
        lines = [self.title, *text_table([self.head, *shown], self.align, "  ")]
        return [*lines, f"  … {rest:,} more with --json"] if rest else lines


def cost_tables(costs: Breakdown, score: Score) -> tuple[BreakdownTable, ...]:
    """Return the tables of a score: by component, by tensor, and by Einsum if there are several."""
    tables = [_by_component(costs, score), _by_tensor(costs, score)]
    if len(costs.einsums) > 1 or _idle(costs.einsums):
        tables.append(_by_einsum(costs, score))
    return tuple(table for table in tables if table.rows)


def _by_component(costs: Breakdown, score: Score) -> BreakdownTable:
    actions = list(dict.fromkeys(name for each in costs.components for name in each.actions))
    several = len(costs.einsums) > 1
    rows = tuple(
        (
            each.component,
            _energy(each.energy),
            _share(each.energy, score.energy),
            _leakage(each),
            with_unit(each.seconds, "s") if each.seconds else "",
            "" if not each.utilization else _percent(each.utilization),
            _limits(each, several),
            *(_calls(each.actions.get(name, 0)) for name in actions),
            "" if not each.peak_bits else with_unit(float(each.peak_bits), "bit"),
            "" if each.occupancy is None else _percent(each.occupancy),
        )
        for each in costs.components
    )
    time = ("busy", "of time", "limits")
    calls = map(_plural, actions)
    head = ("component", "energy", "share", "leakage", *time, *calls, "in use", "of size")
    return BreakdownTable("By component", head, f"<>>>>><{'>' * len(actions)}>>", rows)


def _by_tensor(costs: Breakdown, score: Score) -> BreakdownTable:
    columns = _columns(costs)
    rows = [
        (
            each.tensor,
            _energy(each.energy),
            _share(each.energy, score.energy),
            *(_calls(each.actions.get(c, {}).get(action, 0)) for c, action in columns),
        )
        for each in costs.tensors
    ]
    blank = ("",) * len(columns)
    for name, energy in (("(compute)", costs.compute_energy), ("(leakage)", costs.leak_energy)):
        if energy:
            rows.append((name, _energy(energy), _share(energy, score.energy), *blank))
    before = [None, *(component for component, _ in columns)]
    words = [
        _plural(action) if component == last else f"{component} {_plural(action)}"
        for (component, action), last in zip(columns, before, strict=False)
    ]
    head = ("tensor", "energy", "share", *words)
    return BreakdownTable("By tensor", head, "<" + ">" * (len(head) - 1), tuple(rows))


def _columns(costs: Breakdown) -> list[tuple[str, str]]:
    """Return (component, action) of each action that moves tensors, as the components have them.

    The outermost component comes first.
    """
    used = {
        (component, action): None
        for each in costs.tensors
        for component, calls in each.actions.items()
        for action, count in calls.items()
        if count
    }
    all_actions = [(each.component, action) for each in costs.components for action in each.actions]
    order = {pair: place for place, pair in enumerate(all_actions)}
    return sorted(used, key=lambda pair: order.get(pair, len(order)))


def _by_einsum(costs: Breakdown, score: Score) -> BreakdownTable:
    rows = tuple(
        (
            each.einsum,
            _energy(each.energy),
            _share(each.energy, score.energy),
            with_unit(each.latency, "s") if each.latency else "",
            _share(each.latency, score.latency) if score.is_timed else "",
            _names(each.limited_by),
            _lanes(each),
        )
        for each in costs.einsums
    )
    head = ("Einsum", "energy", "share", "time", "share", "limited by", "lanes in use")
    return BreakdownTable("By Einsum", head, "<>>>><<", rows)


def _idle(einsums: Sequence[EinsumCosts]) -> bool:
    return any(share < _FULL for each in einsums for share in each.lanes.values())


def _lanes(einsum: EinsumCosts) -> str:
    """Return as text the dimensions of which not all lanes are used, with the used share."""
    idle = [
        f"{name.replace('/', '.')} {_percent(share)}"
        for name, share in einsum.lanes.items()
        if share < _FULL
    ]
    return ", ".join(idle) or ("all" if einsum.lanes else "")


def _limits(component: ComponentCosts, several: bool) -> str:
    if not component.limits:
        return ""
    return _names(component.limits) if several else "yes"


def _names(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMES - 1])}, … ({len(names)})"


def _leakage(component: ComponentCosts) -> str:
    return with_unit(component.leak_energy, "J") if component.leak_energy else ""


def _energy(value: float) -> str:
    return with_unit(value, "J") if value else ""


def _share(value: float, total: float) -> str:
    return _percent(value / total) if total and value else ""


def _percent(share: float) -> str:
    """Return a share in per cent, to 0.1 % below 10 %."""
    percent = 100 * share
    if percent >= 9.95:
        return f"{percent:.0f} %"
    return f"{percent:.1f} %" if percent >= 0.05 else "< 0.1 %"


def _calls(count: int | Fraction) -> str:
    return shortened(float(count)) if count else ""


def _plural(action: str) -> str:
    return f"{action}s"
