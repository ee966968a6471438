"""A latency rule with seconds that need no call counts where its memory holds something: the search
against the listing of all mappings, which the model scores one by one."""

from __future__ import annotations

import pytest
from explore import at_night

from tilewright.mapper.searches.api import search

ARCH = """
arch:
  nodes:
  - !Memory
    {name: DRAM, size: inf, leak_power: 0, area: 0, tensors: {keep: ~Intermediates, may_keep: All},
     actions: [{name: read, energy: 9, throughput: 4}, {name: write, energy: 9, throughput: 4}]}
  - !Memory
    {name: BUF, size: 64, leak_power: 3, area: 0, tensors: {keep: Nothing, may_keep: All},
     total_latency: "RULE",
     actions: [{name: read, energy: 1, throughput: 8}, {name: write, energy: 1, throughput: 8}]}
  - !Compute
    {name: MAC, leak_power: 0, area: 0, actions: [{name: compute, energy: 1, throughput: 1}]}
"""
ONE = """
workload: {rank_sizes: {M: 4, N: 2, K: 2}, bits_per_value: {All: 8}, einsums: [
  {einsum: "Z[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Z}}]}
"""
TWO = """
workload: {rank_sizes: {M: 2, N: 2, K: 2}, bits_per_value: {All: 8}, einsums: [
  {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Y}},
  {einsum: "Z[m, n] = Y[m, n] * C[n]", renames: {input: Y, weight: C, output: Z}}]}
"""
RULES = (
    "400 + sum(a.n_calls / a.throughput for a in actions)",
    "max(actions['read'].n_calls / 8, 150)",
    "40",
)


@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
@pytest.mark.parametrize("rule", RULES)
def test_what_holds_nothing_takes_no_time(rule: str, objective: str) -> None:
    arch = ARCH.replace("RULE", rule)
    found = search(arch, ONE, objective=objective, conventions="accelforge")
    listed = search(arch, ONE, objective=objective, conventions="accelforge", method="exhaustive")
    assert found.certificate.kind == listed.certificate.kind == "optimal"
    assert found.certificate.value == pytest.approx(listed.certificate.value, rel=1e-9)


@pytest.mark.parametrize("rule", [*RULES[:2], *at_night(*RULES[2:])])
def test_fused_einsums_may_leave_it_empty(rule: str) -> None:
    arch = ARCH.replace("RULE", rule)
    both = search(arch, TWO, objective="latency")
    apart = search(arch, TWO, objective="latency", fusion=False)
    assert both.certificate.kind == "optimal"
    assert both.certificate.value <= apart.certificate.value
    assert ("BUF" in str(both.best.mapping)) == any("/BUF" in k for k in both.best.score.latency_by)
