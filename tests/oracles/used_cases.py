"""Random small workloads on lanes that must be used, default conventions or not."""

from __future__ import annotations

import random

from fused_cases import CHAINS, DAGS, two_text, workload_of

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload import Workload


def random_used_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design with one or two dimensions of lanes below the buffer, with min_usage."""
    rng = random.Random(f"used {seed}")
    texts = rng.choice((CHAINS[0], CHAINS[2], *DAGS[:4]))
    names = sorted({c for text in texts for c in text if c.islower()})
    sizes = {name: rng.choice((2, 2, 3, 4)) for name in names}
    dims = [
        f"{{name: {name}, fanout: {rng.choice((2, 3, 4))},"
        f" min_usage: {rng.choice((0.5, 0.75, 1))}}}"
        for name in ("x", "y")[: 1 + (len(names) < 4 and seed % 2)]
    ]
    lanes = f"  - !Container\n    name: PE\n    spatial: [{', '.join(dims)}]\n"
    text = two_text(rng.choice((3, 4, 6, 8, 12)), (rng.choice((5, 50)), 1), rng.choice((0, 2)))
    arch = load_arch(text.replace("  - !Compute", lanes + "  - !Compute"))
    return arch, workload_of(texts, sizes), rng.choice(("default", "accelforge"))
