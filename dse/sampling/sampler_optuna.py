"""Samplers that learn from results: those of Optuna behind our ask-and-tell."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from tilewright.arch.errors import SpecError
from tilewright.dse.run.record import Trial, refused_in
from tilewright.dse.sampling.generations import INDEXED, GenerationIndex, Indexed, IndexedNSGAII
from tilewright.dse.sampling.redraws import redrawn
from tilewright.dse.sampling.sampler_names import OPTUNA_CLASSES, sampler_class
from tilewright.dse.store.safe_files import RunError
from tilewright.dse.study.design_space import Choice, Dimension, Space, canonical_json
from tilewright.dse.study.sampler import (
    Proposal,
    Refusals,
    Result,
    SamplerSettings,
    batch_seed,
    nothing_refused,
)

_BUILDABLE, _UNBUILDABLE_EXCESS = "can be built", 1e9
_REBUILT = ("nsga2", "tpe", "bottleneck")
"""Samplers whose state follows from the trials; others propose their batches again at a resume."""
_OWN_DRAWS = 8
"""Rounds in which a sampler itself draws again what cannot be built."""
_FIXED = "fixed_params"
"""Note of Optuna on a trial whose design it was given."""
_DRAWN = "drawn at random"
"""Note of a trial whose design the sampler could not compute: why."""
_GP = ("gp", "optuna.samplers.GPSampler")
"""Names of the sampler that fits a surface through the values of all designs."""
_CMA_ES = ("cmaes", "optuna.samplers.CmaEsSampler")
"""Names of the sampler that adapts a covariance matrix."""
_DEFAULTS: Mapping[str, Mapping[str, bool]] = {
    "tpe": {"multivariate": True, "constant_liar": True},
    "cmaes": {"warn_independent_sampling": False},  # a warning for each trial
    **{name: {"warn_independent_sampling": False} for name in _GP},
}

optuna.logging.set_verbosity(optuna.logging.ERROR)  # its warnings are of its own arithmetic


@dataclass(frozen=True, slots=True)
class _Told:
    state: TrialState
    values: list[float] | None
    constraints: dict[str, float]


class OptunaSampler:
    """The samplers of Optuna: they learn from the results of earlier designs.

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
        self._random = np.random.default_rng()
        self._enqueued = False
        self._buildable = 0
        self._worst: tuple[float, ...] = ()
        self._generation_key = INDEXED.get(search.sampler, IndexedNSGAII)._get_generation_key()
        self._index = GenerationIndex(self._distributions, self._generation_key)
        self.seen: list[Result] = []

    def propose(
        self, batch: int, first: int, count: int, refusals: Refusals = nothing_refused
    ) -> list[Proposal]:
        """Return `count` designs for batch number `batch`; the study's start designs come first.

        `first` is the number of the first trial. Designs that `refusals` has a reason for are drawn
        again.
        """
        self._enqueue_start(first)
        for choice in self._search.guests.get(batch, ()):
            self._study.enqueue_trial(self._params(choice))
        seeds = batch_seed(self._search.seed, batch).generate_state(2)
        self._study.sampler = self._make(int(seeds[0]))
        self._random = np.random.default_rng(seeds[1])
        with self._asked():
            self._waiting = [self._study.ask(self._distributions) for _ in range(count)]
        proposals = self._proposals(range(count))
        fixed = [place for place, each in enumerate(proposals) if _FIXED in each.notes]
        return redrawn(proposals, fixed, self._drawn_again, refusals)

    def _drawn_again(self, positions: Sequence[int], number: int) -> list[Proposal]:
        """Return other designs for some positions of the batch that is proposed, in a round.

        Those before them fail, of which Optuna's samplers learn nothing: their state follows from
        the trials alone. A sampler that goes on with such designs is given ones drawn at random.
        """
        with self._asked():
            for position in positions:
                self._study.tell(self._waiting[position], None, TrialState.FAIL)
                if number > _OWN_DRAWS:
                    sizes = [len(dimension.values) for dimension in self._space.dimensions]
                    choice = tuple(int(self._random.integers(size)) for size in sizes)
                    self._study.enqueue_trial(self._params(choice))
                self._waiting[position] = self._study.ask(self._distributions)
        return self._proposals(positions)

    def _proposals(self, positions: Sequence[int]) -> list[Proposal]:
        frozen = self._study.get_trials(deepcopy=False)  # start designs wait behind the last ones
        return [self._proposal(frozen[self._waiting[position].number]) for position in positions]

    def tell(self, results: Sequence[Result]) -> None:
        """Pass on to Optuna the results of the batch that was proposed last, in the same order."""
        self.seen += results
        numbers = [trial.number for trial in self._waiting]
        is_in_order = numbers == sorted(numbers) or self._search.sampler not in _REBUILT
        tell = self._tell if is_in_order else self._tell_as_new
        for trial, result in zip(self._waiting, results, strict=True):
            with self._asked():
                self._index.add([tell(trial, self._told(result))])
        self._waiting = []

    def _tell(self, trial: optuna.trial.Trial, told: _Told) -> FrozenTrial:
        for name, excess in told.constraints.items():
            trial.set_constraint(name, excess)
        return self._study.tell(trial, told.values, told.state)

    def _tell_as_new(self, trial: optuna.trial.Trial, told: _Told) -> FrozenTrial:
        """Tell Optuna a result under a new number, as `replay` does.

        Trials that were drawn again have numbers after the others, and samplers look at their
        order.
        """
        frozen = self._study.get_trials(deepcopy=False)[trial.number]
        self._study.tell(trial, None, TrialState.FAIL)
        self._study.add_trial(self._created(frozen.params, frozen.system_attrs, told))
        return self._study.get_trials(deepcopy=False)[-1]

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Blame the sampler for what goes wrong in it, if the study named its class."""
        with _without_warnings():
            try:
                yield
            except Exception as error:
                if "." not in self._search.sampler:
                    raise
                raise SpecError(
                    f"the sampler {self._search.sampler} failed: {type(error).__name__}: {error}",
                    instead="a sampler that takes this study's objectives and knobs",
                ) from error

    def replay(self, trials: Sequence[Trial], results: Sequence[Result]) -> None:
        """Rebuild Optuna's state from the trials of an interrupted run and their results.

        Raises RunError if the sampler would not have proposed these trials.
        """
        told = list(zip(trials, results, strict=True))
        count = next((n for n, t in enumerate(trials) if t.batch >= self._search.since), len(told))
        if self._search.sampler in _REBUILT:
            count = len(told)
        self.seen += results[:count]
        self._study.add_trials([self._frozen(trial, result) for trial, result in told[:count]])
        self._index.add(self._study.get_trials(deepcopy=False))
        sampler = self._make(0)
        if isinstance(sampler, Indexed):
            # The order of parents that were selected before is not that of fresh ones: select
            # those of the oldest generations first, as the first process did.
            generations = [int(t.sampler.get(self._generation_key, 0)) for t in trials[:count]]  # type: ignore[call-overload]
            for generation in range(1, max(generations, default=0) + 1):
                sampler.get_parent_population(self._study, generation)
        while count < len(told):
            batch = told[count : count + told[count][0].batch_size]
            self._propose_again([trial for trial, _ in batch])
            self.tell([result for _, result in batch])
            count += len(batch)

    def _propose_again(self, trials: Sequence[Trial]) -> None:
        """Propose a batch that is known: what a sampler draws decides what it draws later.

        Raises RunError if the sampler proposes other designs than the trials.
        """
        refusals = self._refusals_of(trials)
        proposals = self.propose(trials[0].batch, trials[0].number, len(trials), refusals)
        choices = [self._space.choice(trial.point) for trial in trials]
        if [proposal.choice for proposal in proposals] != choices:
            raise RunError(
                f"the sampler {self._search.sampler} proposes other designs for batch"
                f" {trials[0].batch} than the run has tried",
                instead="the version of Optuna that began the run (env.json has it)",
            )

    def _refusals_of(self, trials: Sequence[Trial]) -> Refusals:
        """Return what was said of the designs that were drawn for some trials.

        Which the study's values may have no longer.
        """
        known = {canonical_json(each["point"]): str(each["reason"]) for each in refused_in(trials)}
        return lambda choices: [known.get(canonical_json(self._space.point(c))) for c in choices]

    def _enqueue_start(self, first: int) -> None:
        if self._enqueued:
            return
        self._enqueued = True
        for choice in self._search.start[first:]:
            self._study.enqueue_trial(self._params(choice))

    def _make(self, seed: int) -> optuna.samplers.BaseSampler:
        options: dict[str, Any] = {"seed": seed, **_DEFAULTS.get(self._search.sampler, {})}
        if self._search.sampler in ("nsga2", "nsga3", "bottleneck"):
            options["population_size"] = self._search.population
        kind = self._class()
        options |= self._search.options
        if "seed" not in inspect.signature(kind).parameters:
            del options["seed"]
        with _without_warnings():
            try:
                return self._indexed(kind(**options))
            except (TypeError, ValueError) as error:
                raise SpecError(
                    f"the sampler {self._search.sampler} refuses its options: {error}",
                    instead="other search.options",
                ) from None

    def _class(self) -> Any:
        """Return the class of the sampler: of our own where that is faster, or does not fail."""
        name = self._search.sampler
        if name in INDEXED:
            return INDEXED[name]
        if name in _GP:
            from tilewright.dse.sampling.steady_gp import SteadyGP

            return SteadyGP
        if name in _CMA_ES:
            from tilewright.dse.sampling.steady_cma_es import SteadyCmaEs

            return SteadyCmaEs
        return sampler_class(name if "." in name else f"optuna.samplers.{OPTUNA_CLASSES[name]}")

    def _indexed(self, sampler: optuna.samplers.BaseSampler) -> optuna.samplers.BaseSampler:
        if isinstance(sampler, Indexed):
            sampler.index = self._index
        return sampler

    def _proposal(self, trial: FrozenTrial) -> Proposal:
        choice = tuple(int(trial.params[path]) for path in self._space.paths)
        notes = dict(trial.system_attrs)
        drawn = getattr(self._study.sampler, "drawn", {})  # of a SteadyGP
        if trial.number in drawn:
            notes[_DRAWN] = drawn[trial.number]
        return Proposal(choice, notes)

    def _frozen(self, trial: Trial, result: Result) -> FrozenTrial:
        params = self._params(self._space.choice(trial.point))
        return self._created(params, trial.sampler, self._told(result))

    def _created(
        self, params: dict[str, Any], notes: Mapping[str, object], told: _Told
    ) -> FrozenTrial:
        return create_trial(
            state=told.state,
            values=told.values,
            params=params,
            distributions=dict(self._distributions),
            system_attrs=dict(notes),
            constraints=told.constraints,
        )

    def _told(self, result: Result) -> _Told:
        """Say what Optuna is told of a result.

        A design that cannot be built breaks one constraint more than any other; its values are
        never compared. Told as failed instead, it would teach nothing: where most designs cannot
        be built, NSGA-II would search at random until its first generation is full. But before
        two parents are known, random search is what is wanted. A sampler that fits all values is
        told the worst so far: zeros would make a valley of what cannot be built.
        """
        if result.values is not None:
            self._buildable += 1
            self._worst = self._worse(result.values)
            constraints = {_BUILDABLE: 0.0, **result.excess}
            return _Told(TrialState.COMPLETE, list(result.values), constraints)
        if self._buildable < 2:
            return _Told(TrialState.FAIL, None, {})
        values = [0.0] * len(self._search.objectives)
        if self._search.sampler in _GP:
            values = list(self._worst)
        return _Told(TrialState.COMPLETE, values, {_BUILDABLE: _UNBUILDABLE_EXCESS})

    def _worse(self, values: Sequence[float]) -> tuple[float, ...]:
        """Return the worst value of each objective: of these, and those of earlier designs."""
        worst = self._worst or tuple(values)
        pairs = zip(self._search.objectives, worst, values, strict=True)
        return tuple(max(k, v) if o.goal == "minimize" else min(k, v) for o, k, v in pairs)

    def _params(self, choice: Choice) -> dict[str, Any]:
        return dict(zip(self._space.paths, choice, strict=True))


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep Optuna's marks of what is experimental, and what CMA-ES does not use, off the screen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _distribution(dimension: Dimension) -> BaseDistribution:
    size = len(dimension.values)
    if dimension.ordered:
        return IntDistribution(0, size - 1)
    return CategoricalDistribution(tuple(range(size)))
