"""The indexed genetic samplers propose what Optuna's own propose."""

from __future__ import annotations

import optuna
import pytest
from optuna.distributions import IntDistribution

from tilewright.dse.sampling.generations import INDEXED, GenerationIndex

SPACE = {name: IntDistribution(0, 31) for name in ("b", "a", "c")}


def proposals(sampler_of, index=None):
    """Ask and tell 60 trials in batches of 7, the sampler being made anew for each."""
    study = optuna.create_study(directions=["minimize", "minimize"])
    asked = []
    for batch in range(9):
        study.sampler = sampler_of(batch)
        trials = [study.ask(SPACE) for _ in range(7)]
        for trial in trials:
            a, b, c = (trial.params[name] for name in "abc")
            asked.append((a, b, c))
            told = study.tell(trial, None if a == b else [a + b * c, 40 - a + c],
                              optuna.trial.TrialState.FAIL if a == b else None)  # fmt: skip
            if index is not None:
                index.add([told])
    return asked


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize(
    ("name", "original"),
    [("nsga2", optuna.samplers.NSGAIISampler), ("nsga3", optuna.samplers.NSGAIIISampler)],
)
def test_same_proposals(name, original):
    kind = INDEXED[name]
    index = GenerationIndex(SPACE, kind._get_generation_key())

    def indexed(seed):
        sampler = kind(population_size=10, seed=seed)
        sampler.index = index
        return sampler

    expected = proposals(lambda seed: original(population_size=10, seed=seed))
    assert proposals(indexed, index) == expected
