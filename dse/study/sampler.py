"""The protocol of samplers: what proposes the next designs of a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from tilewright.dse.run.record import Objective, Trial
from tilewright.dse.study.design_space import Choice, Value

if TYPE_CHECKING:  # a study file is read without numpy
    import numpy as np

    from tilewright.dse.study.study import StudySpec


@dataclass(frozen=True, slots=True)
class Refused:
    """A design that was proposed and cannot be built: `choice`, its value indices; `reason`."""

    choice: Choice
    reason: str


Refusals = Callable[[Sequence[Choice]], Sequence[str | None]]
"""Says of designs why they cannot be built; None of those that must be tried to know."""


def nothing_refused(choices: Sequence[Choice]) -> Sequence[str | None]:
    """Refuse no design: the `Refusals` of a model that has no check."""
    return [None] * len(choices)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A design that a sampler wants tried.

    `choice`: one value index per knob; `notes`: what the sampler must find again on the trial when
    the run is resumed; `refused`: the designs that it drew before in this place.
    """

    choice: Choice
    notes: Mapping[str, object]
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What a sampler is told of a trial.

    `values`: the objectives in the study's order, None if the design cannot be built; `excess`: by
    how much each constraint is exceeded, 0 or less if it holds; `breakdown`: of its metrics by
    component; `choice`: the design as value indices.
    """

    values: tuple[float, ...] | None
    excess: Mapping[str, float]
    breakdown: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    choice: Choice = ()


class Sampler(Protocol):
    """Strategy that proposes designs in batches and learns from their results.

    A batch depends only on the seed, its number and the results told before, so a resumed run goes
    on as if it had never stopped.
    """

    def propose(
        self, batch: int, first: int, count: int, refusals: Refusals = nothing_refused
    ) -> list[Proposal]:
        """Return `count` designs for batch number `batch`.

        `first`: the number that the first of them gets as a trial. A design for which `refusals`
        has a reason is drawn again, unless the study asks for it: a baseline, a guest.
        """
        ...

    def tell(self, results: Sequence[Result]) -> None:
        """Take the results of the batch that was proposed last, in the order of its designs."""
        ...

    def replay(self, trials: Sequence[Trial], results: Sequence[Result]) -> None:
        """Take the trials of an interrupted run, with their results, as if proposed and told here.

        Called once, before the first proposal.
        """
        ...


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """How a study searches its design space.

    `sampler`: a name of `dse/sampling/samplers.py`, or an import path; `seed`; `objectives`: with
    their goals; `start`: designs that are proposed first, as value indices; `population`: size of a
    generation of nsga2; `options`: keywords of the sampler; `since`: the first batch that it
    proposed, where an extended run began with another one; `guests`: designs that come first in a
    batch, by its number (those of the neighbour of an island).
    """

    sampler: str
    seed: int
    objectives: tuple[Objective, ...]
    start: tuple[Choice, ...]  # proposed first, in this order
    population: int = 50
    options: Mapping[str, Value] = field(default_factory=dict)
    since: int = 0
    guests: Mapping[int, tuple[Choice, ...]] = field(default_factory=dict)


def sampler_settings(spec: StudySpec, since: int = 0) -> SamplerSettings:
    """Return how a study is searched; `since`: the first batch of its present sampler."""
    return SamplerSettings(
        spec.sampler,
        spec.seed,
        spec.objectives,
        tuple(spec.space.choice(baseline.point) for baseline in spec.baselines),
        spec.population,
        spec.sampler_options,
        since,
    )


def batch_seed(seed: int, batch: int) -> np.random.SeedSequence:
    """Return the random seed of one batch of a study, derived from the study's seed.

    Every batch has its own, so that a resumed run does not repeat the numbers of its first batch.
    """
    import numpy as np

    return np.random.SeedSequence([seed, batch])
