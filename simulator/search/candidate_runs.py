"""Runs of the candidates of a search, side by side, each ended when it cannot be the best.

The answer does not depend on the number of threads: a search takes the results in the order of its
bounds, and a run that ends early is one whose value is not below the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from itertools import islice
from math import inf
from typing import Final, Protocol

from tilewright.mapper.grid.grid_mapspace import GridChoice
from tilewright.mapper.searches.budget import UNLIMITED
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.run.machine import Stop
from tilewright.simulator.search.quick_bound import QuickBound

LONG_RUN: Final = 4_000_000
"""Cycles times elements from which on runs go side by side: some 0.3 s (engine-speed.md)."""


class ExecutableCandidates(Protocol):
    """Mappings of one Einsum that can be run: what runs need to know of them."""

    @property
    def settings(self) -> ExecutionSettings:
        """How they are executed."""
        ...

    @property
    def quick(self) -> QuickBound:
        """Lower bounds of their cycles."""
        ...

    def plan(self, choice: GridChoice) -> Plan:
        """Return the plan of a choice; raises InfeasibleMapping if it has none."""
        ...

    def energy(self, choice: GridChoice) -> float:
        """Return the energy (J) of a choice without leakage; 0 where it does not matter."""
        ...

    def value_of(self, cycles: float, energy: float) -> float:
        """Return the objective's value of cycles and of an energy (J) without leakage."""
        ...

    def simulated_value(self, choice: GridChoice, stop: Stop | None = None) -> float:
        """Return the value of a choice, which runs on the machine.

        Raises RunStoppedError where `stop` says so.
        """
        ...


class CandidateRuns:
    """Runs of candidates. `value`: the best so far; runs that cannot be below it end.

    `budget`: all runs end with it.
    """

    def __init__(self, candidates: ExecutableCandidates) -> None:
        self.candidates = candidates
        self.value = inf
        self.budget = UNLIMITED
        self._begun: dict[GridChoice, Future[float]] = {}

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return self.budget.is_late

    def execute(self, choice: GridChoice, ahead: Iterable[GridChoice]) -> float:
        """Return the value of a choice, and begin those ahead if there are threads for them.

        Raises RunStoppedError if the run was ended; InfeasibleMapping or ProgramError if the
        machine cannot run the choice.
        """
        threads = self.candidates.settings.threads
        if choice not in self._begun and (threads == 1 or not self._is_long(choice)):
            return self._run(choice)
        for other in (choice, *islice(ahead, threads - 1)):
            if other not in self._begun and len(self._begun) < threads:
                self._begun[other] = _pool(threads).submit(self._run, other)
        return self._begun.pop(choice).result()

    def end(self) -> None:
        """End all runs that go on."""
        self.value = -inf
        self._begun.clear()

    def _run(self, choice: GridChoice) -> float:
        energy = cache(partial(self.candidates.energy, choice))  # short runs never ask
        return self.candidates.simulated_value(choice, partial(self._is_unwanted, energy))

    def _is_unwanted(self, energy: Callable[[], float], cycles: int) -> bool:
        """Return whether a run of an energy without leakage (J) and of at least `cycles` ends."""
        return self.is_over or self.candidates.value_of(cycles, energy()) >= self.value

    def _is_long(self, choice: GridChoice) -> bool:
        elements = self.candidates.plan(choice).placement.size
        return self.candidates.quick.cycles(choice.family) * elements >= LONG_RUN


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, "candidate")
