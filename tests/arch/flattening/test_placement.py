"""Which tensors a holder keeps."""

from __future__ import annotations

import pytest
from flat_texts import build, compute, memory

from tilewright.arch.components.components import Memory, Toll
from tilewright.arch.components.einsum_scope import Scope
from tilewright.arch.errors import SpecError


def test_a_toll_keeps_only_what_is_kept_above(matmul: Scope) -> None:
    toll = (
        "  - !Toll {name: T, direction: up, tensors: {keep: All}, "
        "actions: [{name: read, energy: 1, throughput: 1}]}\n"
    )
    (flat,) = build(memory("A"), toll, compute("C"), scope=matmul)
    component = flat.component("T")
    assert isinstance(component, Toll)
    assert component.tensors.resolve({"A": frozenset("AZ")}).keep == frozenset("AZ")


@pytest.mark.row("001.56", "001.57")
@pytest.mark.row("001.54", "001.55", "001.58", "001.59", "001.60")
def test_placement_rules(matmul: Scope) -> None:
    tensors = (
        ", tensors: {keep: ~M1 & input, back: weight, may_keep: output, "
        "no_refetch_from_above: weight, no_resend_to_below: input, "
        "tensor_order_options: [[input | output, weight]], force_memory_hierarchy_order: false, "
        "tile_shape: [{expression: weight.rank_variables, operator: '>=', value: 2}]}"
    )
    (flat,) = build(memory("M1"), memory("M2", tensors), compute("C"), scope=matmul)
    component = flat.component("M2")
    assert isinstance(component, Memory)
    rules = component.tensors.resolve({"M1": frozenset("Z")})
    assert rules.keep == frozenset("AB")
    assert rules.may_keep == frozenset("ABZ")
    assert rules.back == frozenset("B")
    assert rules.no_refetch_from_above == frozenset("B")
    assert rules.no_resend_to_below == frozenset("A")
    assert rules.tensor_order_options == ((frozenset("AZ"), frozenset("B")),)
    assert rules.force_memory_hierarchy_order is False
    assert rules.tile_shape[0].rank_variables == frozenset("kn")


def test_placement_defaults(matmul: Scope) -> None:
    (flat,) = build(
        memory("M1"), memory("M2", ", tensors: {keep: input}"), compute("C"), scope=matmul
    )
    first, second = flat.component("M1"), flat.component("M2")
    assert isinstance(first, Memory)
    assert isinstance(second, Memory)
    assert first.tensors.resolve({}).keep == frozenset()
    assert first.tensors.resolve({}).may_keep == frozenset("ABZ")
    assert second.tensors.resolve({}).keep == second.tensors.resolve({}).may_keep == {"A"}
    assert first.tensors.resolve({}).force_memory_hierarchy_order is None


def test_a_memory_below_cannot_be_named(matmul: Scope) -> None:
    with pytest.raises(SpecError, match="nothing is called Below"):
        build(
            memory("M1", ", tensors: {keep: ~Below}"), memory("Below"), compute("C"), scope=matmul
        )
