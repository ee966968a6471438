"""What a path through the options of a workload's Einsums gives: mapping, results, certificate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping as Dict
from collections.abc import Sequence
from functools import partial

from tilewright.mapper.grid.grid_mapspace import GridChoice
from tilewright.mapper.mapping.mapping import Mapping, Sequential
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.workload.errors import NoFeasibleMapping, Refusal
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.execution.drawn_operands import WrongResult
from tilewright.simulator.execution.einsum_execution import EinsumExecution
from tilewright.simulator.execution.execution import Execution
from tilewright.simulator.search.candidate_search import CandidateSearch
from tilewright.simulator.search.candidates.candidate_runs import run_until
from tilewright.simulator.search.candidates.small_runs import small_run
from tilewright.simulator.search.cascade_search import Cascade
from tilewright.simulator.search.grid_certificate import (
    GridCertificate,
    GridObjective,
    frequent_reasons,
    objective_value,
    restrictions_of,
)
from tilewright.simulator.search.grid_search import GridSearchResult, no_mapping
from tilewright.simulator.search.paths.path_graph import OptionPath


def mapping_of_path(path: OptionPath) -> Mapping:
    """Return one mapping whose branches are those of the best candidate of each Einsum."""
    return in_sequence([s.candidates.space.mapping_of(choice_of(s)) for s in path.searches])


def in_sequence(mappings: Sequence[Mapping]) -> Mapping:
    """Return one mapping whose branches are those of each Einsum."""
    if len(mappings) == 1:
        return mappings[0]
    return Mapping((Sequential(tuple(mapping.nodes for mapping in mappings)),))


def choice_of(search: CandidateSearch) -> GridChoice:
    """Return the best candidate of a search; before the first run, that with the least bound."""
    choice = search.choice or search.best_bounded()
    assert choice is not None
    return choice


def bounds_of(path: OptionPath) -> dict[str, Dict[str, int]]:
    """Return by Einsum the sizes of its ranks that the elements compute, with padding."""
    einsums = (s.candidates.read(choice_of(s)).einsum for s in path.searches)
    return {einsum.name: einsum.bounds for einsum in einsums}


def small_runs_of(path: OptionPath, end: Budget) -> dict[str, EinsumExecution]:
    """Return executions on fewer elements of the Einsums whose run would take too long."""
    runs = {
        search.candidates.space.einsum.name: run_until(
            end, partial(small_run, search.candidates, choice_of(search))
        )
        for search in path.searches
        if search.is_too_long
    }
    return {name: run for name, run in runs.items() if run is not None}


def results_of(
    path: OptionPath, execution: Execution, objective: GridObjective, seconds: float
) -> dict[str, GridSearchResult]:
    """Return the result of each Einsum's search, by the name of the Einsum."""
    runs = zip(execution.einsums, path.searches, strict=True)
    return {run.name: _result(search, run, objective, seconds) for run, search in runs}


def _result(
    search: CandidateSearch, run: EinsumExecution, objective: GridObjective, seconds: float
) -> GridSearchResult:
    """Return the certificate of an Einsum's search, with its run in the whole execution.

    Raises WrongResult if the run takes other cycles than followed from the pattern.
    """
    reached = objective_value(objective, run.latency, run.energy)
    if not search.has_run and reached != search.value:
        raise WrongResult(
            f"{run.name} was timed by its pattern at {search.value}, but its run gives {reached}: "
            "please report this"
        )
    return GridSearchResult(run, search.value, search.certificate(), seconds)


def certificate_of(cascade: Cascade, path: OptionPath, bound: float) -> GridCertificate:
    searches, reasons = cascade.searches, _reasons(cascade.searches)
    spaces = [option.candidates.space for options in cascade.options for option in options]
    are_timed = sum(not s.has_run for s in path.searches if s.choice and not s.is_too_long)
    return GridCertificate(
        executed=sum(s.executed for s in searches) + are_timed,
        timed=sum(search.timed for search in searches),
        enclosed=sum(search.enclosed for search in searches),
        excluded=cascade.undecided,
        infeasible=sum(reasons.values()),
        reasons=frequent_reasons(reasons),
        bound=min(bound, path.value),
        is_optimal=bound >= path.value,
        is_whole=cascade.is_whole,
        restrictions=restrictions_of(
            spaces,
            len(cascade.options),
            all_divisions=cascade.has_room_for_all
            and all(search.has_all_divisions for search in path.searches),
        ),
    )


def _reasons(searches: Sequence[CandidateSearch]) -> Counter[Refusal]:
    """Return how many candidates of some searches cannot be built, by reason."""
    reasons = sum((search.reasons for search in searches), Counter[Refusal]())
    for candidates in {id(s.candidates): s.candidates for s in searches}.values():
        reasons += candidates.infeasible
    return reasons


def no_path(cascade: Cascade) -> NoFeasibleMapping:
    """Return the error for the first Einsum of which no mapping can be built, or for all of them.

    Where persistent tensors share the memory, each Einsum may have mappings that fit alone.
    """
    is_shared = cascade.space.is_shared
    for einsum, options in zip(cascade.workload.einsums, cascade.options, strict=True):
        searches = [search for option in options for search in option.searches.values()]
        if not options or (not is_shared and all(search.choice is None for search in searches)):
            reasons = sum((search.reasons for search in searches), Counter[Refusal]())
            return no_mapping(einsum, reasons + cascade.infeasible[einsum.name])
    return _too_many_persistent(cascade.workload)


def _too_many_persistent(workload: Workload) -> NoFeasibleMapping:
    """Return the error for persistent tensors that do not fit an element together."""
    accesses = (access for einsum in workload.einsums for access in einsum.inputs)
    return NoFeasibleMapping(
        "the persistent tensors of all Einsums do not fit an element together",
        value=", ".join(sorted({access.tensor for access in accesses if access.persistent})),
        instead="fewer of them in persistent_tensors, smaller sizes, or more elements",
    )
