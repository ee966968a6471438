"""Optuna behind ask and tell: start designs, resumed runs, designs that cannot be built."""

from __future__ import annotations

import optuna
import pytest
from optuna.trial import TrialState

from tilewright.dse.run.record import Objective, Trial
from tilewright.dse.sampling.sampler_optuna import OptunaSampler
from tilewright.dse.study.design_space import Dimension, Space
from tilewright.dse.study.sampler import Result, SamplerSettings

SPACE = Space(
    (
        Dimension("arch.size", tuple(range(16)), ordered=True),
        Dimension("mapping.kind", ("chain", "ring", "tree"), ordered=False),
    )
)
START = ((15, 2), (0, 0))
BATCH = 6


def settings(sampler, objectives=2):
    metrics = tuple(Objective(name) for name in ("energy", "cycles")[:objectives])
    return SamplerSettings(sampler, 7, metrics, START, population=4)


def result(choice, objectives=2):
    """Small sizes are fast and dear; two of three sizes cannot be built."""
    size, kind = choice
    if size % 3:
        return Result(None, {})
    return Result((float(20 - size + kind), float(1 + size))[:objectives], {"area": size - 12.0})


def trials_of(proposals, first):
    return [
        Trial(
            number=first + offset,
            batch=first // BATCH,
            batch_size=BATCH,
            key=str(first + offset),
            point=SPACE.point(proposal.choice),
            status="feasible",
            sampler=proposal.notes,
        )
        for offset, proposal in enumerate(proposals)
    ]


def run(sampler, batches, objectives):
    """Ask and tell; return all proposals."""
    proposals = []
    for batch in range(batches):
        asked = sampler.propose(batch, batch * BATCH, BATCH)
        sampler.tell([result(proposal.choice, objectives) for proposal in asked])
        proposals += asked
    return proposals


@pytest.mark.parametrize(("name", "objectives"), [("nsga2", 2), ("tpe", 1)])
def test_start_designs_come_first_and_all_lie_in_the_space(name, objectives):
    proposals = run(OptunaSampler(settings(name, objectives), SPACE), 3, objectives)
    choices = [proposal.choice for proposal in proposals]
    assert tuple(choices[:2]) == START
    assert all(SPACE.choice(SPACE.point(choice)) == choice for choice in choices)
    again = run(OptunaSampler(settings(name, objectives), SPACE), 3, objectives)
    assert [proposal.choice for proposal in again] == choices


@pytest.mark.parametrize(("name", "objectives"), [("nsga2", 2), ("tpe", 1)])
@pytest.mark.parametrize("done", [1, 3])
def test_a_resumed_search_proposes_what_an_uninterrupted_one_does(name, objectives, done):
    whole = OptunaSampler(settings(name, objectives), SPACE)
    earlier = run(whole, done, objectives)
    resumed = OptunaSampler(settings(name, objectives), SPACE)
    trials = trials_of(earlier, 0)
    resumed.replay(trials, [result(proposal.choice, objectives) for proposal in earlier])
    asked = [s.propose(done, done * BATCH, BATCH) for s in (whole, resumed)]
    assert [p.choice for p in asked[0]] == [p.choice for p in asked[1]]


def test_designs_that_cannot_be_built_are_avoided():
    """Ten of sixteen sizes cannot be built; of the last designs that are proposed most can."""
    proposals = run(OptunaSampler(settings("nsga2"), SPACE), 20, 2)
    refused = [result(proposal.choice).values is None for proposal in proposals[-60:]]
    assert sum(refused) < 60 / 3


def test_failures_before_two_designs_are_known_teach_nothing():
    """A design that cannot be built is no parent: its trial is told as failed until then."""
    sampler = OptunaSampler(settings("nsga2"), SPACE)
    sampler.propose(0, 0, 4)
    sampler.tell(
        [Result(None, {}), Result((1.0, 1.0), {}), Result((2.0, 2.0), {}), Result(None, {})]
    )
    states = [trial.state.name for trial in sampler._study.trials]
    assert states == ["FAIL", "COMPLETE", "COMPLETE", "COMPLETE"]


class _AtRandom(OptunaSampler):
    """Proposes at random under any name: what Optuna is told is looked at, and torch not needed."""

    def _make(self, seed):
        return optuna.samplers.RandomSampler(seed)


def test_a_sampler_that_fits_all_values_is_told_the_worst_of_what_cannot_be_built():
    told = {}
    for name in ("gp", "optuna.samplers.GPSampler", "nsga2"):
        metrics = (Objective("energy"), Objective("cycles", "maximize"))
        sampler = _AtRandom(SamplerSettings(name, 7, metrics, START, population=4), SPACE)
        run(sampler, 4, 2)
        trials = [t for t in sampler._study.trials if t.state == TrialState.COMPLETE]
        told[name] = [(t.values, t.constraints["can be built"] > 0) for t in trials]
    assert told["gp"] == told["optuna.samplers.GPSampler"]
    worst = None
    for values, is_out in told["gp"]:
        if is_out:
            assert values == worst
        else:
            pair = worst or values
            worst = [max(pair[0], values[0]), min(pair[1], values[1])]
    assert sum(is_out for _, is_out in told["gp"]) > 5
    assert {tuple(values) for values, is_out in told["nsga2"] if is_out} == {(0.0, 0.0)}
