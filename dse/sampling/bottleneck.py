"""A sampler that relieves what dominates: NSGA-II, and moves of the knobs of a bottleneck.

Half of its designs are steps from a design of the present front. The step changes a knob of the
component or of the Einsum that takes the largest share of an objective, in the direction that has
helped most where such a step was tried before. The other designs are those of NSGA-II, and so is
one whose steps have all been tried. The idea is that of explainable design-space exploration (Dave
et al., 2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial

from tilewright.dse.run.pareto import non_dominated, oriented
from tilewright.dse.sampling.generations import IndexedNSGAII
from tilewright.dse.sampling.sampler_optuna import OptunaSampler
from tilewright.dse.study.design_space import Choice, Space
from tilewright.dse.study.sampler import Result, SamplerSettings

_SHARE = 0.5  # of the designs: steps, the others are those of NSGA-II
_BREAKDOWN_OF: Mapping[str, str] = {"edp": "energy"}
Move = tuple[int, int]
"""A knob by position, and the direction of the step, 1 or -1."""


class BottleneckSampler(OptunaSampler):
    """The sampler `bottleneck`: it steps away from what dominates, or does as NSGA-II."""

    def _make(self, seed: int) -> BaseSampler:
        steps = FrontSteps(self._search, self._space, self.seen)
        return self._indexed(_GuidedNSGAII(steps, self._search.population, seed))


class FrontSteps:
    """The steps that may be taken from the designs of the front, and what such steps have gained.

    A step moves one knob to the next or the previous value. `results`: of all trials so far, with
    their designs and breakdowns.
    """

    def __init__(self, search: SamplerSettings, space: Space, results: Sequence[Result]) -> None:
        self._search = search
        self._space = space
        self._tried = {result.choice for result in results}
        good = [
            result
            for result in results
            if result.values is not None and all(over <= 0 for over in result.excess.values())
        ]
        goals = [objective.goal for objective in search.objectives]
        self._costs = oriented([result.values or () for result in good], goals)
        self._good = good
        self._front = np.flatnonzero(non_dominated(self._costs)).tolist()
        self._gains = self._learned()

    @property
    def paths(self) -> tuple[str, ...]:
        """The names of the knobs, in order."""
        return self._space.paths

    def step(self, rng: np.random.Generator) -> Choice | None:
        """Return a design one step from the front that was not tried yet, None if there is none."""
        if len(self._good) < 2:
            return None
        origin = self._good[int(rng.choice(self._front))]
        objective = int(rng.integers(len(self._search.objectives)))
        for knob, direction in self._moves(origin, objective, rng):
            index = origin.choice[knob] + direction
            if 0 <= index < len(self._space.dimensions[knob].values):
                moved = (*origin.choice[:knob], index, *origin.choice[knob + 1 :])
                if moved not in self._tried:
                    self._tried.add(moved)
                    return moved
        return None

    def _moves(self, origin: Result, objective: int, rng: np.random.Generator) -> list[Move]:
        """Return all moves, those of the dominant part first, then by what they have gained.

        A part is a component, or a component of an Einsum: `Buffer`, `H.DRAM`.

        A move that was never tried counts as a gain, so that each is tried once.
        """
        metric = self._search.objectives[objective].metric
        shares = origin.breakdown.get(_BREAKDOWN_OF.get(metric, metric), {})
        dominant = max(sorted(shares), key=lambda name: shares[name]).split(".") if shares else []
        moves = [(knob, way) for knob in range(len(origin.choice)) for way in (1, -1)]
        tie = rng.random(len(moves)).tolist()

        def rank(position: int) -> tuple[bool, float, float]:
            knob, _ = move = moves[position]
            steps = self._space.dimensions[knob].path.split(".")
            gain = self._gains.get((objective, move), np.inf)
            return not set(dominant) & set(steps), -gain, tie[position]

        return [moves[position] for position in sorted(range(len(moves)), key=rank)]

    def _learned(self) -> dict[tuple[int, Move], float]:
        """Return the mean gain of each move, over all pairs of designs one step apart."""
        position = {result.choice: number for number, result in enumerate(self._good)}
        gains: dict[tuple[int, Move], list[float]] = {}
        for choice, number in position.items():
            for knob, index in enumerate(choice):
                other = position.get((*choice[:knob], index + 1, *choice[knob + 1 :]))
                if other is None:
                    continue
                for objective in range(self._costs.shape[1]):
                    here, there = self._costs[number, objective], self._costs[other, objective]
                    scale = max(abs(here), abs(there)) or 1.0
                    for way, gain in ((1, here - there), (-1, there - here)):
                        gains.setdefault((objective, (knob, way)), []).append(gain / scale)
        return {move: float(np.mean(values)) for move, values in gains.items()}


class _GuidedNSGAII(IndexedNSGAII):
    """NSGA-II of Optuna, in which a step takes the place of some of the children."""

    def __init__(self, steps: FrontSteps, population: int, seed: int) -> None:
        super().__init__(population_size=population, seed=seed)
        self._steps = steps
        self._random = np.random.default_rng(seed)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        params: dict[str, Any] = super().sample_relative(study, trial, search_space)
        if self._random.random() >= _SHARE:
            return params
        step = self._steps.step(self._random)
        if step is None:
            return params
        index_of = dict(zip(self._steps.paths, step, strict=True))
        return {path: index_of[path] for path in search_space}
