"""The bottleneck sampler: a step turns a knob of the component that dominates."""

from __future__ import annotations

import numpy as np

from tilewright.dse.run.record import Objective
from tilewright.dse.sampling.bottleneck import FrontSteps
from tilewright.dse.study.design_space import Dimension, Space
from tilewright.dse.study.sampler import Result, SamplerSettings

SPACE = Space(
    (
        Dimension("arch.Buffer.size", tuple(range(8)), ordered=True),
        Dimension("arch.Lanes.fanout", tuple(range(8)), ordered=True),
    )
)


def told(choice, energy, dominant):
    other = "Lanes" if dominant == "Buffer" else "Buffer"
    return Result((energy,), {}, {"energy": {dominant: 0.9 * energy, other: 0.1 * energy}}, choice)


def test_the_dominant_component_is_turned():
    search = SamplerSettings("bottleneck", 0, (Objective("energy"),), ())
    for dominant, knob in (("Buffer", 0), ("Lanes", 1)):
        results = [told((4, 4), 1.0, dominant), told((6, 6), 2.0, dominant)]
        steps = FrontSteps(search, SPACE, results)
        moved = [steps.step(np.random.default_rng(seed)) for seed in range(2)]
        assert all(choice[1 - knob] == 4 and abs(choice[knob] - 4) == 1 for choice in moved)
        assert len(set(moved)) == 2, "a step is taken once"


def test_knobs_of_the_dominant_einsum_are_turned():
    search = SamplerSettings("bottleneck", 0, (Objective("cycles"),), ())
    paths = ("mapping.H.rows", "mapping.Y.rows")
    space = Space(tuple(Dimension(path, tuple(range(8)), ordered=True) for path in paths))
    for dominant, knob in (("H.DRAM", 0), ("Y.matrix unit", 1)):
        parts = {"cycles": {"H.DRAM": 2.0, "Y.matrix unit": 2.0} | {dominant: 5.0}}
        results = [Result((7.0,), {}, parts, (4, 4)), Result((9.0,), {}, parts, (6, 6))]
        choice = FrontSteps(search, space, results).step(np.random.default_rng(0))
        assert choice[1 - knob] == 4
        assert abs(choice[knob] - 4) == 1


def test_the_direction_that_has_helped_comes_first():
    search = SamplerSettings("bottleneck", 0, (Objective("energy"),), ())
    results = [told((index, 4), 10.0 - index, "Buffer") for index in range(4)]
    assert FrontSteps(search, SPACE, results).step(np.random.default_rng(0)) == (4, 4)
