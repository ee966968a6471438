"""mapping.html: one file that shows the answer of `tilewright map` and opens without network."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.arch.quantities import label, quantity, with_unit
from tilewright.dse.report.mapping_chart import HEIGHT, WIDTH, Chart, front_chart
from tilewright.dse.report.page import templates
from tilewright.dse.run.environment import code_hash, version
from tilewright.dse.run.rundir import write_atomically
from tilewright.mapper.evaluation.breakdown import size_of
from tilewright.mapper.mapping.nest_lines import lines_of, nest_text

if TYPE_CHECKING:
    from tilewright.dse.command.mapping_answer import MappingAnswer
    from tilewright.mapper.searches.result import ScoredMapping
    from tilewright.mapper.workload.workload import Workload

Names = tuple[str, ...]
Part = tuple[str, float]  # name, value


@dataclass(frozen=True, slots=True)
class StackedBar:
    """One bar of a chart: a total, divided into parts.

    `name`: its label; `shown`: the total with unit; `percent`: a share as text, maybe empty;
    `parts`: (kind, width in per cent of the chart, text).
    """

    name: str
    shown: str
    percent: str
    parts: tuple[tuple[str, float, str], ...]


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


def write_page(path: Path, answer: MappingAnswer, subject: str) -> None:
    """Write the HTML page on the answer of a search for a mapping.

    `subject`: workload and architecture in words. Raises OSError if it cannot be written.
    """
    command = shlex.join(["tilewright", *sys.argv[1:]])
    write_atomically(path, render_mapping(answer, subject, command))


def render_mapping(answer: MappingAnswer, subject: str, command: str) -> str:
    """Return the HTML page on the answer of a search for a mapping.

    `subject`: workload and architecture in words; `command`: the command line that asked.
    """
    return templates().get_template("mapping.html").render(_context(answer, subject, command))


def _context(answer: MappingAnswer, subject: str, command: str) -> dict[str, Any]:
    result = answer.result
    score = result.best.score
    return {
        "subject": subject,
        "command": command,
        "objective": answer.objective,
        "best": score,
        "proof": result.certificate,
        "seconds": answer.seconds,
        "statistics": result.statistics,
        "notes": result.notes,
        "on_chip": result.on_chip,
        "nest": shown_nest(result.best, answer.workload),
        "charts": [chart for chart in _charts(result.best) if chart.bars],
        "grids": [grid for grid in _grids(result.best) if grid.rows],
        "front": _front(answer),
        "front_proof": result.front_proof,
        "file": answer.mapping_file(),
        "version": version(),
        "code": code_hash(),
        "width": WIDTH,
        "height": HEIGHT,
    }


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


def shown_nest(scored: ScoredMapping, workload: Workload) -> list[tuple[str, str]]:
    """Return the loop nest of a mapping as lines, each with the kind of node that it shows."""
    lines = lines_of(scored.mapping, workload, scored.score)
    return list(zip(nest_text(lines).splitlines(), (line.kind for line in lines), strict=True))


def _summed(values: Mapping[str, float], row: int, kind: int) -> dict[str, list[Part]]:
    """Sum values by one part of their keys, then by another."""
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


def _charts(best: ScoredMapping) -> list[Bars]:
    """Return where energy and time go, and how full the memories are."""
    score = best.score
    time: dict[str, list[Part]] = {}
    for key, value in score.latency_by.items():
        einsum, component = key.split("/")[:2]
        time.setdefault(component, []).append((einsum, value))
    return [
        stacked("Energy by component", _summed(score.energy_by, 1, -1), "J"),
        stacked("Energy of moving each tensor", _summed(_moved(score.energy_by), 2, 1), "J"),
        stacked("Time each component needs, side by side", time, "s"),
        memories(best),
    ]


def _grids(best: ScoredMapping) -> list[OccupancyGrid]:
    """Return what differs by Einsum: energy, time and room by component, lanes in use."""
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
    """Sum values by Einsum and by the next parts of the key, `depth` with the Einsum."""
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


def _front(answer: MappingAnswer) -> dict[str, Any] | None:
    """Return the front: its chart over the first two metrics, and a row per mapping."""
    proof = answer.result.front_proof
    if proof is None:
        return None
    rows = [
        {
            "values": [_metric(scored.score.metric(name), name) for name in proof.metrics],
            "nest": shown_nest(scored, answer.workload),
            "best": scored.mapping == answer.result.best.mapping,
        }
        for scored in answer.result.front
    ]
    return {
        "metrics": [label(name) for name in proof.metrics],
        "rows": rows,
        "chart": _chart(answer.result.front, proof.metrics),
    }


def _chart(front: Sequence[ScoredMapping], metrics: Sequence[str]) -> Chart | None:
    if len(metrics) < 2 or len(front) < 2:
        return None
    x, y = metrics[:2]
    points = [(scored.score.metric(x), scored.score.metric(y)) for scored in front]
    return front_chart(points, x, y)


def _metric(value: float, name: str) -> str:
    return with_unit(value, "bit") if name.startswith("usage.") else quantity(value, name)
