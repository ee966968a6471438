"""Choices of tensors on chip that agree, against every combination."""

from __future__ import annotations

from fused_cases import workload_of
from hypothesis import given
from hypothesis import strategies as st

from tilewright.mapper.fusion.boundary.exchanged_tensors import exchanged_tensors_of
from tilewright.mapper.fusion.bounds.on_chip_relaxation import OnChipRelaxation

DIAMOND = (
    "Y[m] = A[m] * B[m]",
    "X[m] = Y[m] * C[m]",
    "V[m] = Y[m] * D[m]",
    "Z[m] = X[m] * V[m]",
)


@given(st.lists(st.integers(0, 9), min_size=12, max_size=12))
def test_choices_that_agree_add_up(costs: list[int]) -> None:
    """Against every combination of what each Einsum of a diamond keeps on chip."""
    boundaries = exchanged_tensors_of(workload_of(DIAMOND, {"m": 4}))
    names = [boundaries.places_of_einsum(einsum) for einsum in boundaries.workload.einsums]
    priced: list[dict[int, float]] = [{}, {}, {}, {}]
    for place, cost in enumerate(costs):
        few = priced[place % 4]
        if len(few) < 1 << len(names[place % 4]):
            few[len(few)] = float(cost)
    choices = OnChipRelaxation(boundaries, priced)
    sums: list[dict[int, float]] = [{}, {}, {}, {}]
    for chip in range(8):
        kept = {t for i, t in enumerate(("Y", "X", "V")) if chip >> i & 1}
        masks = [sum(1 << i for i, p in enumerate(own) if p.tensor in kept) for own in names]
        if all(mask in few for mask, few in zip(masks, priced, strict=True)):
            total = sum(few[mask] for mask, few in zip(masks, priced, strict=True))
            for number, mask in enumerate(masks):
                rest = total - priced[number][mask]
                sums[number][mask] = min(rest, sums[number].get(mask, float("inf")))
    found = [
        {mask: cost for mask, cost in each.items() if cost < float("inf")}
        for each in choices.costs_of_others(priced)
    ]
    assert found == sums
