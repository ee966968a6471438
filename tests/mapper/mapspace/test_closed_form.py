"""Points counted by the gaps of variables alone, beside templates counted one by one."""

from __future__ import annotations

import random

import pytest
from array_cases import loose_space_of
from explore import at_night
from search_cases import space_of
from tight_cases import tight_space_of

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.counting.closed_form import ClosedFormCounts, CountCache
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = """
arch:
  nodes:
  - !Memory {name: DRAM, size: inf, tensors: {keep: DRAM, may_keep: All}, COST}
  - !Memory {name: BUF, size: inf, tensors: {keep: BUF, ORDER}, COST}
  - !Container {name: PE, spatial: [{name: x, fanout: 4, DIM}, {name: y, fanout: 3}]}
  - !Memory {name: REG, size: inf, tensors: {keep: Nothing, may_keep: All}, COST}
  - !Compute {name: MAC, leak_power: 0, area: 0, actions: [{name: compute, energy: 1, RATE}]}
"""


def random_space(seed: int) -> Mapspace:
    """Return a mapspace with more room than is needed, and few rules."""
    rng = random.Random(seed)
    both = "[{name: read, energy: 1, RATE}, {name: write, energy: 1, RATE}]"
    text = ARCH.replace("COST", f"leak_power: 0, area: 0, actions: {both}")
    text = text.replace("RATE", "throughput: 1")
    text = text.replace("keep: DRAM", f"keep: {rng.choice(('All', 'input', 'input | weight'))}")
    text = text.replace("keep: BUF", f"keep: {rng.choice(('Nothing', 'output', 'weight'))}")
    orders = ("may_keep: All", "may_keep: All, tensor_order_options: [[output, input | weight]]")
    text = text.replace("ORDER", rng.choice(orders))
    text = text.replace("DIM", rng.choice(("min_usage: 1", "reuse: input", "may_reuse: All")))
    form = rng.choice(
        ("Z[m, n] = A[m, k] * B[k, n]", "Z[m] = A[m, k] * B[k]", "Z[m, n] = A[m] * B[n]")
    )
    sizes = {v.upper(): rng.choice((2, 4, 6)) for v in "mkn" if v in form}
    listed = ", ".join(f"{v}: {n}" for v, n in sizes.items())
    workload = load_workload(
        f"workload:\n  rank_sizes: {{{listed}}}\n  bits_per_value: {{All: 8}}\n"
        f'  einsums:\n  - {{einsum: "{form}", renames: {{input: A, weight: B, output: Z}}}}\n'
    )
    (einsum,) = workload.einsums
    (flat,) = flatten(load_arch(text), workload.scope(einsum))
    return Mapspace(einsum, flat, rng.choice(("default", "accelforge")))


def compared(space: Mapspace) -> int:
    """Compare both counts of each plain placement; return how many of these there are."""
    counts, number = ClosedFormCounts(space.problem, CountCache()), 0
    for placement in space.placements:
        template = space.first_template(placement)
        if template is None or not counts.is_plain(placement, template):
            continue
        number += 1
        part = space.narrowed(space.each_template([placement]))
        points = part.size.points
        assert counts.count(placement, template) == (len(part.templates), points)
        assert part.count_fitting() == points
    return number


@pytest.mark.parametrize("seed", [*range(3), *at_night(*range(3, 6))])
def test_plain_placements_are_counted_as_one_by_one(seed: int) -> None:
    assert compared(random_space(seed)) > 0


def test_plain_placements_of_any_design_are_counted_as_one_by_one() -> None:
    found = [compared(make(seed)) for make in (space_of, tight_space_of) for seed in range(12)]
    found += [compared(loose_space_of(seed)) for seed in (81, 87, 90, 105, 123)]
    assert sum(number > 0 for number in found) >= 2
