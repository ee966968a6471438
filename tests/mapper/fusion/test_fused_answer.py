"""From the best label to the mapping, and the restrictions of its certificate."""

from __future__ import annotations

import pytest
from copied_cases import workload_with_copies
from fused_cases import workload_of
from fused_example import WORKLOAD, join_search, machine, plan

from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.fusion.fused_answer import (
    fused_restrictions,
    mapping_of_joined,
    tensors_on_chip,
)
from tilewright.mapper.mapping.mapping import Storage, Temporal
from tilewright.mapper.searches.restrictions import (
    COPY_INPUTS_RESERVED,
    EINSUM_ORDER_FIXED,
    EXCHANGE_THROUGH_OUTERMOST,
    EXCHANGED_IN_OUTERMOST,
    FUSION_THROUGH,
)


@pytest.mark.parametrize(("buffer_bits", "energy", "loops"), [(12, 2568, 0), (8, 3376, 1)])
def test_the_mapping_costs_what_its_label_says(buffer_bits: int, energy: int, loops: int) -> None:
    """theory/fusion.md, the running example: Y whole, or below a loop over m of tile 2."""
    search = join_search(buffer_bits)
    result = search.solve()
    assert result.mapping is not None
    assert tensors_on_chip(result) == ("Y",)
    mapping = mapping_of_joined(result.mapping, search.problem.exchanged)
    assert evaluate(machine(buffer_bits), WORKLOAD, mapping).energy == energy
    above = mapping.nodes[: mapping.nodes.index(Storage(("Y",), "BUF"))]
    assert [node for node in above if isinstance(node, Temporal)] == [Temporal("m", 2)] * loops


def test_restrictions_name_the_exchange_memory() -> None:
    prepared = plan(12)
    restrictions = fused_restrictions(prepared.problem, prepared.memories)
    assert EINSUM_ORDER_FIXED() in restrictions
    assert FUSION_THROUGH(memories=["BUF"]) in restrictions
    assert COPY_INPUTS_RESERVED() not in restrictions


def test_restrictions_where_nothing_is_exchanged() -> None:
    """Both Einsums only read B."""
    workload = workload_of(("Y[m] = A[m] * B[m]", "Z[m] = C[m] * B[m]"), {"m": 2})
    prepared = plan(12, workload)
    restrictions = fused_restrictions(prepared.problem, prepared.memories)
    assert EXCHANGE_THROUGH_OUTERMOST(memory="DRAM") in restrictions
    assert FUSION_THROUGH(memories=["BUF"]) not in restrictions


def test_restrictions_of_copies_and_of_tensors_off_chip() -> None:
    """B is read by two Einsums and written by none."""
    texts = ("Y[m] = A[m] * B[m]", "copy X[m] = Y[m]", "Z[m] = X[m] * B[m]")
    prepared = plan(12, workload_with_copies(texts, {"m": 2}))
    restrictions = fused_restrictions(prepared.problem, prepared.memories)
    assert COPY_INPUTS_RESERVED() in restrictions
    assert EXCHANGED_IN_OUTERMOST(tensors=["B"], memory="DRAM") in restrictions
