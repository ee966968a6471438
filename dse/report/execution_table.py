"""The table of an execution's programs: which Einsum takes the cycles and the energy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.arch.quantities import quantity
from tilewright.arch.text_table import text_table

if TYPE_CHECKING:
    from tilewright.simulator.exchanges.exchange_execution import ExchangeExecution
    from tilewright.simulator.execution.einsum_execution import EinsumExecution
    from tilewright.simulator.execution.execution import Execution
    from tilewright.simulator.execution.pipeline_execution import PipelineExecution

HEAD = ("program", "cycles", "share", "lower bound", "energy", "share")
_ALIGN = "<>>>>>"


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """One program of an execution: the texts of its cells, and the section that it belongs to.

    `cells`: as in `HEAD`; `section`: the Einsum or pipeline, as the page's sections are headed.
    """

    cells: tuple[str, ...]
    section: str


def program_rows(execution: Execution) -> list[ProgramRow]:
    """Return a row for each program in the order of their runs; none where only one ran."""
    if len(execution.runs) < 2:
        return []
    return [_row(execution, *named) for named in _in_order(execution)]


def program_lines(execution: Execution) -> list[str]:
    """Return the table for the terminal, behind an empty line; no line where one program ran."""
    rows = program_rows(execution)
    return ["", *text_table([HEAD, *(row.cells for row in rows)], _ALIGN)] if rows else []


def _in_order(execution: Execution) -> Iterator[tuple[str, str, _Run]]:
    """Yield each program with its name and its section; exchanges before the Einsum they feed."""
    for run in execution.computed:
        for done in execution.exchanges:
            if done.einsum in run.name.split("+"):
                yield f"{done.exchange.tensor}, {done.kind} for {done.einsum}", run.name, done
        yield run.name, run.name, run


def _row(execution: Execution, name: str, section: str, run: _Run) -> ProgramRow:
    cells = (
        name,
        f"{run.cycles:,}",
        _share(run.cycles, execution.cycles),
        f"{run.lower_bound_cycles:,}",
        quantity(run.energy, "energy"),
        _share(run.energy, execution.energy),
    )
    return ProgramRow(cells, section)


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else ""


if TYPE_CHECKING:
    _Run = EinsumExecution | PipelineExecution | ExchangeExecution
