"""Designs that cannot be built are drawn again by every sampler, but for those of the study."""

from __future__ import annotations

import pytest

from tilewright.dse.run.record import Objective
from tilewright.dse.sampling.redraws import MOST_DRAWS, redrawn
from tilewright.dse.sampling.samplers import make_sampler
from tilewright.dse.study.design_space import Dimension, Space
from tilewright.dse.study.sampler import Proposal, Refused, Result, SamplerSettings

SPACE = Space((Dimension("a", (1, 2, 4, 8), True), Dimension("b", (0, 1, 2, 3, 4), True)))
START = (1, 1)
SAMPLERS = ["nsga2", "nsga3", "tpe", "bottleneck", "random", "qmc", "grid"]


def odd(choices):
    """Refuse the designs whose indices add up to an even number: half of all, the start too."""
    return [None if sum(choice) % 2 else f"{sum(choice)} is even" for choice in choices]


@pytest.mark.parametrize("name", SAMPLERS)
def test_no_sampler_proposes_what_cannot_be_built(name):
    objectives = (Objective("x"), Objective("y"))
    sampler = make_sampler(SamplerSettings(name, 3, objectives, (START,), population=4), SPACE)
    first = drawn = 0
    for batch in range(5):
        proposals = sampler.propose(batch, first, 4, odd)
        for number, proposal in enumerate(proposals, first):
            assert number == 0 or sum(proposal.choice) % 2
            assert all(each.reason == odd([each.choice])[0] for each in proposal.refused)
            drawn += len(proposal.refused)
        if batch == 0:
            assert proposals[0].choice == START
            assert not proposals[0].refused
        first += len(proposals)
        sampler.tell([Result((float(p.choice[0]), -1.0), {}, {}, p.choice) for p in proposals])
    assert drawn


def test_a_grid_passes_over_what_cannot_be_built():
    sampler = make_sampler(SamplerSettings("grid", 3, (Objective("x"),), ()), SPACE)
    proposals = [p for batch in range(5) for p in sampler.propose(batch, 2 * batch, 2, odd)]
    buildable = [SPACE.nth(n) for n in range(SPACE.size) if sum(SPACE.nth(n)) % 2]
    assert [p.choice for p in proposals] == buildable
    looked_at = [c for p in proposals for c in (*(r.choice for r in p.refused), p.choice)]
    assert looked_at == [SPACE.nth(n) for n in range(len(looked_at))]


def test_the_last_draw_is_tried_whatever_becomes_of_it():
    drawn = []

    def draw(places, number):
        assert number == len(drawn) + 1
        drawn.append(list(places))
        return [Proposal((len(drawn), place), {}) for place in places]

    proposals = [Proposal((0, place), {}) for place in range(3)]
    found = redrawn(proposals, [0], draw, lambda cs: [None if c[1] == 1 else "no" for c in cs])
    assert found[:2] == proposals[:2]
    assert drawn == [[2]] * (MOST_DRAWS - 1)
    assert found[2].choice == (MOST_DRAWS - 1, 2)
    assert found[2].refused == tuple(Refused((n, 2), "no") for n in range(MOST_DRAWS - 1))
