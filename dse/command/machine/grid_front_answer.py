"""The answer of `tilewright map --machine --front`: a Pareto set of executed mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.arch.errors import TilewrightError
from tilewright.arch.quantities import quantity, some
from tilewright.arch.text_table import text_table
from tilewright.dse.command.machine.grid_answer import einsum_of
from tilewright.dse.report.details import MAX_LANES
from tilewright.dse.report.execution_page import (
    execution_lines,
    page_of,
    whole_document,
    write_execution_page,
)
from tilewright.mapper.searches.restrictions import names_of, scope_text
from tilewright.mapper.searches.result import Progress

if TYPE_CHECKING:
    from tilewright.arch.spec.architecture import Arch
    from tilewright.mapper.workload.workload import Workload
    from tilewright.simulator.execution.einsum_execution import EinsumExecution
    from tilewright.simulator.execution.execution import Execution
    from tilewright.simulator.search.grid_front import GridFront


@dataclass(frozen=True, slots=True)
class GridFrontAnswer:
    """The Pareto set of one Einsum on a grid, as text, JSON, mapping file and page.

    `front`: the executed mappings; `point`: number of the one that is shown and saved. `limit`:
    most points of the table.
    """

    front: GridFront
    point: int
    limit: int

    @property
    def shown(self) -> EinsumExecution:
        """The execution that is shown and saved."""
        return self.front.points[self.point]

    @property
    def execution(self) -> Execution:
        """The execution that is shown, as that of a workload."""
        from tilewright.simulator.execution.execution import Execution

        return Execution((self.shown,), (), dict(self.shown.operands))

    def text(self) -> str:
        """Return the answer for the terminal."""
        front, shown = self.front, self.front.points[: self.limit]
        left_out = len(front.points) - len(shown)
        more = [f"  … {left_out:,} more with --limit {len(front.points)}, or --json"]
        return "\n".join([
            str(self.shown.plan.read.mapping),
            "",
            *execution_lines(self.execution),
            "",
            f"point {self.point} of the front:",
            *text_table(self._table(shown), ">" * (3 + len(front.metrics)) + "<", "  "),
            *(more if left_out else []),
            f"{some(len(front.points), 'mapping')}, executed: {front.certificate}",
            f"  restrictions: {scope_text(front.certificate.restrictions)}",
            f"searched in {front.seconds:.3g} s",
        ])  # fmt: skip

    def _table(self, points: tuple[EinsumExecution, ...]) -> list[list[str]]:
        from tilewright.simulator.search.grid_front import metrics_of

        rows = [["", "cycles", *self.front.metrics, "elements", "reduction"]]
        for number, run in enumerate(points):
            values = metrics_of(run, self.front.metrics)
            texts = [
                quantity(value, "usage.SRAM" if name == "usage" else name)
                for value, name in zip(values, self.front.metrics, strict=True)
            ]
            rows.append([str(number), f"{run.cycles:,}", *texts, str(run.elements),
                         run.plan.read.reduction])  # fmt: skip
        return rows

    def document(self) -> dict[str, Any]:
        """Return the answer as JSON data."""
        from tilewright.mapper.mapping.mapping_file import dump_mapping
        from tilewright.simulator.search.grid_front import metrics_of

        certificate = self.front.certificate
        names = self.front.metrics
        return {
            **whole_document(self.execution),
            "point": self.point,
            "front": [
                {
                    "cycles": run.cycles,
                    **dict(zip(names, metrics_of(run, names), strict=True)),
                    "mapping": dump_mapping(run.plan.read.mapping),
                }
                for run in self.front.points
            ],
            "search": {
                "complete": certificate.is_complete,
                "executed": certificate.executed,
                "excluded": certificate.excluded,
                "left": certificate.undecided,
                "infeasible": certificate.infeasible,
                "restrictions": names_of(certificate.restrictions),
                "seconds": self.front.seconds,
            },
            "mapping": self.mapping_file(),
        }

    def mapping_file(self) -> str:
        """Return the mapping that is shown as the text of a mapping file."""
        from tilewright.mapper.mapping.mapping_file import dump_mapping

        return dump_mapping(self.shown.plan.read.mapping)

    def write_page(self, path: Path, subject: str) -> None:
        """Write the page on the execution shown; raises OSError if it cannot be written."""
        certificates = {self.shown.name: str(self.front.certificate)}
        write_execution_page(path, page_of(self.execution, subject, certificates))


def find_front_on_machine(
    arch: Arch,
    workload: Workload,
    machine: str,
    options: Mapping[str, Any],
    on_progress: Callable[[Progress], None] | None = None,
) -> GridFrontAnswer:
    """Search the Pareto set of one Einsum on a grid, with the machine in the loop.

    `options`: those of `tilewright map`; with "html" the points have timelines for a page. Raises
    TilewrightError for a metric or an Einsum that there is not, NoFeasibleMapping if nothing fits
    an element.
    """
    from tilewright.simulator.execution.einsum_execution import ExecutionSettings
    from tilewright.simulator.execution.execution import grid_path
    from tilewright.simulator.known.content_store import known_answers
    from tilewright.simulator.search.grid_front import METRICS, GridFrontSearch

    metrics = tuple(options["front"])
    _check_metrics(metrics, METRICS)
    einsum = einsum_of(workload, options.get("einsum"))

    def tell(executed: int, points: int) -> None:
        if on_progress is not None:
            on_progress(Progress(f"{executed} executed, {some(points, 'point')}", inf, 0.0))

    search = GridFrontSearch(
        metrics=metrics,
        settings=ExecutionSettings(
            machine=machine,
            shown_elements=MAX_LANES if options.get("html") else 0,
            known=known_answers(),
        ),
        budget_s=options.get("budget"),
        on_progress=tell,
    )
    front = search.run(grid_path(arch, workload, einsum), einsum)
    point = options.get("point") or 0
    if point >= len(front.points):
        raise TilewrightError("the front has no such point", value=f"--point {point}",
                              instead=f"0 to {len(front.points) - 1}")  # fmt: skip
    return GridFrontAnswer(front, point, options["limit"])


def _check_metrics(metrics: Sequence[str], allowed: Sequence[str]) -> None:
    """Raise TilewrightError unless `metrics` are two or more different ones of those known."""
    distinct = set(metrics)
    if len(metrics) < 2 or len(distinct) < len(metrics) or not distinct <= set(allowed):
        raise TilewrightError(
            "a front on the machine is over two or three metrics",
            value=",".join(metrics),
            instead=f"some of {', '.join(allowed)}",
        )
