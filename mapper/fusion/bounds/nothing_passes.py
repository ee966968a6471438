"""Find the Einsums of which only the cheapest mapping is needed if they keep nothing on chip.

An Einsum that keeps none of its exchanged tensors on chip shares no loops. The bits that it
reserves matter only if tensors of other Einsums are on chip while it runs. Such a tensor stands
above all loops, so that it is whole: most do not fit. Where none can be there, only the cost of the
Einsum matters.

Example: Q, K, V and S = Q K in this order. Q is written first: nothing can be on chip meanwhile.
While V is computed, Q and K may be, but only if a whole one fits.
"""

from __future__ import annotations

from math import inf

import numpy as np

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.boundary.tile_size import extent_of
from tilewright.mapper.fusion.fused_problem import FusedProblem
from tilewright.mapper.fusion.groups.fusion_groups import is_divisible


def einsums_passed_by_nothing(problem: FusedProblem) -> frozenset[int]:
    """Return the numbers of the Einsums during which no other Einsums' tensor can be on chip.

    No Einsum at all if the objective is not energy or latency alone, if ties are broken, or if the
    workload cannot be searched part by part (is_divisible).
    """
    decided_by_cost = problem.objective in ("energy", "latency") and problem.ties is None
    if not decided_by_cost or problem.is_narrowed or not is_divisible(problem):
        return frozenset()
    exchanged = problem.exchanged
    numbers: set[int] = set()
    for number, einsum in enumerate(exchanged.workload.einsums):
        before = exchanged.live_after(number - 1) if number else ()
        passing = set(before) & set(exchanged.live_after(number))
        others = (place for place in passing if place.tensor not in einsum.tensors)
        if not any(_fits_whole(problem, place) for place in others):
            numbers.add(number)
    return frozenset(numbers)


def _fits_whole(problem: FusedProblem, place: TensorPlace) -> bool:
    """Tell whether a memory on chip can hold a whole tensor, in the width that its writer sees."""
    exchanged = problem.exchanged
    capacity = problem.capacities[exchanged.memories.index(place.memory)]
    if capacity == inf:
        return True
    writer = exchanged.users[place.tensor][0]
    einsum, entry = exchanged.workload.einsums[writer], problem.einsums[writer]
    assert isinstance(entry, tuple)  # divisible workloads have no copies
    access = einsum.access(place.tensor)
    widths = [
        fused.space.problem.holder(place.memory).bits_per_value.get(
            place.tensor, access.bits_per_value
        )
        for fused in entry
    ]
    names = exchanged.loop_names_of(einsum)
    whole = extent_of(einsum, names, place.tensor, float(min(widths)))
    return float(whole.bits_below((), np.zeros((1, 0), np.int64))[0]) <= capacity
