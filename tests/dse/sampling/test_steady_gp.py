"""Gaussian processes that fail draw at random: looked at without torch."""

import inspect

import optuna
import pytest
from optuna.distributions import IntDistribution

from tilewright.dse.run.record import Objective
from tilewright.dse.sampling.sampler_optuna import OptunaSampler
from tilewright.dse.sampling.steady_gp import Steady, SteadyGP
from tilewright.dse.study.design_space import Dimension, Space
from tilewright.dse.study.sampler import SamplerSettings

SPACE = Space((Dimension("arch.size", tuple(range(16)), ordered=True),))


def settings(sampler):
    return SamplerSettings(sampler, 1, (Objective("energy"),), (), population=4)


class Failing(optuna.samplers.RandomSampler):
    """Stands for GPSampler, which needs torch: it fails for every second trial."""

    error = AssertionError("not finite")

    def infer_relative_search_space(self, study, trial):
        return {"arch.size": IntDistribution(0, 15)}

    def sample_relative(self, study, trial, search_space):
        if trial.number % 2:
            raise self.error
        return {"arch.size": 15}


class SteadyFailing(Steady, Failing):
    """As SteadyGP is made."""


@pytest.mark.parametrize("error", [AssertionError("not finite"), ZeroDivisionError(), ValueError()])
def test_what_cannot_be_computed_is_drawn_at_random(error, monkeypatch):
    monkeypatch.setattr(Failing, "error", error)
    found = []
    for _ in range(2):
        sampler = OptunaSampler(settings("nsga2"), SPACE)
        monkeypatch.setattr(sampler, "_make", SteadyFailing)
        found.append(sampler.propose(0, 0, 8))
    assert [p.choice for p in found[0]] == [p.choice for p in found[1]]
    for number, proposal in enumerate(found[0]):
        note = str(proposal.notes.get("drawn at random", ""))
        assert note.startswith(type(error).__name__) if number % 2 else not note
    assert {p.choice for p in found[0][::2]} == {(15,)}
    assert len({p.choice for p in found[0][1::2]}) > 1


@pytest.mark.parametrize("name", ["gp", "optuna.samplers.GPSampler"])
def test_a_study_that_names_gp_gets_it_with_its_seed(name):
    kind = OptunaSampler(settings(name), SPACE)._class()
    assert kind is SteadyGP
    assert "seed" in inspect.signature(kind).parameters
