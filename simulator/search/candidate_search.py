"""Search the mappings of one Einsum in the order of their lower bounds, and simulate the best.

On a large grid the exact cycles of a candidate often follow from a small grid of the same pattern;
then only the best candidate runs on data. Candidates whose cycles do not follow wait until the
others are done, since a run takes long. Where it would take too long, their cycles lie between two
bounds: the best candidate is the one with the least upper bound.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from math import inf
from typing import Final, NamedTuple

from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily
from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.mapper.workload.errors import InfeasibleMapping, Refusal
from tilewright.simulator.execution.einsum_execution import (
    VALUES_ALONE_PAY,
    EinsumExecution,
    TimedPlan,
)
from tilewright.simulator.isa.machine_errors import ProgramError, RunStoppedError
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles
from tilewright.simulator.search.candidates.candidate_runs import (
    PART_ON_NUMBERS,
    SECONDS_OF_SCALARS,
    SECONDS_OF_VALUES,
    TIMES_ON_NUMBERS,
    CandidateRuns,
)
from tilewright.simulator.search.candidates.candidates import BoundedFamily, Candidates
from tilewright.simulator.search.candidates.family_heap import FamilyHeap, HeapEntry, Values
from tilewright.simulator.search.candidates.first_choices import first_choices
from tilewright.simulator.search.candidates.long_runs import LongRuns
from tilewright.simulator.search.further_divisions import FurtherQuestion, further_families
from tilewright.simulator.search.grid_certificate import (
    GridCertificate,
    frequent_reasons,
    objective_value,
    restrictions_of,
)

MOST_WAITING: Final = 4
"""Candidates that cannot be timed before the first of them runs, while there is no answer yet."""
MOST_REFINED: Final = 32
"""Entries that are refined at a time, before the search asks whether others come first now."""
ROUNDING: Final = 1 + 1e-9
"""Sums of energies differ by less from one order to another."""


class _ObjectiveBounds(NamedTuple):
    """Lower bounds of the one value that a search minimizes: that of the candidates' objective."""

    candidates: Candidates

    def of_members(
        self, family: GridFamily, reduction: str | None, alone: BodyCycles | None
    ) -> Values:
        return (self.candidates.least_value(family, reduction, alone),)

    def of_choice(self, choice: GridChoice, *, followed: bool = False) -> Values:
        return (self.candidates.bound(choice, followed=followed),)


class CandidateSearch:
    """A best-first search of families by their lower bounds, one candidate at each step.

    `choice`, `value`: the best candidate so far and its objective value, None and inf before the
    first. `executed`: number of candidates that were simulated; `timed`: number of those whose
    cycles follow from a smaller grid; `enclosed`: of those whose cycles lie between two bounds, as
    a run would take too long. `has_run`: whether the best one was simulated; `is_enclosed`: whether
    `value` is its upper bound. `long`: those that do not run. `waiting`:
    candidates of a large grid whose cycles do not follow, with their bounds; `undecided`: number of
    candidates whose value is not known, those that wait included; `reasons`: why others are
    infeasible. `wider`: a search over these families and more, whose bound holds for this one, too.
    `least_of_first`: what no candidate goes below that was there before `widen`; None before.
    """

    def __init__(self, candidates: Candidates, families: Iterable[BoundedFamily]) -> None:
        self.candidates = candidates
        self.runs = CandidateRuns(candidates)
        self.reasons: Counter[Refusal] = Counter()
        self.executed = self.timed = self.enclosed = 0
        self.choice: GridChoice | None = None
        self.value = inf
        self.has_run = False
        self.wider: CandidateSearch | None = None
        self.least_of_first: float | None = None
        self.long = LongRuns(candidates)
        self._best: HeapEntry | None = None  # while its value is an upper bound
        self._execution: EinsumExecution | None = None
        self._bounded: GridChoice | None = None
        self._first: list[HeapEntry] = []  # taken out of the heap by `run_ahead`
        self._is_ahead = False
        self.waiting: list[HeapEntry] = []
        self._families, self._decided = tuple(families), 0
        self._members = sum(family.members for family in self._families)
        self._least_bound = min((family.bound for family in self._families), default=inf)

    @cached_property
    def heap(self) -> FamilyHeap:
        """What was not looked at. Many searches of a cascade never begin, so it is made late."""
        bounded = (((family.bound,), family.family) for family in self._families)
        return FamilyHeap(self.candidates, _ObjectiveBounds(self.candidates), bounded)

    @property
    def undecided(self) -> int:
        """Number of candidates of which no value is known, exact or an upper bound."""
        further = self.heap.further if "heap" in self.__dict__ else 0
        return self._members + further - self._decided

    @property
    def looked_at(self) -> int:
        """Number of candidates whose objective value is known, or an upper bound of it."""
        return self.executed + self.timed + self.enclosed

    @property
    def is_enclosed(self) -> bool:
        """Whether the value of the best candidate is an upper bound, for its run takes too long."""
        return self._best is not None

    @property
    def is_too_long(self) -> bool:
        """Whether the best candidate, or the one with the least bound, would run too long."""
        choice = self.choice or self._bounded
        if choice is None or self.has_run:
            return False
        return self.is_enclosed or self.long.has(choice.family, UNLIMITED)

    @property
    def is_exhausted(self) -> bool:
        """Whether all is done that may be, though long runs may be better than the best."""
        left = (entries[0] for entries in (self.heap.entries, self.waiting) if entries)
        return all(entry.bounds[0] >= self.value for entry in left) and not (
            self.long.can_raise(self.value)
        )

    def run_best(self, budget: Budget = UNLIMITED) -> EinsumExecution | None:
        """Return the execution of the best candidate on data, which runs if it has not run yet.

        None before the first candidate, or if its run takes too long. Raises RunStoppedError if the
        budget is over before.
        """
        if self.choice is not None and self._execution is None and not self.is_too_long:
            run = self.candidates.execute(self.choice, lambda _: budget.is_late)
            self._execution = run
            self.executed += not self.has_run
            self.has_run = True
            reached = objective_value(self.candidates.objective, run.latency, run.energy)
            assert reached == self.value, (reached, self.value)
        return self._execution

    @property
    def timed_plans(self) -> list[TimedPlan]:
        """The plan of the best candidate with its cycles; none before the first run."""
        known = self.candidates.known_cycles
        if self.choice is None or self.choice not in known:
            return []
        return [TimedPlan(self.candidates.plan(self.choice), known[self.choice])]

    def seconds_on_numbers(self, *, is_known: bool) -> float:
        """Return about the seconds of a run of the best candidate on numbers; 0: not known.

        is_known: whether that run has the plan of the one without numbers, so that it knows its
        cycles.
        """
        if self.choice is None:
            return 0.0
        times = PART_ON_NUMBERS if is_known else TIMES_ON_NUMBERS
        cycles = self.candidates.known_cycles.get(self.choice, 0)
        elements = self.choice.family.elements
        seconds = times * self.runs.seconds.get(self.choice, 0.0)
        is_alone = is_known and cycles * elements >= VALUES_ALONE_PAY
        has_scalars = self.candidates.space.einsum.formula is not None and not is_alone
        of_element = SECONDS_OF_SCALARS if has_scalars else SECONDS_OF_VALUES
        return max(seconds, of_element * cycles * elements)

    def best_bounded(self) -> GridChoice | None:
        """Return a candidate with a plan and a small bound among those not looked at, None if none.

        It is the one with the least bound if a few refinements show it. The answer stays the same.
        """
        if self._bounded is None:
            self.heap.push(self.long.entries)  # all that is left, whatever runs would take
            self.long.entries = []
            self._bounded = self._first_settled() or self._first_planned()
        return self._bounded

    def _first_settled(self) -> GridChoice | None:
        """Return the candidate with the least bound; None if more refinements would show it."""
        for _ in range(MOST_REFINED):
            if not self.heap or self.heap.entries[0].is_settled:
                break
            self.heap.push(self._refined(self.heap.pop()))
        first = [entries[0] for entries in (self.heap.entries, self.waiting) if entries]
        least = min(first, default=None)
        return least.choice if least is not None and least.is_settled else None

    def _first_planned(self) -> GridChoice | None:
        """Return a candidate that has a plan, of the first family with one."""
        while self.heap:
            entry = self.heap.pop()
            members = (choice for choice, _ in self.candidates.members(entry.family))
            for choice in members if entry.choice is None else (entry.choice,):
                try:
                    self.candidates.plan(choice)
                except (InfeasibleMapping, ProgramError) as error:
                    self._drop(error)
                    continue
                self.heap.push([entry])
                return choice
        return self.waiting[0].choice if self.waiting else None

    @property
    def bound(self) -> float:
        """An objective value that no candidate goes below; inf if none can be built."""
        wider = 0.0 if self.wider is None else self.wider.bound
        return max(wider, self._bound)

    @property
    def _bound(self) -> float:
        """What this search alone has shown of the bound."""
        if "heap" not in self.__dict__:
            return self._least_bound
        left = self.heap.entries, self.waiting, self.long.entries
        return min([self.value, *(entries[0].bounds[0] for entries in left if entries)])

    @property
    def is_closed(self) -> bool:
        """Whether no candidate that is left can be better than the best."""
        return self.bound >= self.value

    def widen(
        self, budget: Budget = UNLIMITED, *, limit: float = inf, most_words: int | None = None
    ) -> bool:
        """Add the families with further divisions of the work that may be better than the best.

        `limit`: of values that are wanted; `most_words`: 16-bit words of an element that they may
        need. A search can be widened once, when it has a value. Return False if it has none, if
        there are too many families, or if the time of the budget is over before they are bounded.
        """
        if self.choice is None or self.least_of_first is not None:
            return False
        question = self._further_question(min(limit, self.value), most_words)
        families = further_families(self.candidates, question, budget)
        if families is None:
            return False
        self.least_of_first = min(self.bound, self.value)
        self.heap.add(((family.bound,), family.family) for family in families)
        self._families += tuple(families)
        self._members += sum(family.members for family in families)
        return True

    def _further_question(self, value: float, most_words: int | None) -> FurtherQuestion:
        """Ask for mappings with further divisions whose bounds are below a value."""
        candidates = self.candidates
        is_latency = candidates.objective == "latency"
        most = inf if most_words is None else most_words
        return FurtherQuestion(
            is_open=lambda cycles, energy, words: (
                words <= most and candidates.value_of(cycles, energy) < value
            ),
            has_energy=not is_latency,
            cycles=value / candidates.latency_of(1.0) if is_latency else inf,
        )

    @property
    def has_all_divisions(self) -> bool:
        """Whether no mapping with any division of the work is better than the best."""
        return self.least_of_first is not None and self.is_closed

    @property
    def proved_bound(self) -> float:
        """What no candidate goes below: of all divisions, or of those of the first candidates."""
        if self.least_of_first is None or self.is_closed:
            return self.bound
        return min(self.value, self.least_of_first)

    def start(self) -> bool:
        """Find the value of a first candidate; return False if none runs, or the time is over.

        On a small grid it is the one with the fewest words on links among those near the least
        bound, to have an answer at once. On a large one it is the first by the bounds whose cycles
        follow from its pattern; if those of four candidates do not, the first of these runs.
        """
        if self.candidates.has_large_grid:
            return self._start_timed()
        entries, self._first = self._first, []
        while self.value == inf and (entries or self.heap) and not self.runs.is_over:
            entries = entries or self._first_choices()
            while entries and self.value == inf and not self.runs.is_over:
                self._look_at(entries.pop(0))
            self.heap.push(entries)
            entries = []
        self.heap.push(entries)
        return self.value < inf

    def run_ahead(self) -> None:
        """Begin the run of the candidate that `start`, which must follow, runs first.

        So the first ones of several searches run side by side. Not on a large grid.
        """
        if self.candidates.has_large_grid or self._is_ahead or not self.heap:
            return
        self._is_ahead = True
        self._first = self._first_choices()
        for entry in self._first[:1]:
            assert entry.choice is not None
            self.runs.begin(entry.choice)

    def _first_choices(self) -> list[HeapEntry]:
        return first_choices(self.heap, self._refined, lambda: self.runs.is_over)

    def _start_timed(self) -> bool:
        while self.value == inf and self.step():
            if len(self.waiting) == MOST_WAITING and self.value == inf:
                self._execute(heapq.heappop(self.waiting))
        return self.value < inf

    def refine(self) -> bool:
        """Raise the bound by that of a plan, without a run; return False if nothing is left to do.

        A few entries of the heap that come first are replaced by what refines them, until the first
        one is a candidate with the bound of its plan.
        """
        refined = 0
        while refined < MOST_REFINED and not self.is_closed and not self.runs.is_over:
            if not self.heap or self.heap.least[0] >= self.value:
                entry = self.long.take_unsettled(self.value)
                if entry is None:
                    break
                for closer in self._refined(entry):
                    self.long.add(closer)
            elif self.heap.entries[0].is_settled:
                break
            else:
                self._refine_or_leave(self.heap.pop())
            refined += 1
        return refined > 0

    def _refine_or_leave(self, entry: HeapEntry) -> None:
        """Put back what refines an entry, or leave it out if no run of it may be begun."""
        if self.long.leaves_out(entry.family, self.runs.budget):
            self.long.add(entry)
        else:
            self.heap.push(self._refined(entry))

    def step(self) -> bool:
        """Look at the candidate with the least bound; return False if none is left to look at.

        A family that comes first is replaced by its members, and a member by its plan's greater
        bound, until one with a plan comes first. Candidates that wait are executed when all others
        are done; at the end the bounds of those are raised whose runs take too long.
        """
        while not self.is_closed and not self.runs.is_over:
            if not self.heap or self.heap.least[0] >= self.value:
                if not self.waiting or self.waiting[0].bounds[0] >= self.value:
                    return self.refine()
                self._execute(heapq.heappop(self.waiting))
                return True
            entry = self.heap.pop()
            if not entry.is_settled:
                self._refine_or_leave(entry)
            elif self._look_at(entry):
                return True
        return False

    def _refined(self, entry: HeapEntry) -> Iterable[HeapEntry]:
        """Return what replaces an entry; nothing for a choice without a plan, which is counted."""
        try:
            return self.heap.refined(entry)
        except (InfeasibleMapping, ProgramError) as error:
            self._drop(error)
            return ()

    def _look_at(self, entry: HeapEntry) -> bool:
        """Find the value of a choice, or let it wait; return False if it cannot be run."""
        assert entry.choice is not None
        if not self.candidates.is_large(entry.family):
            return self._execute(entry)
        if self.long.has(entry.family, self.runs.budget):
            reached = self.candidates.most_value(entry.choice)
            if reached is not None:
                self.enclosed += 1
                self._note(entry, reached, has_run=False, is_exact=False)
                return True
            if self.long.has(entry.family, UNLIMITED):
                return self._time_long(entry, entry.choice)
        try:
            reached = self.candidates.timed_value(entry.choice, lambda: self.runs.is_over)
        except (InfeasibleMapping, ProgramError) as error:
            self._drop(error)
            return False
        except RunStoppedError:
            self.heap.push([entry])
            return False
        if reached is None:
            heapq.heappush(self.waiting, entry)
            return True
        self.timed += 1
        self._note(entry, reached, has_run=False)
        return True

    def _time_long(self, entry: HeapEntry, choice: GridChoice) -> bool:
        """Find the value of a choice whose run takes too long by its pattern, or leave it out.

        Return False if time is over before.
        """
        try:
            reached = self.long.timed_value(choice, lambda: self.runs.is_over)
        except RunStoppedError:
            self.heap.push([entry])
            return False
        if reached is None:
            self.long.add(entry)
        else:
            self.timed += 1
            self._note(entry, reached, has_run=False)
        return True

    def _execute(self, entry: HeapEntry) -> bool:
        """Execute a choice; return False if the machine cannot run it, or the time is over."""
        assert entry.choice is not None
        try:
            reached = self.runs.execute(entry.choice, self._ahead())
        except (InfeasibleMapping, ProgramError) as error:
            self._drop(error)
            return False
        except RunStoppedError:
            if self.runs.is_over:
                self.heap.push([entry])
                return False
            self.executed += 1
            self._decided += 1
            return True
        self.executed += 1
        self._note(entry, reached, has_run=True)
        return True

    def _ahead(self) -> Iterator[GridChoice]:
        """Yield the choices that are looked at next, unless one before them becomes the best.

        None while the first one runs beside those of other searches.
        """
        if self._is_ahead and self.value == inf:
            return
        planned = (entry for entry in self.heap.entries if entry.is_planned)
        for entry in heapq.nsmallest(self.candidates.settings.threads, planned):
            choice = entry.choice
            if choice is not None and self.candidates.bound(choice, followed=True) < self.value:
                yield choice

    def _drop(self, error: InfeasibleMapping | ProgramError) -> None:
        self.reasons[Refusal.of(error)] += 1
        self._decided += 1

    def _note(
        self, entry: HeapEntry, reached: float, *, has_run: bool, is_exact: bool = True
    ) -> None:
        """Count a choice whose value is known, and keep it if it is the best so far.

        `reached`: its objective value, an upper bound if not `is_exact`; `has_run`: whether it was
        simulated. A value below its bound is a defect: bounds exclude candidates.
        """
        assert entry.bounds[0] <= reached * ROUNDING, (entry, reached)
        self._decided += 1
        beaten = None if is_exact else entry
        if reached < self.value:
            self.choice, self.value, self._execution = entry.choice, reached, None
            self.has_run, self.runs.value = has_run, reached
            self._best, beaten = beaten, self._best
        if beaten is not None:  # it may be better nevertheless
            self.long.add(beaten)

    def certificate(self) -> GridCertificate:
        """Return what the search has shown so far: counts of candidates, bound, and optimality."""
        reasons = self.reasons + self.candidates.infeasible
        return GridCertificate(
            executed=self.executed,
            timed=self.timed,
            enclosed=self.enclosed,
            excluded=self.undecided,
            infeasible=sum(reasons.values()),
            reasons=frequent_reasons(reasons),
            bound=self.proved_bound,
            is_optimal=self.proved_bound >= self.value and self.choice is not None,
            restrictions=restrictions_of(
                [self.candidates.space], all_divisions=self.has_all_divisions
            ),
        )
