"""Samplers that learn from results: Optuna's NSGA-II and TPE behind our ask-and-tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from tilewright.dse.run.record import Trial
from tilewright.dse.study.design_space import Choice, Dimension, Space
from tilewright.dse.study.sampler import Proposal, Result, SamplerSettings, batch_seed

_BUILDABLE, _UNBUILDABLE_EXCESS = "can be built", 1e9
_GENERATION = "NSGAIISampler:generation"

optuna.logging.set_verbosity(optuna.logging.WARNING)


@dataclass(frozen=True, slots=True)
class _Told:
    state: TrialState
    values: list[float] | None
    constraints: dict[str, float]


class OptunaSampler:
    """The samplers NSGA-II and TPE of Optuna: they learn from the results of earlier designs.

    Optuna is asked for one value index per knob. Its sampler is made anew for every batch from
    (seed, batch number): one that lives on would give other numbers after a resume, and one made
    anew from the same seed would repeat itself.
    """

    def __init__(self, search: SamplerSettings, space: Space) -> None:
        self._search = search
        self._space = space
        self._distributions: dict[str, BaseDistribution] = {
            d.path: _distribution(d) for d in space.dimensions
        }
        self._study = optuna.create_study(
            directions=[objective.goal for objective in search.objectives]
        )
        self._waiting: list[optuna.trial.Trial] = []
        self._enqueued = False
        self._buildable = 0

    def propose(self, batch: int, first: int, count: int) -> list[Proposal]:
        """Return `count` designs for batch number `batch`; the study's start designs come first.

        `first` is the number of the first trial.
        """
        self._enqueue_start(first)
        self._study.sampler = self._make(
            int(batch_seed(self._search.seed, batch).generate_state(1)[0])
        )
        self._waiting = [self._study.ask(self._distributions) for _ in range(count)]
        frozen = self._study.get_trials(deepcopy=False)[-count:]
        return [self._proposal(trial) for trial in frozen]

    def tell(self, results: Sequence[Result]) -> None:
        """Pass on to Optuna the results of the batch that was proposed last, in the same order."""
        for trial, result in zip(self._waiting, results, strict=True):
            told = self._told(result)
            for name, excess in told.constraints.items():
                trial.set_constraint(name, excess)
            self._study.tell(trial, told.values, told.state)
        self._waiting = []

    def replay(self, trials: Sequence[Trial], results: Sequence[Result]) -> None:
        """Rebuild Optuna's state from the trials of an interrupted run and their results."""
        self._study.add_trials(
            [self._frozen(trial, result) for trial, result in zip(trials, results, strict=True)]
        )
        sampler = self._make(0)
        if isinstance(sampler, optuna.samplers.NSGAIISampler):
            # Optuna caches the parents of each generation, and the order of cached parents is
            # not that of fresh ones: fill the cache oldest first, as the first process did.
            generations = [int(t.sampler.get(_GENERATION, 0)) for t in trials]  # type: ignore[call-overload]
            for generation in range(1, max(generations, default=0) + 1):
                sampler.get_parent_population(self._study, generation)

    def _enqueue_start(self, first: int) -> None:
        if self._enqueued:
            return
        self._enqueued = True
        for choice in self._search.start[first:]:
            self._study.enqueue_trial(self._params(choice))

    def _make(self, seed: int) -> optuna.samplers.BaseSampler:
        if self._search.sampler == "nsga2":
            return optuna.samplers.NSGAIISampler(population_size=self._search.population, seed=seed)
        return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)

    def _proposal(self, trial: FrozenTrial) -> Proposal:
        choice = tuple(int(trial.params[path]) for path in self._space.paths)
        return Proposal(choice, dict(trial.system_attrs))

    def _frozen(self, trial: Trial, result: Result) -> FrozenTrial:
        told = self._told(result)
        return create_trial(
            state=told.state,
            values=told.values,
            params=self._params(self._space.choice(trial.point)),
            distributions=dict(self._distributions),
            system_attrs=dict(trial.sampler),
            constraints=told.constraints,
        )

    def _told(self, result: Result) -> _Told:
        """Say what Optuna is told of a result.

        A design that cannot be built breaks one constraint more than any other; its values are
        never compared. Told as failed instead, it would teach nothing: where most designs cannot
        be built, NSGA-II would search at random until its first generation is full. But before
        two parents are known, random search is what is wanted.
        """
        if result.values is not None:
            self._buildable += 1
            constraints = {_BUILDABLE: 0.0, **result.excess}
            return _Told(TrialState.COMPLETE, list(result.values), constraints)
        if self._buildable < 2:
            return _Told(TrialState.FAIL, None, {})
        values = [0.0] * len(self._search.objectives)
        return _Told(TrialState.COMPLETE, values, {_BUILDABLE: _UNBUILDABLE_EXCESS})

    def _params(self, choice: Choice) -> dict[str, Any]:
        return dict(zip(self._space.paths, choice, strict=True))


def _distribution(dimension: Dimension) -> BaseDistribution:
    size = len(dimension.values)
    if dimension.ordered:
        return IntDistribution(0, size - 1)
    return CategoricalDistribution(tuple(range(size)))
