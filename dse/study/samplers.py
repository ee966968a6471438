"""The samplers by name."""

from __future__ import annotations

from tilewright.dse.study.design_space import Space
from tilewright.dse.study.sampler import Sampler, SamplerSettings
from tilewright.dse.study.sampler_sequence import (
    GridSequence,
    RandomSequence,
    SequenceSampler,
    SobolSequence,
)


def make_sampler(search: SamplerSettings, space: Space) -> Sampler:
    """Return the sampler of that name (grid, random, qmc, nsga2 or tpe) for a design space."""
    if search.sampler == "grid":
        return SequenceSampler(search.start, GridSequence(space))
    if search.sampler == "random":
        return SequenceSampler(search.start, RandomSequence(space, search.seed))
    if search.sampler == "qmc":
        return SequenceSampler(search.start, SobolSequence(space, search.seed))
    from tilewright.dse.study.sampler_optuna import OptunaSampler

    return OptunaSampler(search, space)
