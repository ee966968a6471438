"""The charts of a mapping's costs: stacked bars, and shaded tables by Einsum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tilewright.arch.quantities import with_unit
from tilewright.mapper.evaluation.breakdown import size_of

if TYPE_CHECKING:
    from tilewright.mapper.mapping.scored_mapping import ScoredMapping

Part = tuple[str, float]  # name, value


@dataclass(frozen=True, slots=True)
class StackedBar:
    """One bar of a chart: a total, divided into parts.

    `name`: its label; `shown`: the total with unit; `percent`: a share as text, maybe empty;
    `parts`: (kind, width in per cent of the chart, text); `offset`: per cent before the bar.
    """

    name: str
    shown: str
    percent: str
    parts: tuple[tuple[str, float, str], ...]
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Bars:
    """A chart of horizontal stacked bars.

    `title`; `kinds`: of the parts, in the order of their colours; `bars`: from top to bottom.
    """

    title: str
    kinds: tuple[str, ...]
    bars: tuple[StackedBar, ...]


@dataclass(frozen=True, slots=True)
class OccupancyGrid:
    """A table of numbers whose cells are shaded by size.

    `columns`: names; `rows`: (name, cells), a cell being (text, shade from 0 to 1).
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[str, float], ...]], ...]


def stacked(title: str, values: Mapping[str, Sequence[Part]], unit: str) -> Bars:
    """Return a chart of the bars whose total is above zero, the longest first and of full width.

    `values`: by bar the (kind, value in `unit`) of its parts. Bars in joule show their share of the
    total.
    """
    totals = {name: sum(value for _, value in parts) for name, parts in values.items()}
    nonzero_names = sorted((n for n in totals if totals[n] > 0), key=lambda n: (-totals[n], n))
    longest, everything = max(totals.values(), default=0.0), sum(totals.values())
    bars = tuple(
        StackedBar(
            name,
            with_unit(totals[name], unit),
            f"{100 * totals[name] / everything:.2g} %" if unit == "J" else "",
            _parts(name, values[name], longest, unit),
        )
        for name in nonzero_names
    )
    return Bars(title, tuple(sorted({kind for bar in bars for kind, _, _ in bar.parts})), bars)


def waterfall(chart: Bars) -> Bars:
    """Return a chart whose bars begin where the ones above end, and the last one at 100 %."""
    total = sum(width for bar in chart.bars for _, width, _ in bar.parts)
    scale, done, bars = 100 / total if total else 0.0, 0.0, []
    for bar in chart.bars:
        parts = tuple((kind, scale * width, text) for kind, width, text in bar.parts)
        bars.append(replace(bar, parts=parts, offset=done))
        done += sum(width for _, width, _ in parts)
    return replace(chart, bars=tuple(bars))


def _parts(
    name: str, values: Sequence[Part], longest: float, unit: str
) -> tuple[tuple[str, float, str], ...]:
    return tuple(
        (kind, 100 * value / longest, f"{name}, {kind}: {with_unit(value, unit)}")
        for kind, value in values
        if value > 0
    )


def memories(best: ScoredMapping) -> Bars:
    """Return a chart of how full each finite memory is at its fullest, in per cent."""
    rows = []
    for memory, bits in sorted(best.score.capacity.items()):
        size = size_of(best.score, memory)
        if size is None or not bits:
            continue
        used = 100 * float(bits) / size
        shown = with_unit(float(bits), "bit")
        told = f"{memory}: {shown} of {with_unit(size, 'bit')}"
        rows.append(StackedBar(memory, shown, f"{used:.3g} %", (("in use", used, told),)))
    return Bars("Memories when they are fullest", ("in use",), tuple(rows))


def _summed(values: Mapping[str, float], row: int, kind: int) -> dict[str, list[Part]]:
    """Sum values whose keys are parts between slashes; return {part `row`: [(part `kind`, sum)]}.

    Example: with row 0 and kind 2, `A/B/read` counts for A and read.
    """
    sums: dict[str, dict[str, float]] = {}
    for key, value in values.items():
        parts = key.split("/")
        of = sums.setdefault(parts[row], {})
        of[parts[kind]] = of.get(parts[kind], 0.0) + value
    return {name: sorted(of.items()) for name, of in sums.items()}


def _moved(energy: Mapping[str, float]) -> dict[str, float]:
    """Return the entries of tensors: neither leakage nor computing."""
    parts = {key: key.split("/") for key in energy}
    return {k: v for k, v in energy.items() if len(parts[k]) == 4 and parts[k][2] != "None"}


def cost_charts(best: ScoredMapping) -> list[Bars]:
    """Return where energy and time go, and how full the memories are."""
    score = best.score
    time: dict[str, list[Part]] = {}
    for key, value in score.latency_by.items():
        einsum, component = key.split("/")[:2]
        time.setdefault(component, []).append((einsum, value))
    return [
        waterfall(stacked("Energy by component", _summed(score.energy_by, 1, -1), "J")),
        stacked("Energy of moving each tensor", _summed(_moved(score.energy_by), 2, 1), "J"),
        stacked("Time each component needs, side by side", time, "s"),
        memories(best),
    ]


def einsum_grids(best: ScoredMapping) -> list[OccupancyGrid]:
    """Return tables by Einsum: energy, time and memory in use by component, and lanes in use."""
    score = best.score
    lanes = grid("Lanes in use", _cells(score.spatial_usage, 3), "%")
    if len({key.split("/")[0] for key in score.latency_by}) == 1:  # the bars say the rest
        return [lanes]
    order = tuple(score.area_by)
    return [
        grid("Energy by Einsum and component", _cells(score.energy_by, 2), "J", order),
        grid("Time each component needs", _cells(score.latency_by, 2), "s", order),
        grid("Room that each Einsum's tiles take", _cells(score.memory_usage, 2), "%", order),
        lanes,
    ]


def _cells(values: Mapping[str, float], depth: int) -> dict[tuple[str, str], float]:
    """Sum values by (Einsum, parts 1 to depth - 1 of their keys, joined by dots).

    Example: with depth 2, `Z/Buffer/A/read` counts for (Z, Buffer).
    """
    cells: dict[tuple[str, str], float] = {}
    for key, value in values.items():
        names = key.split("/")
        cell = names[0], ".".join(names[1:depth])
        cells[cell] = cells.get(cell, 0.0) + value
    return cells


def grid(
    title: str, cells: Mapping[tuple[str, str], float], unit: str, order: Sequence[str] = ()
) -> OccupancyGrid:
    """Return a shaded table of values by (row, column), without columns that are all zero.

    `unit`: of the values; with "%" they are fractions. Shades are relative to the greatest value,
    of fractions to 1. `order`: of the columns; others stay as they come, behind them.
    """
    used = dict.fromkeys(column for (_, column), value in cells.items() if value > 0)
    columns = tuple(name for name in dict.fromkeys((*order, *used)) if name in used)
    greatest = 1.0 if unit == "%" else max(cells.values(), default=0.0)
    rows = dict.fromkeys(row for row, _ in cells) if columns else {}
    return OccupancyGrid(
        title,
        columns,
        tuple(
            (row, tuple(_cell(cells.get((row, column), 0.0), greatest, unit) for column in columns))
            for row in rows
        ),
    )


def _cell(value: float, greatest: float, unit: str) -> tuple[str, float]:
    if value == 0:
        return "", 0.0
    shown = f"{100 * value:.3g} %" if unit == "%" else with_unit(value, unit)
    return shown, min(1.0, value / greatest)
