"""The genetic samplers of Optuna with an index of generations, fast for thousands of trials.

Optuna looks for the generation of a trial, its population and the parents among all trials of the
study, for each trial anew: ten thousand trials take minutes. Here an index has them. The designs
that are proposed are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import NSGAIIISampler, NSGAIISampler
from optuna.trial import FrozenTrial, TrialState


class GenerationIndex:
    """The completed trials of a study by generation, and the parents that were selected.

    `space`: distributions of all knobs; `key`: attribute in which a trial has its generation.
    """

    def __init__(self, space: dict[str, BaseDistribution], key: str) -> None:
        self._space = {name: space[name] for name in sorted(space) if not space[name].single()}
        self._key = key
        self._populations: dict[int, list[FrozenTrial]] = {}
        self._any_complete = False
        self.parents: dict[int, list[FrozenTrial]] = {}

    def add(self, trials: Iterable[FrozenTrial]) -> None:
        """Take finished trials, in order of their numbers."""
        for trial in trials:
            if trial.state != TrialState.COMPLETE:
                continue
            self._any_complete = True
            generation = trial.system_attrs.get(self._key)
            if generation is not None:
                self._populations.setdefault(generation, []).append(trial)

    def population(self, generation: int) -> list[FrozenTrial]:
        """Return the completed trials of a generation, by number."""
        return list(self._populations.get(generation, ()))

    def next_generation(self, size: int) -> int:
        """Return the generation of the next trial: one more than the last one if that is full.

        It is full with `size` completed trials.
        """
        last = max(self._populations, default=0)
        return last + (len(self._populations.get(last, ())) >= size)

    def space(self) -> dict[str, BaseDistribution]:
        """Return the distributions that all completed trials have: none before the first."""
        return dict(self._space) if self._any_complete else {}


class Indexed:
    """The questions that a genetic sampler of Optuna asks, answered from an index (a mixin)."""

    index: GenerationIndex
    _population_size: Any

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the distributions of the knobs that the sampler draws from, by name.

        They are the same for all trials; none before the first completed trial.
        """
        del study, trial
        return self.index.space()

    def get_trial_generation(self, study: Study, trial: FrozenTrial) -> int:
        """Return the generation of a trial; a new trial is given one."""
        key = self._get_generation_key()
        generation = trial.system_attrs.get(key, None)
        if generation is not None:
            return int(generation)
        generation = self.index.next_generation(self._population_size)
        study._storage.set_trial_system_attr(trial._trial_id, key, generation)
        return generation

    def get_population(self, study: Study, generation: int) -> list[FrozenTrial]:
        """Return the completed trials of a generation."""
        del study
        return self.index.population(generation)

    def get_parent_population(self, study: Study, generation: int) -> list[FrozenTrial]:
        """Return the parents of a generation, from which its trials are made.

        In the order of their selection at the first call, then by number of the trial, as Optuna
        does.
        """
        if generation == 0:
            return []
        if generation in self.index.parents:
            return self.index.parents[generation]
        selected: list[FrozenTrial] = self.select_parent(study, generation)
        by_number = {trial.number: trial for trial in selected}  # NSGA-III may select one twice
        self.index.parents[generation] = [by_number[number] for number in sorted(by_number)]
        return selected

    def select_parent(self, study: Study, generation: int) -> list[FrozenTrial]:
        """Select the parents of a generation; Optuna's classes do."""
        raise NotImplementedError

    @classmethod
    def _get_generation_key(cls) -> str:
        raise NotImplementedError


class IndexedNSGAII(Indexed, NSGAIISampler):
    """NSGA-II of Optuna that takes trials and parents of a generation from an index."""

    select_parent = NSGAIISampler.select_parent

    @classmethod
    def _get_generation_key(cls) -> str:
        return NSGAIISampler._get_generation_key()


class IndexedNSGAIII(Indexed, NSGAIIISampler):
    """NSGA-III of Optuna that takes trials and parents of a generation from an index."""

    select_parent = NSGAIIISampler.select_parent

    @classmethod
    def _get_generation_key(cls) -> str:
        return NSGAIIISampler._get_generation_key()


INDEXED: dict[str, Any] = {"nsga2": IndexedNSGAII, "nsga3": IndexedNSGAIII}
"""The indexed samplers by their names in a study."""
