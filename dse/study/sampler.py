"""The protocol of samplers: what proposes the next designs of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from tilewright.dse.run.record import Objective, Trial
from tilewright.dse.study.design_space import Choice

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
class SamplerSettings:
    """How to search. `population`: size of a generation of nsga2."""

    sampler: SamplerName
    seed: int
    objectives: tuple[Objective, ...]
    start: tuple[Choice, ...]  # proposed first, in this order
    population: int = 50


def batch_seed(seed: int, batch: int) -> np.random.SeedSequence:
    """Derive the seed of a batch; a resumed run must not repeat the numbers of its first batch."""
    return np.random.SeedSequence([seed, batch])
