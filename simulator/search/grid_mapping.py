"""The best mapping of a workload on a grid, found with the machine in the loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Mapping as Dict
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

from tilewright.arch.compiled import rare_collections
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.parallel_compilation import compile_first
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.grid.grid import check_host, grid_of
from tilewright.mapper.grid.grid_constraints import NO_CONSTRAINTS, GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.searches.budget import UNLIMITED, Budget, budget_from
from tilewright.mapper.searches.limits.watch import LATE
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.execution.einsum_execution import EinsumExecution, ExecutionSettings
from tilewright.simulator.execution.execution import Execution, execute
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.execution.prediction import Prediction, predict_execution
from tilewright.simulator.execution.values.einsum_data import EinsumData
from tilewright.simulator.isa.machine_errors import RunStoppedError
from tilewright.simulator.known.search_answers import SearchAnswers
from tilewright.simulator.lowering.addresses import LeftTensors
from tilewright.simulator.search.candidates.candidate_runs import (
    BOUNDING_SHARE,
    budget_of_answer,
    budget_of_runs,
    run_until,
)
from tilewright.simulator.search.candidates.candidates import Candidates, check_computed
from tilewright.simulator.search.cascade_search import Cascade
from tilewright.simulator.search.grid_certificate import GridCertificate, GridObjective, NotExecuted
from tilewright.simulator.search.grid_search import GridSearchResult
from tilewright.simulator.search.path_answers import (
    bounds_of,
    certificate_of,
    choice_of,
    mapping_of_path,
    no_path,
    results_of,
    small_runs_of,
)
from tilewright.simulator.search.paths.path_graph import OptionPath, PathQuestion, PathsLeft
from tilewright.simulator.search.paths.path_search import CascadeLimits, search_cascade
from tilewright.simulator.search.search_kernels import search_kernels

Progress = Callable[[int, float, float], None]
AT_ONCE = 0.2
"""Seconds in which the least path is looked for where time is over; then any one will do."""


@dataclass(frozen=True, slots=True)
class GridMapping:
    """The best mapping of each Einsum of a workload, and their execution as one.

    `results`: by Einsum, its execution and what the search has shown of it. `mapping`: of the whole
    workload, a branch for each Einsum. `run`: the execution of that mapping, results passed on from
    Einsum to Einsum; None if it would take too long (`is_too_long`), or the budget was over before
    its end. `value`: sum of the objective over the Einsums and the exchanges between them, inf if
    nothing is known of it but lower bounds; where a run would take too long, it is one that no run
    goes above. `certificate`: of that sum; `seconds`: that the search took. `bounds`: by Einsum,
    the sizes of its ranks that the elements compute, with padding. `prediction`: of a mapping that
    was not executed, its counts and bounds of its cycles; None for one that was. `small_runs`: of
    Einsums whose run would take too long, the same mapping executed on fewer elements.
    """

    results: Dict[str, GridSearchResult]
    mapping: Mapping
    run: Execution | None
    certificate: GridCertificate
    value: float
    seconds: float
    bounds: Dict[str, Dict[str, int]]
    prediction: Prediction | None = None
    is_too_long: bool = False
    small_runs: Dict[str, EinsumExecution] = field(default_factory=dict)

    def __repr__(self) -> str:
        execution = "not executed" if self.run is None else repr(self.run)
        return f"<GridMapping: {execution}; {self.certificate}>"

    def _repr_html_(self) -> str:
        execution = f"<p>{self}</p>" if self.run is None else self.run._repr_html_()
        return self.mapping._repr_html_() + execution

    @property
    def execution(self) -> Execution:
        """The execution; raises NotExecuted if there is none."""
        if self.run is None and self.is_too_long:
            raise NotExecuted(
                "a run of the mapping on so many elements takes too long",
                value=_cycles_text(self.prediction),
                instead="a smaller grid, or the bounds of its cycles in `prediction`",
            )
        if self.run is None:
            raise NotExecuted(
                "the budget was over before the mapping was executed on numbers",
                value=f"{self.seconds:.1f} s",
                instead="a larger budget_s, or execute(arch, workload, answer.mapping)",
            )
        return self.run

    @property
    def gap(self) -> float:
        """How far the value may be above the optimum: value / bound - 1; inf for a bound of 0."""
        return self.certificate.gap(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRequest:
    """What is asked of a search of a workload on a grid.

    `objective`: latency, energy, or edp (of each Einsum; then no tensor stays in the elements
    between Einsums). `exchanges`: whether tensors may stay there, else all go through the memory
    outside. `settings`: machine and operands. `constraints`: by Einsum.
    `most_executions`: limit, times the number of Einsums. `budget_s`: seconds of the search, after
    which the mapping with the least bound is the answer if none was executed; 0: until the first
    one was.
    """

    objective: GridObjective = "latency"
    exchanges: bool = True
    settings: ExecutionSettings = field(default_factory=ExecutionSettings)
    constraints: Dict[str, GridConstraints] = field(default_factory=dict)
    most_executions: int | None = None
    budget_s: float | None = None

    @property
    def has_exchanges(self) -> bool:
        """Whether tensors may stay in the elements between Einsums."""
        return self.exchanges and self.objective != "edp"

    def limits(self, einsums: int) -> CascadeLimits:
        """Return the limits of a search of so many Einsums whose time begins now."""
        most = None if self.most_executions is None else self.most_executions * einsums
        return CascadeLimits(most, budget_of_runs(self.budget_s), budget_of_answer(self.budget_s))


@rare_collections()
def map_on_grid(
    arch: Arch,
    workload: Workload,
    request: GridRequest | None = None,
    on_progress: Progress | None = None,
) -> GridMapping:
    """Return the best mapping of a workload on the grid of an architecture.

    Each tensor that one Einsum computes for another goes through the memory outside, or stays in
    the elements; the search tries both. If the next Einsum needs parts of it in other elements, a
    program of the machine moves copies. `on_progress`: called with (executed, best value, bound)
    before the first execution and after each round. With a budget, what is not compiled yet is
    compiled before its time begins. Raises NoFeasibleMapping, with the reasons, if an Einsum fits
    no element.
    """
    request = request or GridRequest()
    if request.budget_s is not None:
        grid_paths(arch, workload)  # what the elements do not compute is said at once
        compile_first(search_kernels(), lambda: None)
    start = time.perf_counter()
    limits = request.limits(len(workload.einsums))
    end = budget_of_answer(request.budget_s, LATE)

    make = partial(cascade_of, arch, workload)
    cascade, path, bound = _search(partial(make, request), limits, on_progress)
    mapping = mapping_of_path(path)
    try:
        run = _run(arch, workload, path, request.settings, end)
    except InfeasibleMapping:
        # What is free in an element may lie in pieces too small for a tile, which the search does
        # not look at. Without exchange nothing lies in between, and the bound still holds.
        if not request.has_exchanges:
            raise
        least = bound
        cascade, path, bound = _search(
            partial(make, replace(request, exchanges=False)), limits, on_progress
        )
        bound, mapping = min(bound, least), mapping_of_path(path)
        run = _run(arch, workload, path, request.settings, end)
    seconds = time.perf_counter() - start
    return GridMapping(
        results={} if run is None else results_of(path, run, request.objective, seconds),
        mapping=mapping,
        run=run,
        certificate=certificate_of(cascade, path, bound),
        value=path.value,
        seconds=seconds,
        bounds=bounds_of(path),
        prediction=_predicted(arch, workload, mapping, request) if run is None else None,
        is_too_long=any(search.is_too_long for search in path.searches),
        small_runs=small_runs_of(path, end) if run is None else {},
    )


def _cycles_text(prediction: Prediction | None) -> str:
    if prediction is None:
        return "no bounds"
    most = prediction.cycles_at_most
    known = "" if most is None else f", at most {most:,}"
    return f"at least {prediction.lower_bound_cycles:,} cycles{known}"


def _predicted(
    arch: Arch, workload: Workload, mapping: Mapping, request: GridRequest
) -> Prediction | None:
    """Return what a mapping costs at least; None if its tiles do not fit beside each other."""
    try:
        return predict_execution(arch, workload, mapping, request.settings)
    except InfeasibleMapping:
        return None


def grid_paths(arch: Arch, workload: Workload) -> dict[str, FlatArch]:
    """Return by Einsum the path of components to the compute of the grid.

    Raises NoFeasibleMapping for an Einsum that the elements do not compute, and what `grid_path`
    raises for an architecture without a grid.
    """
    flats = {einsum.name: grid_path(arch, workload, einsum) for einsum in workload.einsums}
    for einsum in workload.einsums:
        check_host(flats[einsum.name])
        check_computed(einsum, grid_of(flats[einsum.name]))
    return flats


def cascade_of(
    arch: Arch,
    workload: Workload,
    request: GridRequest,
    *,
    budget: Budget = UNLIMITED,
    counts_energy: bool = False,
) -> Cascade:
    """Return the options of all Einsums of a workload with their bounds; nothing is executed.

    `counts_energy`: whether energy counts beside an objective of latency, as in a front. `budget`:
    when its time is over, further options by which tensors stay, and mappings that are not bounded
    yet, are left out; each Einsum has an equal part of what is left of it. If 0 s are asked for,
    for a first answer, all mappings without exchange are bounded.
    """
    whole = budget if request.budget_s else UNLIMITED
    einsums_left = iter(range(len(workload.einsums), 0, -1))
    flats = grid_paths(arch, workload)
    settings, known = request.settings, request.settings.known
    if len(workload.einsums) > 1 and not isinstance(known, SearchAnswers):  # equal ones share
        settings = replace(settings, known=SearchAnswers(known.folder, known.most_bytes))
    data = {
        e.name: EinsumData(e, seed=request.settings.seed, grid=grid_of(flats[e.name]))
        for e in workload.einsums
    }

    def candidates(flat: FlatArch, space: GridMapspace, left_tensors: LeftTensors) -> Candidates:
        has_energy = request.objective != "latency" or counts_energy
        if space.staying and has_energy:  # fewer elements may need less of it
            space = replace(space, has_parts=True)
        new = Candidates.unbounded(request.objective, settings, flat, space, left_tensors)
        new = replace(new, counts_energy=counts_energy)
        budget = whole.share(1 / next(einsums_left, 1))
        return replace(new.bounded(budget), data=data[space.einsum.name])

    return Cascade(
        workload,
        flats,
        candidates,
        lambda name: request.constraints.get(name, NO_CONSTRAINTS),
        exchanges=budget if request.has_exchanges else None,
    )


def _search(
    make: Callable[..., Cascade], limits: CascadeLimits, on_progress: Progress | None
) -> tuple[Cascade, OptionPath, float]:
    """Return the options of all Einsums, the best path through them, and the bound of all paths.

    make: returns the options, given a `budget` in which they are bounded. If no path has run in its
    time, it is the one with the least bound, whose value is inf. Raises NoFeasibleMapping if an
    Einsum fits no element, or all Einsums together do not.
    """
    for budget in (limits.share(BOUNDING_SHARE).budget, UNLIMITED):
        cascade = make(budget=budget)
        try:
            path, bound = search_cascade(cascade, limits, on_progress)
        finally:
            cascade.save()
        if path is None and (limits.first.is_late or _are_left_out(cascade)):
            path = _best_bounded(cascade)
        if path is not None or cascade.is_whole:  # else only what was left out has a path
            break
    if path is None:
        raise no_path(cascade)
    return cascade, path, bound


def _are_left_out(cascade: Cascade) -> bool:
    """Return whether Einsums have no candidate with a value, but some whose runs take too long."""
    return any(search.long.entries for search in cascade.searches)


def _best_bounded(cascade: Cascade) -> OptionPath | None:
    """Return a path with a small sum of bounds whose candidates have plans; None without one.

    It is the better of the one on which nothing stays, and of the one with the least sum, or any
    where that is not found at once. Its value, which nothing has shown, is inf.
    """
    plain = cascade.plain_searches
    paths = [OptionPath(tuple(plain), (), inf)] if len(plain) == len(cascade.options) else []
    while (path := _least_or_any(cascade)) is not None:
        # a search without such a candidate has the bound inf from then on
        if _has_candidates(path):
            paths.append(path)
            break
    best = min(filter(_has_candidates, paths), key=_sum_of_candidates, default=None)
    return None if best is None else replace(best, value=inf)


def _has_candidates(path: OptionPath) -> bool:
    return all(search.choice or search.best_bounded() for search in path.searches)


def _sum_of_candidates(path: OptionPath) -> float:
    """Return the values of the candidates of a path, or their bounds where they have not run."""
    searches = path.searches
    costs = [s.value if s.choice else s.candidates.bound(choice_of(s)) for s in searches]
    return sum(costs) + sum(move.bound for move in path.moves)


def _least_or_any(cascade: Cascade) -> OptionPath | None:
    soon = budget_from(AT_ONCE)
    try:
        return cascade.best_path(PathQuestion("bound", is_over=lambda: soon.is_late))
    except PathsLeft:
        return cascade.best_path(PathQuestion("bound", is_hasty=True))


def _run(
    arch: Arch, workload: Workload, path: OptionPath, settings: ExecutionSettings, end: Budget
) -> Execution | None:
    """Return the execution of a path on numbers.

    None if it ends before, would take too long, or no candidate was simulated.
    """
    if path.value == inf or any(search.is_too_long for search in path.searches):
        return None

    def run() -> Execution:
        if len(path.searches) == 1 and (alone := path.searches[0].run_best(end)) is not None:
            return Execution.of_one(alone)
        timed_plans = tuple(plan for search in path.searches for plan in search.timed_plans)
        stopping = replace(settings, stop=lambda _: end.is_late, timed_plans=timed_plans)
        return execute(arch, workload, mapping_of_path(path), settings=stopping)

    try:
        return run_until(end, run)
    except RunStoppedError:
        return None
