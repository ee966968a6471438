"""One HTML file that shows a mapping and what it costs, and opens without network."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.arch.flattening.arch_facts import arch_facts
from tilewright.arch.quantities import label, told_apart
from tilewright.dse.report.mapping.cost_charts import cost_charts, einsum_grids
from tilewright.dse.report.mapping.machine_table import machine_rows
from tilewright.dse.report.mapping.mapping_chart import HEIGHT, WIDTH, Chart, front_chart
from tilewright.dse.report.mapping.roofline import HEIGHT as ROOFLINE_HEIGHT
from tilewright.dse.report.mapping.roofline import roofline
from tilewright.dse.report.page import templates
from tilewright.dse.run.environment import version
from tilewright.dse.store.safe_files import write_atomically
from tilewright.mapper.evaluation.breakdown import breakdown
from tilewright.mapper.evaluation.breakdown_tables import cost_tables
from tilewright.mapper.evaluation.notebook import shown_total
from tilewright.mapper.mapping.mapping_file import dump_mapping
from tilewright.mapper.mapping.nest_lines import lines_of, nest_text
from tilewright.simulator.known.code_hash import code_hash

if TYPE_CHECKING:
    from tilewright.arch.spec.architecture import Arch
    from tilewright.dse.command.mapping_answer import MappingAnswer
    from tilewright.mapper.fronts.front import Front
    from tilewright.mapper.mapping.scored_mapping import ScoredMapping
    from tilewright.mapper.searches.result import SearchResult
    from tilewright.mapper.workload.workload import Workload


def _command() -> str:
    return shlex.join(["tilewright", *sys.argv[1:]])


@dataclass(frozen=True, slots=True)
class PageSubject:
    """What a page is about.

    `title`: workload and architecture in words; `arch`, `workload`: what is mapped, and where;
    `command`: the command line that asked, by default that of this process.
    """

    title: str
    arch: Arch
    workload: Workload
    command: str = field(default_factory=_command)


def write_page(path: Path, page: str) -> None:
    """Write a page as a whole or not at all; OSError if it cannot be written."""
    write_atomically(path, page)


def mapping_page(arch: Arch, workload: Workload, result: SearchResult) -> str:
    """Return the HTML page on the result of a search, as `tilewright map --html` writes it.

    `arch`, `workload`: what was searched.
    """
    from tilewright.dse.command.mapping_answer import MappingAnswer

    objective = result.certificate.objective
    title = f"{', '.join(einsum.name for einsum in workload.einsums[:6])} on {arch!r}"
    subject = PageSubject(title.replace("<", "").replace(">", ""), arch, workload, "")
    return render_mapping(MappingAnswer(result, objective, 0.0, workload), subject)


def render_mapping(answer: MappingAnswer, subject: PageSubject) -> str:
    """Return the HTML page on the answer of a search for a mapping."""
    result = answer.result
    searched = {
        "objective": answer.objective,
        "proof": result.certificate,
        "point": answer.point,
        "seconds": answer.seconds,
        "statistics": result.statistics,
        "on_chip": result.on_chip if answer.point is None else (),
        "front": None if result.front_proof is None else _front(answer, subject.workload),
        "front_proof": result.front_proof,
        "notes": result.notes,
    }
    return _render(answer.shown, subject, searched)


def render_score(scored: ScoredMapping, subject: PageSubject) -> str:
    """Return the HTML page on a mapping and its score."""
    nothing = dict.fromkeys(("proof", "objective", "point", "front", "front_proof"))
    return _render(scored, subject, {**nothing, "on_chip": (), "notes": scored.score.notes})


def _render(scored: ScoredMapping, subject: PageSubject, searched: dict[str, Any]) -> str:
    score, facts = scored.score, arch_facts(subject.arch)
    context = {
        "subject": subject.title,
        "command": subject.command,
        "cards": [
            (label(name), shown_total(score, name)) for name in ("energy", "latency", "edp", "area")
        ],
        "verified": score.verified,
        "nest": shown_nest(scored, subject.workload),
        "machine": machine_rows(score, facts),
        "roofline": roofline(score, facts),
        "charts": [chart for chart in cost_charts(scored) if chart.bars],
        "grids": [grid for grid in einsum_grids(scored) if grid.rows],
        "tables": cost_tables(breakdown(score), score),
        "file": dump_mapping(scored.mapping),
        "version": version(),
        "code": code_hash(),
        "width": WIDTH,
        "height": HEIGHT,
        "roofline_height": ROOFLINE_HEIGHT,
    }
    return templates().get_template("mapping.html").render({**context, **searched})


def shown_nest(scored: ScoredMapping, workload: Workload) -> list[tuple[str, str]]:
    """Return the loop nest of a mapping as lines, each with the kind of node that it shows."""
    lines = lines_of(scored.mapping, workload, scored.score)
    return list(zip(nest_text(lines).splitlines(), (line.kind for line in lines), strict=True))


def _front(answer: MappingAnswer, workload: Workload) -> dict[str, Any]:
    """Return the front: its chart, and a row per mapping."""
    front, words = answer.result.front, answer.result.front.landmarks()
    columns = [told_apart([p.score.metric(name) for p in front], name) for name in front.metrics]
    rows = [
        {
            "values": [column[number] for column in columns],
            "nest": shown_nest(scored, workload),
            "best": scored.mapping == answer.shown.mapping,
            "words": words.get(number, ""),
        }
        for number, scored in enumerate(front)
    ]
    return {
        "metrics": [label(name) for name in front.metrics],
        "rows": rows,
        "chart": front_of(front),
    }


def front_of(front: Front) -> Chart | None:
    """Return the chart of a front: two metrics that differ among its points, a third as colour."""
    values = {name: [point.score.metric(name) for point in front] for name in front.metrics}
    if min(len(values), len(front)) < 2:
        return None
    varying = [name for name in values if len(set(values[name])) > 1]
    x, y = [*varying, *(name for name in values if name not in varying)][:2]
    points = list(zip(values[x], values[y], strict=True))
    third = varying[2] if len(varying) > 2 else None
    return front_chart(points, x, y, (third, _shades(values[third])) if third else None)


def _shades(values: Sequence[float]) -> list[float]:
    """Return values as shares, 0 for the least and 1 for the greatest."""
    least, greatest = min(values), max(values)
    return [(value - least) / (greatest - least) for value in values]
