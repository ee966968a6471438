"""Random small workloads with tensors of one Einsum that only the buffer has."""

from __future__ import annotations

import random
from collections import Counter

from fused_cases import random_case, random_halo_case, random_spread_case, two_text

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload import Workload


def random_backed_case(seed: int) -> tuple[Arch, Workload, str]:
    """Return a design whose buffer must or may back what no other Einsum uses, default conventions.

    In some there are lanes above the buffer.
    """
    rng = random.Random(f"backed {seed}")
    drawn = rng.choice((random_case, random_case, random_halo_case, random_spread_case))
    _, workload, _ = drawn(seed)
    users = Counter(tensor for einsum in workload.einsums for tensor in einsum.tensors)
    alone = [tensor for tensor, count in users.items() if count == 1]
    some = " | ".join(rng.sample(alone, rng.choice((1, 1, 2)) if len(alone) > 1 else 1))
    may = rng.choice(("Intermediates", "All"))
    text = two_text(rng.choice((3, 4, 6, 8, 12, 16)), (rng.choice((5, 50)), 1), rng.choice((0, 2)))
    text = text.replace('keep: "~Intermediates", may_keep: All', f"keep: OUTSIDE, may_keep: {may}")
    text = text.replace("OUTSIDE", f'"~Intermediates & ~({some})"')
    if rng.random() < 0.3:
        text = text.replace('keep: "~DRAM"', f'keep: "~DRAM", back: "{some}"')
    if drawn is random_spread_case:
        memory = "  - !Memory\n    name: BUF\n"
        dims = f"    spatial: [{{name: x, fanout: {rng.choice((2, 3))}}}]\n"
        text = text.replace(memory, "  - !Container\n    name: TILE\n" + dims + memory)
    return load_arch(text), workload, "default"
