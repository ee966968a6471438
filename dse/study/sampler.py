"""Who proposes the next designs: the protocol, and the samplers that need no history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from tilewright.dse.run.record import Objective, Trial
from tilewright.dse.study.design_space import Choice, Space

SamplerName = Literal["nsga2", "tpe", "random", "grid", "qmc"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A design to try. `notes`: what the sampler must find again on the trial after a resume."""

    choice: Choice
    notes: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Result:
    """What a sampler learns of a trial: values None if it has none; excess of each constraint."""

    values: tuple[float, ...] | None
    excess: Mapping[str, float]


class Sampler(Protocol):
    """Proposes batches. A batch depends on the seed, its number and the results told, alone."""

    def propose(self, batch: int, first: int, count: int) -> list[Proposal]:
        """Propose `count` designs for batch number `batch`; the first is trial number `first`."""
        ...

    def tell(self, results: Sequence[Result]) -> None:
        """Take the results of the batch proposed last, in its order."""
        ...

    def replay(self, trials: Sequence[Trial], results: Sequence[Result]) -> None:
        """Take the trials of an earlier process; called once, before the first proposal."""
        ...


@dataclass(frozen=True, slots=True)
class Search:
    """How to search. `population`: size of a generation of nsga2."""

    sampler: SamplerName
    seed: int
    objectives: tuple[Objective, ...]
    start: tuple[Choice, ...]  # proposed first, in this order
    population: int = 50


def make_sampler(search: Search, space: Space) -> Sampler:
    """Return the sampler that the study asks for."""
    if search.sampler == "grid":
        return _Indexed(search.start, _Grid(space))
    if search.sampler == "random":
        return _Indexed(search.start, _Random(space, search.seed))
    if search.sampler == "qmc":
        return _Indexed(search.start, _Sobol(space, search.seed))
    from tilewright.dse.study.sampler_optuna import OptunaSampler

    return OptunaSampler(search, space)


class _Sequence(Protocol):
    def choices(self, batch: int, first: int, count: int) -> list[Choice]: ...


@dataclass(frozen=True, slots=True)
class _Indexed:
    """Proposes the start designs, then a fixed sequence that results do not influence."""

    start: tuple[Choice, ...]
    sequence: _Sequence

    def propose(self, batch: int, first: int, count: int) -> list[Proposal]:
        fixed = self.start[first : first + count]
        position = max(0, first - len(self.start))
        rest = self.sequence.choices(batch, position, count - len(fixed))
        return [Proposal(choice, {}) for choice in (*fixed, *rest)]

    def tell(self, results: Sequence[Result]) -> None:
        """Learn nothing."""

    def replay(self, trials: Sequence[Trial], results: Sequence[Result]) -> None:
        """Learn nothing: the position follows from the trial number."""


@dataclass(frozen=True, slots=True)
class _Grid:
    space: Space

    def choices(self, batch: int, first: int, count: int) -> list[Choice]:
        del batch
        return [self.space.nth(number % self.space.size) for number in range(first, first + count)]


@dataclass(frozen=True, slots=True)
class _Random:
    space: Space
    seed: int

    def choices(self, batch: int, first: int, count: int) -> list[Choice]:
        del first
        rng = np.random.default_rng(batch_seed(self.seed, batch))
        sizes = [len(dimension.values) for dimension in self.space.dimensions]
        return [tuple(int(rng.integers(size)) for size in sizes) for _ in range(count)]


@dataclass(frozen=True, slots=True)
class _Sobol:
    """Scrambled Sobol sequence; position n is trial n, whatever the batches are."""

    space: Space
    seed: int

    def choices(self, batch: int, first: int, count: int) -> list[Choice]:
        del batch
        if count == 0:
            return []
        from scipy.stats import qmc

        sizes = np.array([len(dimension.values) for dimension in self.space.dimensions])
        rng = np.random.default_rng(np.random.SeedSequence(self.seed))
        sobol = qmc.Sobol(len(sizes), rng=rng)
        if first:
            sobol.fast_forward(first)
        # One by one: asking for several at a position that is no power of two warns.
        rows = [sobol.random(1)[0] for _ in range(count)]
        return [tuple(int(i) for i in np.minimum(row * sizes, sizes - 1)) for row in rows]


def batch_seed(seed: int, batch: int) -> np.random.SeedSequence:
    """Derive the seed of a batch; a resumed run must not repeat the numbers of its first batch."""
    return np.random.SeedSequence([seed, batch])
