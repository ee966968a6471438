"""Make the sampler that a study names."""

from __future__ import annotations

from tilewright.dse.sampling.sampler_names import GUIDED, SEQUENCES
from tilewright.dse.study.design_space import Space
from tilewright.dse.study.sampler import Sampler, SamplerSettings


def make_sampler(search: SamplerSettings, space: Space) -> Sampler:
    """Return the sampler of that name for a design space."""
    if search.sampler in SEQUENCES:
        from tilewright.dse.sampling.sampler_sequence import sequence_sampler

        return sequence_sampler(search, space)
    from tilewright.dse.sampling.sampler_optuna import OptunaSampler

    if search.sampler == GUIDED:
        from tilewright.dse.sampling.bottleneck import BottleneckSampler

        return BottleneckSampler(search, space)
    return OptunaSampler(search, space)
