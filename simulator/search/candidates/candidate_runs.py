"""Simulate the candidates of a search, side by side; end a run when it cannot be the best.

The answer does not depend on the number of threads: a search takes the results in the order of its
bounds, and a run that ends early is one whose value is not below the best.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from math import inf
from typing import Final, Protocol, TypeVar

from tilewright.mapper.grid.grid_mapspace import GridChoice
from tilewright.mapper.searches.budget import UNLIMITED, Budget, budget_from
from tilewright.mapper.searches.limits.watch import AT_LEAST, interrupted_when
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.run.machine import Stop
from tilewright.simulator.search.bounds.quick_bound import QuickBound

T = TypeVar("T")
SIDE_BY_SIDE: Final = 4_000_000
"""Cycles times elements from which on runs go side by side: some 0.3 s (engine-speed.md)."""
ON_NUMBERS: Final = 0.5
"""Seconds of a budget that are left to execute the best candidate on numbers."""
BOUNDING_SHARE: Final = 0.5
"""Share of a limit of seconds after which no more mappings are bounded."""
PART_ON_NUMBERS: Final = 0.5
"""A run for values alone takes at most about this part of the seconds of a run without numbers."""
TIMES_ON_NUMBERS: Final = 1.7
"""A run of the engine on numbers takes about so many times the seconds of one without them."""
SECONDS_OF_VALUES: Final = 1e-8
"""Seconds of a run for values alone, for each cycle of an element."""
SECONDS_OF_SCALARS: Final = 1e-7
"""The same where the engine runs scalar instructions, value by value."""


def budget_of_runs(seconds: float | None) -> Budget:
    """Return the budget of a search on a grid that may take `seconds` (None: any).

    It ends half a second earlier: then the best candidate is executed on numbers.
    """
    return budget_from(None if seconds is None else max(0.0, seconds - ON_NUMBERS))


def budget_of_answer(seconds: float | None, part: float = 1.0) -> Budget:
    """Return the time after which a search on a grid waits for nothing more, not even an answer.

    seconds: of its budget, None for any; 0 asks for a first answer, whatever its time. `part`: of
    these seconds, above 1 for what may end a little later. A request to stop does not end it.
    """
    if not seconds:
        return UNLIMITED
    return replace(budget_from(max(AT_LEAST, seconds * part)), stops_on_request=False)


def run_until(end: Budget, run: Callable[[], T]) -> T | None:
    """Return what a run gives; None if it is not over at the `end`, at which it is interrupted."""
    if not end.is_limited:
        return run()
    if end.is_late:
        return None
    return interrupted_when(lambda: end.is_late or None, run, lambda _: None)


class ExecutableCandidates(Protocol):
    """Mappings of one Einsum that can be simulated: what `CandidateRuns` needs to know of them.

    A choice is one mapping, a member of a family of mappings that differ in their reduction only.
    """

    @property
    def settings(self) -> ExecutionSettings:
        """Machine profile, seed and threads of the runs."""
        ...

    @property
    def quick(self) -> QuickBound:
        """Lower bounds of cycles and energy for families of these mappings."""
        ...

    def plan(self, choice: GridChoice) -> Plan:
        """Return the plan of a mapping; raises InfeasibleMapping if it has none."""
        ...

    def energy(self, choice: GridChoice) -> float:
        """Return the energy (J) of a mapping without leakage; 0 if the objective is latency."""
        ...

    def value_of(self, cycles: float, energy: float) -> float:
        """Return the objective's value of a run of so many cycles.

        energy: joules without leakage, which is added to it.
        """
        ...

    def simulated_value(self, choice: GridChoice, stop: Stop | None = None) -> float:
        """Return the objective's value of a mapping, simulated without data.

        `stop`: asked with the cycles so far whether the run is to end; RunStoppedError is raised
        then.
        """
        ...


class CandidateRuns:
    """Run candidates on the machine, several at a time, for a search of the best one.

    `value`: the objective's value of the best so far; runs that cannot be below it end. `budget`:
    all runs end when its time is over. `seconds`: of the machine, that each run to its end took.
    """

    def __init__(self, candidates: ExecutableCandidates) -> None:
        self.candidates = candidates
        self.value = inf
        self.budget = UNLIMITED
        self.seconds: dict[GridChoice, float] = {}
        self._begun: dict[GridChoice, Future[float]] = {}

    @property
    def is_over(self) -> bool:
        """Whether the time of the budget is over."""
        return self.budget.is_late

    def execute(self, choice: GridChoice, ahead: Iterable[GridChoice]) -> float:
        """Return the objective's value of a candidate, and begin those ahead if there are threads.

        ahead: candidates that the search will probably ask for next. Raises RunStoppedError if the
        run was ended, since it cannot be the best or the time is over; InfeasibleMapping or
        ProgramError if the machine cannot run the candidate.
        """
        threads = self.candidates.settings.threads
        if choice not in self._begun and (threads == 1 or not self._is_long(choice)):
            return self._run(choice)
        for other in (choice, *islice(ahead, threads - 1)):
            if other not in self._begun and len(self._begun) < threads:
                self._begun[other] = _pool(threads).submit(self._run, other)
        return self._begun.pop(choice).result()

    def begin(self, choice: GridChoice) -> None:
        """Begin the run of a candidate that is asked for later, if a thread may do it."""
        threads = self.candidates.settings.threads
        if threads > 1 and self._is_long(choice):
            self._begun[choice] = _pool(threads).submit(self._run, choice)

    def end(self) -> None:
        """Let all runs that were begun end, and forget them."""
        self.value = -inf
        self._begun.clear()

    def _run(self, choice: GridChoice) -> float:
        energy = cache(partial(self.candidates.energy, choice))  # short runs never ask
        start = time.perf_counter()
        value = self.candidates.simulated_value(choice, partial(self._is_unwanted, energy))
        self.seconds[choice] = time.perf_counter() - start
        return value

    def _is_unwanted(self, energy: Callable[[], float], cycles: int) -> bool:
        """Return whether a run is to end: it cannot be the best any more, or the time is over.

        `energy`: gives its energy without leakage (J); `cycles`: that it takes at least.
        """
        return self.is_over or self.candidates.value_of(cycles, energy()) >= self.value

    def _is_long(self, choice: GridChoice) -> bool:
        cycles = self.candidates.quick.cycles(choice.family)
        return cycles * choice.family.elements >= SIDE_BY_SIDE


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "candidate")
