"""Solve single Einsums of a workload, each problem once, and let the model confirm the answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import NamedTuple

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.identical_einsums import ProblemKeys, renamed_mapping
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.methods.default_search import DefaultSearch
from tilewright.mapper.searches.methods.fallback import with_fallback_mapping
from tilewright.mapper.searches.methods.relaxed_min_usage import search_with_lowered_min_usage
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import (
    EinsumMapping,
    MapspaceResult,
    ReportingSearch,
    SearchStatistics,
    SolvedEinsums,
)
from tilewright.mapper.searches.unfused import shared_tensors
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping


@dataclass(frozen=True, slots=True)
class EinsumSolution:
    """The best mapping found of one Einsum.

    `space`: its mapspace, with the path to the Compute it runs on. `best`: the mapping with energy
    and latency of all instances. `lower_bound`: of the goal over all Computes. `proven`: all
    searches came to their end.
    """

    space: Mapspace
    best: EinsumMapping
    lower_bound: float
    proven: bool


class Spare(NamedTuple):
    """Where solutions come from after `end` (seconds on the monotonic clock): another solver."""

    solver: SolvedEinsums
    end: float


class EinsumSolver:
    """Searches Einsums of one workload on one architecture, each problem only once.

    Einsums that differ in names only share a solution. The model scores each answer again.
    `request`: subjects and options; `explain`: an error says which constraints conflict, which
    takes time. `check`: called before each of several Einsums; it may raise to end them. `spare`:
    solves what is left after some time. `statistics` adds up what was done.
    """

    def __init__(
        self,
        request: Request,
        explain: bool = True,
        check: Callable[[], None] | None = None,
        spare: Spare | None = None,
    ) -> None:
        self._spare = spare
        self._shared: frozenset[str] | None = None
        self._explain = explain
        self._check = check
        self.arch = request.arch
        self.workload = request.workload
        self.conventions = request.options.conventions
        self.statistics = SearchStatistics()
        self._request = request
        self._method = request.options.method or DefaultSearch(request.budget.memory)
        self._keys = ProblemKeys()
        self._spaces: dict[str, list[tuple[Hashable, Mapspace]]] = {}
        self._solved: dict[tuple[Hashable, Goal], tuple[Mapspace, MapspaceResult]] = {}

    def solve_all(self, goal: Goal, share: float = 1.0) -> list[EinsumSolution]:
        """Search each Einsum of the workload on its own and return the solutions, in order.

        `share`: part of the seconds left that this may take; problems still to be solved get equal
        parts of it. Raises InfeasibleMapping if an Einsum has no mapping, UnsupportedFeature if
        the method cannot handle a feature.
        """
        end = self._request.with_budget_share(share).budget
        einsums = self.workload.einsums
        numbers: dict[Hashable, int] = {}  # keys are large: each is looked up once
        problems = [
            [numbers.setdefault(key, len(numbers)) for key, _ in self.mapspaces(einsum)]
            for einsum in einsums
        ]
        ahead = {number for key, number in numbers.items() if (key, goal) not in self._solved}
        solutions = []
        for einsum, einsum_problems in zip(einsums, problems, strict=True):
            if self._check is not None:
                self._check()
            seconds_left = end.seconds_left
            solutions.append(
                self.solve(einsum, goal, seconds_left and seconds_left / max(1, len(ahead)))
            )
            ahead -= set(einsum_problems)
        return solutions

    def solve(self, einsum: Einsum, goal: Goal, seconds: float | None = None) -> EinsumSolution:
        """Search one Einsum on each Compute that can do it, and return the best solution.

        `goal`: what is least; `seconds`: for each Compute, None for what is left. Raises
        InfeasibleMapping, with the reason in numbers, if it fits on none; UnsupportedFeature if
        the method cannot handle a feature.
        """
        seconds_left = self._request.seconds_left if seconds is None else seconds
        results = [
            (space, self._find(key, space, goal, seconds_left))
            for key, space in self.mapspaces(einsum)
        ]
        feasible = [(space, result.best) for space, result in results if result.best is not None]
        proven = all(result.proven for _, result in results)
        if not feasible:
            raise self.no_mapping_error(einsum, proven)
        space, best = min(
            feasible, key=lambda pair: (pair[1].value(goal), pair[1].value(goal.second))
        )
        lower = min(result.lower_bound for _, result in results)
        self._request.reporter(einsum.name)(best.value(goal), lower)
        return EinsumSolution(space, best, lower, proven)

    def mapspaces(self, einsum: Einsum) -> list[tuple[Hashable, Mapspace]]:
        """Return pairs (key, mapspace), one per Compute that can do an Einsum.

        Problems with equal keys differ in names only; in a workload of one Einsum all keys are
        None. Raises InfeasibleMapping if no Compute can do it.
        """
        if einsum.name not in self._spaces:
            backed = self._backed(einsum)
            flats = self._request.flat_archs(einsum)
            if not flats:
                raise self.no_mapping_error(einsum, proven=True)
            uneven = self._request.uneven_variables(einsum)
            spaces = [Mapspace(einsum, flat, self.conventions, backed, uneven) for flat in flats]
            alone = len(self.workload.einsums) == 1
            keys = [None if alone else self._keys.of(space) for space in spaces]
            self._spaces[einsum.name] = list(zip(keys, spaces, strict=True))
        return self._spaces[einsum.name]

    def _backed(self, einsum: Einsum) -> frozenset[str]:
        if self._shared is None:
            self._shared = shared_tensors(self.workload)
        return frozenset(einsum.tensors) & self._shared

    def no_mapping_error(self, einsum: Einsum, proven: bool) -> InfeasibleMapping:
        """Return the error to raise for an Einsum without a mapping, explained if asked for.

        `proven`: it is certain that there is none; else the budget was too small. To find the
        constraints that conflict takes a while.
        """
        if not self._explain:
            return InfeasibleMapping(f"no mapping of {einsum.name}")
        if not proven:
            memory = self._request.options.max_memory
            return InfeasibleMapping(
                f"no mapping of {einsum.name} found within the budget",
                instead="a larger budget" if memory is None else "a larger budget or max_memory",
            )
        from tilewright.mapper.explain.infeasible import no_mapping
        from tilewright.mapper.explain.subject import ConstrainedEinsum

        backed, uneven = self._backed(einsum), self._request.uneven_variables(einsum)
        subject = ConstrainedEinsum(
            self.arch, self.workload, einsum, self.conventions, backed, uneven,
            budget=self._request.explanation_budget,
        )  # fmt: skip
        return no_mapping(subject)

    def result(self, key: Hashable, space: Mapspace, goal: Goal) -> MapspaceResult:
        """Return what a search without time finds in a mapspace; equal keys: names differ only."""
        return self._find(key, space, goal, 0.0)

    def _find(
        self, key: Hashable, space: Mapspace, goal: Goal, seconds_left: float | None
    ) -> MapspaceResult:
        solved = self._solved.get((key, goal))
        if solved is not None:
            return _carried(*solved, space, goal)
        if self._spare is not None and time.monotonic() > self._spare.end:
            return self._spare.solver.result(key, space, goal)
        method = self._method
        if isinstance(method, ReportingSearch):
            method = method.reporting_to(self._request.reporter(f"searching {space.einsum.name}"))
        began = time.monotonic()
        result = method.find(space, goal, seconds_left)
        if result.best is None and result.proven:
            lowered = search_with_lowered_min_usage(method, space, goal, seconds_left)
            result = result if lowered is None else lowered
        result = with_fallback_mapping(result, space, goal)
        seconds = time.monotonic() - began
        self.statistics = self.statistics.plus(replace(result.statistics, seconds=seconds))
        if result.best is not None:
            result = replace(result, best=MappingScorer(space).verified(result.best))
        if key is not None:
            self._solved[key, goal] = space, result
        return result


def _carried(
    solved: Mapspace, result: MapspaceResult, space: Mapspace, goal: Goal
) -> MapspaceResult:
    """Return the `result` of a problem with the same signature under this Einsum's names.

    Costs are scaled to its instances; then the model confirms the mapping. With the same instances
    they are the same: the model sees no names, and scores the mapping of the whole.
    """
    share = space.einsum.n_instances / solved.einsum.n_instances
    bound = result.lower_bound * (share * share if goal.objective == "edp" else share)
    best = result.best
    if best is not None and solved is not space:
        best = renamed_mapping(best, solved, space)
        if share != 1:
            best = MappingScorer(space).verified(best)
    return replace(result, best=best, lower_bound=bound, statistics=SearchStatistics())
