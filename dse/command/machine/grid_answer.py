"""The answer of `tilewright map --machine`: mappings found by executing them on the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.arch.errors import TilewrightError
from tilewright.arch.parallel_compilation import compile_first, processors
from tilewright.arch.quantities import label, quantity, some
from tilewright.dse.command.console import given_option
from tilewright.dse.command.machine.prediction_answer import least_lines, prediction_document
from tilewright.dse.report.details import MAX_LANES
from tilewright.dse.report.execution_page import (
    execution_lines,
    page_of,
    page_of_mapping,
    whole_document,
    write_execution_page,
)
from tilewright.mapper.searches.restrictions import names_of, scope_text
from tilewright.mapper.searches.result import Progress, gap_text
from tilewright.mapper.searches.shared.hit_counts import SIMULATIONS

if TYPE_CHECKING:
    from tilewright.arch.spec.architecture import Arch
    from tilewright.mapper.mapping.nest_lines import NestLine
    from tilewright.mapper.workload.workload import Workload
    from tilewright.simulator.search.grid_mapping import GridMapping, GridRequest

_OF_THE_MODEL = {"uneven": None, "max_memory": None, "method": "exact", "conventions": "default",
                 "what_if": None}  # fmt: skip
"""Options of a search by the model that a search on the machine has not, and their defaults."""


def check_options(options: Mapping[str, Any]) -> None:
    """Raise TilewrightError for an option that a search on the machine has not."""
    if (given := given_option(options, _OF_THE_MODEL)) is not None:
        raise TilewrightError(
            f"{given} is an option of searches by the model",
            instead="--machine without it, or the search without --machine",
        )


def check_workload(arch: Arch, workload: Workload, options: Mapping[str, Any]) -> None:
    """Raise TilewrightError if the elements of a grid do not compute an Einsum that is asked for.

    A search says the same, but only when the engine is compiled. `options`: those of
    `tilewright map`.
    """
    from tilewright.simulator.search.grid_mapping import grid_paths

    grid_paths(arch, _chosen(workload, options))


def _chosen(workload: Workload, options: Mapping[str, Any]) -> Workload:
    """Return the workload with the Einsum alone that is asked for, or with all."""
    if options.get("einsum") is None:
        return workload
    return replace(workload, einsums=(workload.einsum(options["einsum"]),))


def compile_engine(tell: Callable[[Progress], None]) -> None:
    """Compile the engines, as far as they are not on disk: no part of a search, or its budget.

    `tell`: gets what is done, if anything is.
    """
    from tilewright.simulator.search.search_kernels import search_kernels

    state = Progress("compiling the engine, once on a computer", inf, 0.0)
    compile_first(search_kernels(), lambda: tell(state))


@dataclass(frozen=True, slots=True)
class GridAnswer:
    """The best mappings of a workload on a grid, as text, JSON, mapping file and page.

    `answer`: mappings, execution and certificate; `objective`: what was minimized;
    `known_executions`: number of executions whose cycles earlier searches of this user had found.
    """

    answer: GridMapping
    objective: str
    known_executions: int = 0

    @property
    def notes(self) -> tuple[str, str]:
        """What the search has shown, and within which restrictions: lines of the page."""
        scope = scope_text(self.answer.certificate.restrictions)
        return f"The search: {self._search()}.", f"Restrictions: {scope}."

    def text(self) -> str:
        """Return the answer for the terminal: mapping, execution, certificates."""
        from tilewright.mapper.mapping.nest_lines import nest_text

        certificate, run = self.answer.certificate, self.answer.run
        shown = execution_lines(run) if run is not None else self._without_run()
        lines = [nest_text(self._nest()), "", *shown, ""]
        reused = (
            f"; {some(self.known_executions, 'execution')} known from before"
            if self.known_executions
            else ""
        )
        lines.append(f"{self._search()} ({self.answer.seconds:.1f} s{reused})")
        lines.append(f"  restrictions: {scope_text(certificate.restrictions)}")
        lines += [
            f"  {number:,} cannot be built: {reason}" for reason, number in certificate.reasons
        ]
        return "\n".join(lines)

    def _search(self) -> str:
        """Say what the search has shown of the answer, and how far it may be from the best one."""
        certificate = self.answer.certificate
        if certificate.is_optimal:
            return str(certificate)
        if self.answer.value == inf:
            return f"not executed; in the search: {certificate.work}"
        return f"{certificate}, gap {gap_text(self.answer.gap)}"

    def _nest(self) -> Sequence[NestLine]:
        """Return the mapping as the lines of a loop nest, with the sizes that elements compute.

        These include padding, so that tiles divide them.
        """
        from tilewright.mapper.mapping.nest_lines import nest_lines

        return nest_lines(self.answer.mapping.nodes, self.answer.bounds)

    def _without_run(self) -> list[str]:
        """Return the lines on a mapping that was not executed: why, and what it costs at least."""
        prediction = self.answer.prediction
        least = least_lines(prediction) if prediction is not None else []
        return [f"{self._not_executed()}.", *least, *self._small_runs()]

    def _small_runs(self) -> list[str]:
        """Return the lines on the same mapping where fewer elements executed it on numbers."""
        return [
            f"  {name} on {run.plan.read.columns} x {run.plan.read.rows} elements with the same "
            f"tiles: executed, equals numpy, {run.cycles:,} cycles (at least "
            f"{run.lower_bound_cycles:,})"
            for name, run in self.answer.small_runs.items()
        ]

    def _too_long(self) -> str:
        """Say that a run of the mapping would take too long, and what is known of it."""
        prediction, name = self.answer.prediction, label(self.objective)
        value, bound = (
            quantity(each, self.objective)
            for each in (self.answer.value, self.answer.certificate.bound)
        )
        why = "Not run, for that would take more than 20 minutes on so many elements"
        if self.answer.value == inf:
            return f"{why}: no mapping has less {name} than {bound}; no upper bound is known"
        if prediction is None or prediction.cycles_at_most is None:
            return f"{why}: {name} {value}, by the pattern of the grid"
        least, most = prediction.lower_bound_cycles, prediction.cycles_at_most
        return f"{why}: between {least:,} and {most:,} cycles, {name} at most {value}"

    def _not_executed(self) -> str:
        """Say that the budget was over too soon, what is known nevertheless, and what to write."""
        if self.answer.is_too_long:
            return self._too_long()
        value, bound = (
            quantity(each, self.objective)
            for each in (self.answer.value, self.answer.certificate.bound)
        )
        what = f"{label(self.objective)} {value}, simulated without numbers"
        if self.answer.value == inf:
            what = f"no mapping has less {label(self.objective)} than {bound}"
        return (
            f"Not executed, for the budget was over: {what}. Write a larger --budget, or "
            "--save FILE and `tilewright execute` with --mapping FILE"
        )

    def _cards(self) -> tuple[tuple[str, str], ...]:
        """Return what is known of a mapping that was not executed, by name."""
        name = label(self.objective)
        bound = quantity(self.answer.certificate.bound, self.objective)
        cards: tuple[tuple[str, str], ...] = ((f"No mapping has less {name} than", bound),)
        if (least := self.answer.prediction) is not None:
            cards += (("Cycles of this one, at least", f"{least.lower_bound_cycles:,}"),)
            if least.cycles_at_most is not None:
                cards += (("Its cycles, at most", f"{least.cycles_at_most:,}"),)
            cards += (("Its energy, exact but for leakage", quantity(least.energy, "energy")),)
        if self.answer.value == inf:
            return cards
        value = quantity(self.answer.value, self.objective)
        how = "at most" if self.answer.is_too_long else "simulated without numbers"
        return ((f"{name.capitalize()}, {how}", value), *cards)

    def document(self) -> dict[str, Any]:
        """Return the answer as JSON data."""
        certificate = self.answer.certificate
        search = {
            "kind": "optimal" if certificate.is_optimal else "bounded",
            "value": self.answer.value if self.answer.value < inf else None,
            "lower_bound": certificate.bound,
            "gap": self.answer.gap if self.answer.gap < inf else None,
            "executed": certificate.executed,
            "known": self.known_executions,
            "timed": certificate.timed,
            "enclosed": certificate.enclosed,
            "excluded": certificate.excluded,
            "infeasible": certificate.infeasible,
            "restrictions": names_of(certificate.restrictions),
            "seconds": self.answer.seconds,
        }
        return {
            "objective": self.objective,
            "is_executed": self.answer.run is not None,
            **(whole_document(self.answer.run) if self.answer.run is not None else {}),
            "is_too_long": self.answer.is_too_long,
            **self._prediction(),
            "small_runs": {
                name: {"elements": run.elements, "cycles": run.cycles}
                for name, run in self.answer.small_runs.items()
            },
            "search": search,
            "mapping": self.mapping_file(),
        }

    def _prediction(self) -> dict[str, Any]:
        prediction = self.answer.prediction
        return {} if prediction is None else {"prediction": prediction_document(prediction)}

    def mapping_file(self) -> str:
        """Return the mapping as the text of a file that `execute` and `evaluate` take."""
        from tilewright.mapper.mapping.mapping_file import dump_mapping

        return dump_mapping(self.answer.mapping)

    def write_page(self, path: Path, subject: str) -> None:
        """Write the page on the answer; raises OSError if it cannot be written."""
        if self.answer.run is not None:
            page = page_of(self.answer.run, subject, self.notes)
        else:
            reason = f"{self._not_executed()}. {' '.join(self._small_runs())}"
            page = page_of_mapping(self._nest(), subject, reason, self._cards(), self.notes)
        write_execution_page(path, page)


def request_of(machine: str, options: Mapping[str, Any]) -> GridRequest:
    """Return what is asked of searches on the machine, whatever the objective."""
    from tilewright.simulator.execution.einsum_execution import ExecutionSettings
    from tilewright.simulator.known.content_store import known_answers
    from tilewright.simulator.search.grid_mapping import GridRequest

    settings = ExecutionSettings(
        machine=machine,
        shown_elements=MAX_LANES if options.get("html") else 0,
        threads=processors(),
        known=known_answers(),
    )
    exchanges = options.get("fusion", True)
    return GridRequest(exchanges=exchanges, settings=settings, budget_s=options.get("budget"))


def find_on_machine(
    arch: Arch,
    workload: Workload,
    machine: str,
    options: Mapping[str, Any],
    on_progress: Callable[[Progress], None] | None = None,
) -> GridAnswer:
    """Search the best mapping of each Einsum on a grid, with the machine in the loop.

    `options`: those of `tilewright map`; with "html" the answer has a timeline for a page. Raises
    TilewrightError for one that such a search has not, NoFeasibleMapping if an Einsum fits no
    element.
    """
    from tilewright.simulator.search.grid_mapping import map_on_grid

    if options.get("point") is not None:
        raise TilewrightError(
            "there is no front",
            value=f"--point {options['point']}",
            instead="--front latency,energy beside it",
        )
    if options["objective"] not in ("latency", "energy", "edp"):
        raise TilewrightError(
            "on the machine there are three objectives",
            value=options["objective"],
            instead="--objective latency, energy or edp",
        )
    workload = _chosen(workload, options)
    request = replace(request_of(machine, options), objective=options["objective"])

    def tell(candidates: int, value: float, bound: float) -> None:
        doing = some(candidates, "candidate") if candidates else "a first candidate runs"
        if on_progress is not None:
            on_progress(Progress(doing, value, bound))

    if on_progress is not None:
        on_progress(Progress("bounding all mappings", inf, 0.0))
    before = SIMULATIONS.shared
    answer = map_on_grid(arch, workload, request, tell)
    return GridAnswer(answer, options["objective"], SIMULATIONS.shared - before)
