"""The search for the best path through the options of all Einsums, with the machine in the loop.

It executes a candidate of each option of the path with the least sum of bounds, and its exchanges,
and ends when no path may be better than the best (theory/grid.md §8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.simulator.search.candidates.candidate_runs import ON_NUMBERS
from tilewright.simulator.search.cascade_search import ALL, Cascade
from tilewright.simulator.search.paths.option import Option
from tilewright.simulator.search.paths.path_graph import (
    SUMS_DIFFER,
    OptionPath,
    PathQuestion,
    PathsLeft,
)

Progress = Callable[[int, float, float], None]
MOST_REFINED = 16
"""How often a path is looked for again once its costs are bounded closer, in one round."""
PATHS_SHARE = 0.5
"""Share of the time that is left in which the least path is looked for, in one round."""
FURTHER_RUNS = 64
"""Executions of candidates with further divisions of the work, beyond as many as there were."""


@dataclass(frozen=True, slots=True)
class CascadeLimits:
    """Limits of a search of a workload's mappings.

    `most_executions`: of candidates and exchanges, None for any number; `budget`: of time, which
    has begun; `first`: of time, until a first path has run.
    """

    most_executions: int | None = None
    budget: Budget = UNLIMITED
    first: Budget = UNLIMITED

    def share(self, part: float) -> CascadeLimits:
        """Return a part (0 to 1) of the limits: of the executions, and of the time that is left."""
        most = None if self.most_executions is None else int(self.most_executions * part)
        return replace(self, most_executions=most, budget=self.budget.share(part))

    def less(self, seconds: float) -> CascadeLimits:
        """Return the limits with a budget that ends so many seconds sooner."""
        return replace(self, budget=self.budget.sooner(seconds))


def search_cascade(
    cascade: Cascade, limits: CascadeLimits, on_progress: Progress | None = None
) -> tuple[OptionPath | None, float]:
    """Return the best path whose candidates were executed, and a lower bound of all paths.

    The path is None if there is none, or none has run in its time. `on_progress`: called with
    (executed, best value, bound) before the first execution and after each round of executions. One
    candidate of every Einsum that exchanges nothing runs first; only the time of a first path
    limits these. Where Einsums exchange nothing, and there is an answer, further divisions of
    their work are looked at, by about as many executions again.
    """
    walk = _PathWalk(cascade, on_progress)
    try:
        walk.begin(limits.first)
        if len(cascade.options) > 1:  # there are fewer without reshards: for an early answer
            walk.is_done(limits, reshards=False)
        walk.go_on(limits)
        if walk.widen(limits.budget):
            walk.go_on(walk.further(limits))
        return walk.best, walk.proved_bound
    finally:  # an interrupt waits for no run
        for search in cascade.searches:
            search.runs.end()


class _LeastPath(NamedTuple):
    """What is known of the path with the least bound below a limit.

    `path`: None if there is none, or if it is not known as time was over. `bound`: no such path
    goes below it, inf if there is none. `seen`: paths that came first before they were bounded
    closer.
    """

    path: OptionPath | None
    bound: float
    seen: Sequence[OptionPath] = ()

    @property
    def next(self) -> OptionPath | None:
        """The path to go on with: one that is bounded closely, for it may be the best one.

        The least path of all is one only if nothing was left to bound closer.
        """
        if self.path is None or len(self.seen) < MOST_REFINED:
            return self.path
        open_paths = [path for path in self.seen if not _is_known(path)]
        return min(open_paths, key=_sum_of_bounds, default=self.path)

    @property
    def is_left(self) -> bool:
        """Whether there may be such a path, but time was over before it was found."""
        return self.path is None and self.bound < inf


def _is_known(path: OptionPath) -> bool:
    """Return whether the value of a path is known, or none of its parts can be run."""
    searches = all(search.is_closed or search.bound == inf for search in path.searches)
    return searches and all(move.is_executed for move in path.moves)


def _is_left_open(path: OptionPath) -> bool:
    """Return whether a path may be better than its value, but what might show it takes too long."""
    is_done = all(search.is_closed or search.is_exhausted for search in path.searches)
    are_open = any(not search.is_closed for search in path.searches)
    return is_done and are_open and all(move.is_executed for move in path.moves)


def _sum_of_bounds(path: OptionPath) -> float:
    """Return what a path costs at least, by what is known now."""
    bounds = [search.bound for search in path.searches]
    return sum(bounds) + sum(move.bound for move in path.moves)


class _PathWalk:
    """The rounds of a search.

    `best`: the best path before the last round; `bound`: of all paths; `executed`: candidates and
    exchanges that ran. `first_bound`: the bound before further divisions were looked at, None
    before.
    """

    def __init__(self, cascade: Cascade, on_progress: Progress | None) -> None:
        self.cascade, self.on_progress = cascade, on_progress
        self.executed, self.bound = 0, 0.0
        self.best: OptionPath | None = None
        self.first_bound: float | None = None

    def begin(self, first: Budget) -> None:
        """Bound all paths; execute a candidate of every Einsum that exchanges nothing.

        first: limits these runs.
        """
        self.bound = self.cascade.least_bound
        if self.on_progress is not None and self.bound < inf:
            self.on_progress(0, inf, self.bound)
        searches = self.cascade.plain_searches
        for search in searches:
            search.runs.budget = first
        for number, search in enumerate(searches):
            if len(searches) > 1:
                for beside in searches[number : number + search.candidates.settings.threads]:
                    beside.run_ahead()
            self.executed += search.start()

    def go_on(self, limits: CascadeLimits) -> None:
        """Look for the best path until none may be better, or a limit is reached."""
        while not self.is_done(limits, reshards=True):
            pass

    def widen(self, budget: Budget) -> bool:
        """Let Einsums that exchange nothing look at further divisions, when no path may be better.

        Return False if there are none of these, or the search ended at a limit.
        """
        if self.best is None or self.bound < self.best.value or self.cascade.space.is_shared:
            return False
        self.first_bound = self.bound
        plain = [
            option for options in self.cascade.options for option in options if not option.stays
        ]
        return any([self._widen(option, budget) for option in plain])  # noqa: C419 - all of them

    def _widen(self, option: Option, budget: Budget) -> bool:
        """Add further families to the search of an option, of the paths that may be better."""
        search, best = option.search(ALL), self.best
        assert best is not None
        if search is None:
            return False
        others = sum(
            min(o.bound for o in each) for each in self.cascade.options if option not in each
        )
        words = self.cascade.most_words(option)
        return search.widen(budget, limit=best.value - others, most_words=words)

    def further(self, limits: CascadeLimits) -> CascadeLimits:
        """Return the limits of what follows a first answer: about as many executions again."""
        searches = [] if self.best is None else self.best.searches
        is_large = any(search.candidates.has_large_grid for search in searches)
        most = 2 * self.executed + (0 if is_large else FURTHER_RUNS)
        return replace(limits, most_executions=min(most, limits.most_executions or most))

    @property
    def proved_bound(self) -> float:
        """A value that no path goes below, with the further divisions or with the first ones."""
        if self.first_bound is None or self.best is None or self.bound >= self.best.value:
            return self.bound
        return min(self.first_bound, self.best.value)

    def is_done(self, limits: CascadeLimits, *, reshards: bool) -> bool:
        """Run a round; return whether no path may be better than the best, or a limit is reached.

        `reshards`: whether paths have them.
        """
        best = self.best = self.cascade.best_path(PathQuestion("value"))
        value = inf if best is None else best.value
        left = self._left(best, limits)
        if left.budget.is_late:
            return True
        limit = value * SUMS_DIFFER  # a bound nearer to the value is its sum in another order
        least = self._least(limit, left.budget.share(PATHS_SHARE), reshards=reshards)
        self._note(value, least, reshards=reshards)
        path = least.next
        if path is None and least.is_left:
            path = self._other(best, reshards=reshards)
        if path is None or self._is_over(left):
            return True
        has_run = self._execute(path, left.budget)
        return not has_run and (_is_left_open(path) or (least.path is None and best is not None))

    def _left(self, best: OptionPath | None, limits: CascadeLimits) -> CascadeLimits:
        """Return what is left of the limits; before a first path has run, its time is all."""
        if best is None:
            return CascadeLimits(budget=limits.first)
        return limits.less(self._seconds_on_numbers(best))

    def _note(self, value: float, least: _LeastPath, *, reshards: bool) -> None:
        """Keep the bound of all paths, and report the progress."""
        if reshards:
            self.bound = min(value, least.bound)
        self.bound = self._sound(self.bound)
        if self.on_progress is not None:
            self.on_progress(self.executed, value, self.bound)

    def _other(self, best: OptionPath | None, *, reshards: bool) -> OptionPath | None:
        """Return a path to go on with where the least one was not found: the best one, or any."""
        hasty = PathQuestion("bound", reshards, is_hasty=True)
        return best or self.cascade.best_path(hasty)

    def _sound(self, bound: float) -> float:
        """Return a bound of all paths, given one of those of options that were not left out."""
        return bound if self.cascade.is_whole else min(bound, self.cascade.least_bound)

    def _least(self, limit: float, budget: Budget, *, reshards: bool) -> _LeastPath:
        """Return the path with the least bound below a limit.

        What its candidates and exchanges cost is bounded closer, without runs; then the least path
        is looked for again, a limited number of times. When the time of the budget is over, it is
        not known.
        """
        question = PathQuestion("bound", reshards, limit, is_over=lambda: budget.is_late)
        seen: list[OptionPath] = []
        try:
            path = self.cascade.best_path(question)
            while path is not None and len(seen) < MOST_REFINED and self._refine(path):
                seen.append(path)
                path = self.cascade.best_path(question)
        except PathsLeft as left:
            return _LeastPath(None, left.bound, seen)
        return _LeastPath(path, inf if path is None else path.value, seen)

    def _refine(self, path: OptionPath) -> bool:
        """Bound closer what a path costs, by plans, without runs; return whether that was new."""
        are_new = [search.refine() for search in path.searches]
        return self.cascade.moves.find(path.moves) or any(are_new)

    def _execute(self, path: OptionPath, budget: Budget) -> bool:
        """Execute a candidate of each option of a path, and its exchanges; return if any ran."""
        before = self.executed
        for search in path.searches:
            search.runs.budget = budget
            if search.choice is None:
                self.executed += search.start()
            elif not search.is_closed and not search.refine():
                self.executed += search.step()
        self.executed += self.cascade.moves.execute(path.moves)
        return self.executed > before

    def _seconds_on_numbers(self, path: OptionPath) -> float:
        """Return about the seconds of a path on numbers, but for those that are set aside."""
        plain = {id(search) for search in self.cascade.plain_searches}  # nothing else is held
        are_known = all(id(search) in plain for search in path.searches)
        seconds = sum(s.seconds_on_numbers(is_known=are_known) for s in path.searches)
        return max(0.0, seconds - ON_NUMBERS)

    def _is_over(self, limits: CascadeLimits) -> bool:
        if limits.most_executions is not None and self.executed >= limits.most_executions:
            return True
        return limits.budget.is_late
