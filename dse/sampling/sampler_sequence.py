"""Samplers that need no history: grid, random, quasi-random."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count as numbers
from typing import Protocol

import numpy as np

from tilewright.dse.run.record import Trial
from tilewright.dse.sampling.redraws import in_order
from tilewright.dse.study.design_space import Choice, Space
from tilewright.dse.study.sampler import (
    Proposal,
    Refusals,
    Result,
    SamplerSettings,
    batch_seed,
    nothing_refused,
)


class DesignSequence(Protocol):
    """A sequence of designs that does not depend on any result."""

    def choices(self, batch: int, first: int) -> Iterator[Choice]:
        """Yield designs without an end, as value indices, for batch number `batch`.

        `first`: position in the sequence of the first one.
        """
        ...


@dataclass(slots=True)
class SequenceSampler:
    """A sampler that proposes the start designs, then a fixed sequence; results change nothing.

    `passed_over`: designs of the sequence that cannot be built, which became no trials.
    """

    start: tuple[Choice, ...]
    sequence: DesignSequence
    passed_over: int = 0

    def propose(
        self, batch: int, first: int, count: int, refusals: Refusals = nothing_refused
    ) -> list[Proposal]:
        """Return `count` designs from trial number `first` on: start designs, then the sequence.

        Those of the sequence that `refusals` has a reason for are passed over.
        """
        fixed = self.start[first : first + count]
        position = max(0, first - len(self.start)) + self.passed_over
        choices = self.sequence.choices(batch, position)
        further = in_order(choices, count - len(fixed), refusals)
        self.passed_over += sum(len(proposal.refused) for proposal in further)
        return [*(Proposal(choice, {}) for choice in fixed), *further]

    def tell(self, results: Sequence[Result]) -> None:
        """Do nothing: the sequence does not depend on results."""

    def replay(self, trials: Sequence[Trial], results: Sequence[Result]) -> None:
        """Find the place in the sequence: it follows from what was tried and passed over."""
        del results
        self.passed_over = sum(len(trial.refused) for trial in trials)


@dataclass(frozen=True, slots=True)
class GridSequence:
    """All designs of a space in order, the last knob varying fastest; then from the start again."""

    space: Space

    def choices(self, batch: int, first: int) -> Iterator[Choice]:
        """Yield the designs from position `first` on, as value indices per knob."""
        del batch
        return (self.space.nth(number % self.space.size) for number in numbers(first))


@dataclass(frozen=True, slots=True)
class RandomSequence:
    """Designs drawn uniformly from a space, with repetition; each batch has a seed of its own."""

    space: Space
    seed: int

    def choices(self, batch: int, first: int) -> Iterator[Choice]:
        """Yield random designs for batch number `batch`, as value indices."""
        del first
        rng = np.random.default_rng(batch_seed(self.seed, batch))
        sizes = [len(dimension.values) for dimension in self.space.dimensions]
        while True:
            yield tuple(int(rng.integers(size)) for size in sizes)


@dataclass(frozen=True, slots=True)
class SobolSequence:
    """A scrambled Sobol (quasi-random) sequence of designs, which covers the space evenly.

    `seed`: of the scrambling. Position n is the same design whatever the size of the batches is.
    """

    space: Space
    seed: int

    def choices(self, batch: int, first: int) -> Iterator[Choice]:
        """Yield the designs from position `first` on, as value indices per knob."""
        del batch
        from scipy.stats import qmc

        sizes = np.array([len(dimension.values) for dimension in self.space.dimensions])
        rng = np.random.default_rng(np.random.SeedSequence(self.seed))
        sobol = qmc.Sobol(len(sizes), rng=rng)
        if first:
            sobol.fast_forward(first)
        while True:  # one by one: asking for several at a position that is no power of two warns
            row = sobol.random(1)[0]
            yield tuple(int(i) for i in np.minimum(row * sizes, sizes - 1))


def sequence_sampler(search: SamplerSettings, space: Space) -> SequenceSampler:
    """Return the sampler random, qmc, or grid (also called exhaustive) for a design space."""
    if search.sampler == "random":
        return SequenceSampler(search.start, RandomSequence(space, search.seed))
    if search.sampler == "qmc":
        return SequenceSampler(search.start, SobolSequence(space, search.seed))
    return SequenceSampler(search.start, GridSequence(space))
