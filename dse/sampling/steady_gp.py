"""Optuna's Gaussian processes, which draw at random where their arithmetic fails."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, GPSampler
from optuna.study import Study
from optuna.trial import FrozenTrial


class Steady(BaseSampler):
    """Before another sampler: a proposal that it cannot compute is drawn at random.

    What is drawn follows from the seed, too. `drawn`: why, by the number of the trial.
    """

    drawn: Mapping[int, str] = MappingProxyType({})

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the proposed values; none where they cannot be computed."""
        try:
            return super().sample_relative(study, trial, search_space)  # type: ignore[safe-super]
        except (AssertionError, ArithmeticError, ValueError, RuntimeError) as error:
            self.drawn = {**self.drawn, trial.number: f"{type(error).__name__}: {error}"[:200]}
            return {}


class SteadyGP(Steady, GPSampler):
    """GPSampler that ends no study.

    Where designs lie close together, samples of its posterior may be infinite; then Optuna 5.0
    raises an AssertionError.
    """
