"""Exact search of mapspaces with uneven tiles: bounds first, then labels under them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import numpy as np

from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget, OutOfBudget, budget_from
from tilewright.mapper.searches.exact.beam import PATIENCE
from tilewright.mapper.searches.exact.kernels import ENERGY, Floats
from tilewright.mapper.searches.exact.label_metrics import KINDS, Goal
from tilewright.mapper.searches.exact.least_placement_costs import least_costs
from tilewright.mapper.searches.exact.metric_terms import refuse_unsupported
from tilewright.mapper.searches.mapping_scorer import MappingScorer, check_figures
from tilewright.mapper.searches.result import EinsumMapping, MapspaceResult, SearchStatistics
from tilewright.mapper.searches.uneven.compiled_uneven import PreparedParts
from tilewright.mapper.searches.uneven.full_utilization import with_most_lanes
from tilewright.mapper.searches.uneven.incumbent import CompletedMappings, Incumbent
from tilewright.mapper.searches.uneven.label_pruning import Pruning
from tilewright.mapper.searches.uneven.part_ranking import FEW_TEMPLATES, PartRanking
from tilewright.mapper.searches.uneven.partial_mappings import PartialMappings
from tilewright.mapper.searches.uneven.template_plan import TemplatePlan

TIE = 1e-12
DEEPENING = (1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, inf)
BEAM = 30  # labels that a first walk keeps at a slot
WIDE_BEAM = 300  # those of a last walk

Keep = Callable[[Floats, Floats, Floats], Any]  # see Pruning


class UnevenSearch:
    """A search method for mappings with at most one uneven loop per variable, with a proof.

    An uneven loop's tile does not divide the tile above it; the last tile is smaller
    (theory/imperfect.md §5). `seed`: the method that searches even tiles first, whose best value
    is the first limit. `memory`: bytes of the process before which the search ends.
    """

    def __init__(
        self, seed: Callable[[Mapspace, Goal, float | None], MapspaceResult], memory: float = inf
    ) -> None:
        self._seed = seed
        self._memory = memory

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the best mapping with a proof, or the best found with a bound when time is up.

        `goal`: what is least; `budget`: seconds, None for no limit. Raises UnsupportedFeature for
        what the search does not model: copy Einsums, memories spread over an Array, networks under
        accelforge.
        """
        limits = budget_from(budget, self._memory)
        refuse_unsupported(space.problem, networks=space.problem.conventions.links_carry_all_rounds)
        run = UnevenRun(space, goal, limits)
        even = space.with_even_tiles
        seeded = self._seed(even, goal, None if budget is None else budget / 4)
        if seeded.best is not None and space.contains(seeded.best.mapping) is None:
            run.consider(seeded.best.mapping)
        run.seed_with_most_lanes(inf if budget is None else budget / 4)
        lower, proven = run.solve()
        times = space.einsum.n_instances
        bound = lower * (times * times if goal.objective == "edp" else times)
        statistics = SearchStatistics(
            templates=run.ranking.templates,
            states=run.ranking.states,
            labels=run.ranking.labels,
            solved=1,
        )
        best = run.best
        if best.mapping is None:
            return MapspaceResult(None, bound, proven, statistics)
        answer = EinsumMapping(best.mapping, best.energy * times, best.latency * times)
        return MapspaceResult(answer, bound, proven, statistics)


class UnevenRun:
    """One search of one mapspace with uneven tiles; its numbers are for one instance.

    `best`: the best mapping so far; `ranking`: parts with their bounds. `memories`: those whose
    bits in use `completed_mappings` reports.
    """

    def __init__(
        self,
        space: Mapspace,
        goal: Goal,
        budget: Budget,
        memories: tuple[str, ...] = (),
    ) -> None:
        self._space = space
        self._judge = MappingScorer(space)
        self._budget = budget
        self._kind = KINDS[goal.objective]
        self._goal = goal
        self.ranking = PartRanking(space, goal, frozenset(memories))
        self._memory_fields = tuple(self.ranking.layout.used_bits[name] for name in memories)
        self.best = Incumbent()
        self._lower = 0.0
        self._is_split = False  # by classes of lanes

    @property
    def _is_optimal(self) -> bool:
        """Whether the best mapping meets the lower bound."""
        return self.best.value <= self._lower * (1 + TIE)

    @property
    def _counts_energy_only(self) -> bool:
        """Whether the objective is dynamic energy alone, without leakage."""
        ranking = self.ranking
        steady = ranking.metrics.steady_watts == 0 and not ranking.layout.gates
        return self._kind == ENERGY and steady

    def consider(self, mapping: Mapping) -> EinsumMapping:
        """Score a mapping by the model; it becomes the best so far if it is better.

        The result has its energy (J) and latency (s) for one instance. Raises InfeasibleMapping or
        MappingError if the model refuses it.
        """
        judged, times = self._judge.costed(mapping), self._space.einsum.n_instances
        energy, latency = judged.energy / times, judged.latency / times
        value = self._goal.value(energy, latency)
        second = latency if self._kind == ENERGY else energy
        best = self.best
        tied = abs(value - best.value) <= TIE * abs(value)
        if second < best.second_value if tied else value < best.value:
            self.best = Incumbent(mapping, value, second, energy, latency)
        return EinsumMapping(mapping, energy, latency)

    def seed_with_most_lanes(self, seconds: float) -> None:
        """Search the mappings that use all lanes first, for at most `seconds`.

        That is fast, and the best mapping is often among them; it becomes `best` if it is better.
        A lane is one instance along a dimension of a fanout.
        """
        fully_used = with_most_lanes(self._space)
        if fully_used is None:
            return
        end = min(self._budget.deadline, time.monotonic() + seconds)
        seeding = UnevenRun(fully_used, self._goal, replace(self._budget, deadline=end))
        seeding.best = self.best
        with suppress(OutOfBudget):
            seeding.rank()
            seeding.search()
        mapping = seeding.best.mapping
        if mapping is not None and self._space.contains(mapping) is None:
            self.consider(mapping)

    def solve(self) -> tuple[float, bool]:
        """Return (lower bound of the objective for one instance, whether the search ended).

        The best mapping is in `best`. Infinity: there is no mapping.
        """
        try:
            self.rank()
            if not self.ranking.ranked:
                return inf, True
            self.search()
        except OutOfBudget:
            self._answer_out_of_budget()
            if not self._is_optimal:
                return min(max(self._lower, self._compulsory()), self.best.value), False
        with suppress(OutOfBudget):  # the objective is optimal all the same
            self._break_ties()
        return self.best.value, True

    def rank(self) -> None:
        """Compute a lower bound of every template and sort them, the most promising first.

        A template is a mapping without its loops. Raises OutOfBudget when time ends before.
        """
        self.ranking.rank(self._budget)

    def search(self) -> None:
        """Search until the lower bound meets the best mapping; call `rank` before.

        Raises OutOfBudget when the budget ends; what was found stays.
        """
        self._raise_to_least()
        self._beams(BEAM)
        if not self._counts_energy_only and not self._is_optimal:
            self._split()
        self._deepen()

    def _split(self) -> None:
        """Split the parts that may still beat the best mapping into classes of lanes."""
        if not self._is_split:
            try:
                self.ranking.split(self.best.value * (1 + TIE), self._budget)
                self._is_split = True
            finally:
                self._raise_to_least()

    def _raise_to_least(self) -> None:
        """Raise the lower bound to the least bound of any part, at most to the best value."""
        bound = min((value for value, _, _ in self.ranking.ranked), default=inf)
        self._lower = max(self._lower, min(bound, self.best.value))

    def _compulsory(self) -> float:
        """Return a lower bound for one instance from computing and first moves alone."""
        energy, latency = least_costs(self._space, self._space.placements)
        return self._goal.value(energy, latency)

    def _beams(self, beam: int) -> None:
        """Search all parts with at most `beam` labels per slot, to find some good mappings."""
        for timed in (False, True) if not self._counts_energy_only else (False,):
            for value, _, number in self.ranking.ranked:
                if value > self.best.value or self._is_optimal:
                    break
                self._walk_part(number, timed, self._keep_below(inf), beam)

    def _answer_out_of_budget(self) -> None:
        """Use the seconds left for more good mappings if only the memory for labels ended.

        Without any mapping so far, exceed the time a little to find one.
        """
        with suppress(OutOfBudget):
            self._beams(WIDE_BEAM)
        if self.best.mapping is not None:
            return
        self._budget = budget_from(PATIENCE)
        with suppress(OutOfBudget):
            if not self.ranking.ranked:
                self.ranking.rank_first_templates()
            for _, _, number in self.ranking.ranked:
                self._walk_part(number, False, self._keep_below(inf), FEW_TEMPLATES)
                if self.best.mapping is not None:
                    return

    def _keep_below(self, limit: float, *, tie: bool = False) -> Keep:
        """Return a test of labels: may the objective of a completed mapping be at most `limit`?

        `tie`: and may its second metric be better than that of the best mapping? The test takes
        lower bounds of joules and steps, and bits in use.
        """
        second_kind = KINDS["latency"] if self._kind == ENERGY else ENERGY

        def keep(energy: Floats, steps: Floats, _used: Floats) -> Any:
            bound = min(limit, self.best.value * (1 + TIE))
            promising = self.ranking.lower_bound(energy, steps, self._kind) <= bound
            if tie:
                promising &= self.ranking.lower_bound(
                    energy, steps, second_kind
                ) < self.best.second_value * (1 - TIE)
            return promising

        return keep

    def _deepen(self) -> None:
        """Search below rising limits until no mapping below the best one can exist."""
        for slack in DEEPENING:
            best_before = self.best.value
            if self._is_optimal:
                return
            limit = min(
                self._lower * (1 + slack) if self._lower > 0 else inf, best_before * (1 - TIE)
            )
            bound = self._walk_below(limit, exact=False)
            # the calls of a label may raise its objective above the bound
            if bound < self.best.value * (1 - TIE):
                self._walk_below(min(limit, self.best.value * (1 - TIE)), exact=True)
            if self.best.value <= limit or limit >= best_before * (1 - 2 * TIE):
                return
            self._lower = max(self._lower, limit)

    def _walk_below(self, limit: float, *, exact: bool) -> float:
        """Walk all templates below a limit; return the least bound of the completed labels.

        `exact`: labels dominate each other in their calls, too, so that each is worth its bound.
        """
        least_bound = inf
        for value, _, number in self.ranking.ranked:
            if value > min(limit, self.best.value):
                break
            bound = self._walk_part(
                number, not self._counts_energy_only, self._keep_below(limit), 0, exact=exact
            )
            least_bound = min(least_bound, bound)
        return least_bound

    def _break_ties(self) -> None:
        """Among mappings of equal value take the least second metric; edp has none."""
        best = self.best
        if best.mapping is None or self._kind == KINDS["edp"]:
            return
        self._split()
        for value, _, number in self.ranking.ranked:
            if value > best.value * (1 + TIE):
                break
            for exact in (False, True):
                keep = self._keep_below(best.value * (1 + TIE), tie=True)
                if self._walk_part(number, True, keep, 0, exact=exact) == inf:
                    break

    def _walk_part(
        self,
        number: int,
        timed: bool,
        keep: Keep,
        beam: int,
        *,
        exact: bool = False,
    ) -> float:
        """Walk part `number` down and score its completed labels; return the least bound of these.

        `timed`: labels count steps and calls. `keep`: which labels stay. `beam`: most per slot (0:
        all). `exact`: compare labels in calls, links and paths, too.
        """
        mode = self.ranking.prepared(timed)
        path = self._walk(mode, number, keep, beam, exact=exact)
        return self._score_completed(mode, mode.plans[number], path, keep)

    def _walk(
        self,
        mode: PreparedParts,
        number: int,
        keep: Keep,
        beam: int,
        *,
        exact: bool,
    ) -> list[PartialMappings]:
        plan, layout = mode.plans[number], mode.layout
        leading = [0, *layout.used_bits.values(), *layout.gates.values()]
        if exact:
            leading += [*layout.call_fields, *layout.links.values(), *layout.longest_paths.values()]
        pruning = Pruning(keep, tuple(leading), self._memory_fields, beam, self._budget)
        ranking = self.ranking
        return mode.walk.run(
            plan, ranking.remaining_energy(number), ranking.compute_energy, pruning
        )

    def completed_mappings(self, number: int, keep: Keep, beam: int) -> CompletedMappings:
        """Return all mappings of part `number` that a test keeps, with energy, latency and bits.

        `keep`: tells from lower bounds of joules and steps and from bits in use which partial
        mappings may be of interest; `beam`: most of them at a slot (0: all). A slot is a place of
        a template (a mapping without loops) for loops, a fill or a reserved tile. Raises
        OutOfBudget when the budget ends.
        """
        mode = self.ranking.prepared(True)
        path = self._walk(mode, number, keep, beam, exact=True)
        steps = mode.walk.steps(mode.plans[number], path[-1].states)
        pairs = zip(path[-1].fields, steps.tolist(), strict=True)
        rows = [
            (*self._metrics_of(fields, count), *fields[list(self._memory_fields)].tolist())
            for fields, count in pairs
        ]
        return CompletedMappings(mode.plans[number], rows, partial(mode.walk.trace, path))

    def _metrics_of(self, fields: Floats, steps: float) -> tuple[float, float]:
        """Return energy in joule and latency in second of a completed label that counts time.

        `steps`: steps in time of its busiest lane.
        """
        label = self._label(fields, steps)
        latency = self.ranking.metrics.latency(label)
        return self.ranking.metrics.energy(label, latency), latency

    def _score_completed(
        self,
        mode: PreparedParts,
        plan: TemplatePlan,
        path: list[PartialMappings],
        keep: Keep,
    ) -> float:
        labels = path[-1]
        if not len(labels):
            return inf
        steps = mode.walk.steps(plan, labels.states)
        bounds = self.ranking.lower_bound(labels.fields[:, 0], steps, self._kind)
        least_bound = inf
        for row in np.argsort(bounds, kind="stable").tolist():
            label = slice(row, row + 1)
            if not keep(labels.fields[label, 0], steps[label], labels.fields[label, :0])[0]:
                continue
            least_bound = min(least_bound, float(bounds[row]))
            if not mode.timed and not self._counts_energy_only and least_bound < bounds[row]:
                break  # the energy alone does not tell which of these is best
            if self._improves(mode, labels.fields[row], float(steps[row])):
                tiles = mode.walk.trace(path, row)
                judged = self.consider(assemble(self._space.problem, plan.slots, tiles))
                self._check(mode, labels.fields[row], float(steps[row]), judged)
        return least_bound

    def _label(self, row: Floats, steps: float) -> Floats:
        label = row.copy()
        label[self.ranking.layout.lanes] = -self._space.einsum.operations / steps
        return label

    def _improves(self, mode: PreparedParts, row: Floats, steps: float) -> bool:
        """Tell whether a completed label is better than the best mapping, or may be if untimed."""
        best = self.best
        if not mode.timed:
            value = float(self.ranking.lower_bound(row[:1], np.ones(1), self._kind)[0])
            return value < best.value * (1 - TIE) or best.mapping is None
        energy, latency = self._metrics_of(row, steps)
        value = self._goal.value(energy, latency)
        if abs(value - best.value) <= TIE * abs(value):
            return (latency if self._kind == ENERGY else energy) < best.second_value * (1 - TIE)
        return value < best.value

    def _check(self, mode: PreparedParts, row: Floats, steps: float, judged: EinsumMapping) -> None:
        """Raise InternalError if a label's figures differ from the model's score of its mapping."""
        energy, latency = float(row[0]), judged.latency
        if mode.timed:
            energy, latency = self._metrics_of(row, steps)
        elif self.ranking.metrics.steady_watts != self._goal.price or self.ranking.layout.gates:
            return  # leakage is not in the label
        check_figures(EinsumMapping(judged.mapping, energy, latency), judged)
