"""Samplers without history: the same designs in any batches, and an even cover."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from tilewright.dse.sampling.sampler_sequence import (
    GridSequence,
    RandomSequence,
    SequenceSampler,
    SobolSequence,
)
from tilewright.dse.study.design_space import Dimension, Space

SPACE = Space(
    (
        Dimension("a", (1, 2, 3, 4), ordered=True),
        Dimension("b", (1, 2), ordered=True),
        Dimension("c", ("x", "y", "z"), ordered=False),
    )
)


def in_batches(sampler, sizes):
    """Return the designs that a sampler proposes in batches of these sizes."""
    choices = []
    for batch, size in enumerate(sizes):
        choices += [p.choice for p in sampler.propose(batch, len(choices), size)]
    return choices


@pytest.mark.parametrize("sequence", [GridSequence(SPACE), SobolSequence(SPACE, 5)])
def test_the_size_of_batches_changes_no_design(sequence):
    sampler = SequenceSampler(((3, 1, 2), (0, 0, 1)), sequence)
    whole = in_batches(sampler, [20])
    assert in_batches(sampler, [1, 1, 7, 0, 11]) == whole
    assert whole[:2] == [(3, 1, 2), (0, 0, 1)]


def test_a_grid_has_every_design_once_and_starts_again():
    choices = list(islice(GridSequence(SPACE).choices(0, 0), SPACE.size + 2))
    assert len(set(choices)) == SPACE.size
    assert choices[SPACE.size :] == choices[:2]


def test_random_designs_follow_from_seed_and_batch_alone():
    def drawn(seed, batch, first=0):
        return list(islice(RandomSequence(SPACE, seed).choices(batch, first), 6))

    assert drawn(5, 3) == drawn(5, 3, first=100)
    assert drawn(5, 3) != drawn(5, 4)
    assert drawn(5, 3) != drawn(6, 3)


@pytest.mark.parametrize("first", [0, 16, 64])
def test_a_sobol_sequence_covers_powers_of_two_evenly(first):
    """In an aligned block of 16 designs 2 or 4 values of a knob are equally frequent."""
    block = list(islice(SobolSequence(SPACE, 5).choices(0, first), 16))
    assert Counter(choice[0] for choice in block) == dict.fromkeys(range(4), 4)
    assert Counter(choice[1] for choice in block) == dict.fromkeys(range(2), 8)


def test_indices_stay_inside_the_space():
    sizes = [len(dimension.values) for dimension in SPACE.dimensions]
    for sequence in (SobolSequence(SPACE, 1), RandomSequence(SPACE, 1)):
        drawn = islice(sequence.choices(0, 0), 200)
        assert all(0 <= i < size for choice in drawn for i, size in zip(choice, sizes, strict=True))
