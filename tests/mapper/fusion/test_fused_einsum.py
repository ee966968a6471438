"""Placements in groups, and bounds raised where they are lowest, change no optimum."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fused_cases import random_case, random_deep_case, random_wide_case

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.fusion import fused_einsum
from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.copies.copy_table import CopyTable
from tilewright.mapper.fusion.fused_plan import plan_fused_search
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.fusion.pmappings.fused_templates import refuse_unclear_backing
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.request import request_of
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.studies import path_of

Case = tuple[Arch, Workload, str]
CASES = [(random_case, 3), (random_deep_case, 0), (random_wide_case, 0)]


@pytest.mark.parametrize(("make", "seed"), CASES)
def test_groups_of_placements_change_no_optimum(
    make: Callable[[int], Case], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    arch, work, conventions = make(seed)

    def optimum() -> tuple[float, float] | None:
        try:
            result = fused_search(arch, work, conventions=conventions)
        except InfeasibleMapping:
            return None
        assert result.certificate.kind == "optimal"
        return result.best.score.energy, result.best.score.latency

    monkeypatch.setattr("tilewright.mapper.fusion.fused_einsum.FEW_PLACEMENTS", 1000)
    expected = optimum()
    monkeypatch.setattr("tilewright.mapper.fusion.join.join_strategy.LARGE", 0)
    monkeypatch.setattr("tilewright.mapper.fusion.fused_einsum.FEW_PLACEMENTS", 1)
    monkeypatch.setattr("tilewright.mapper.fusion.fused_einsum.GROUP_ENDS", (1.0, 1.1, 1.5))
    assert optimum() == pytest.approx(expected, rel=1e-12)


CHAIN = """\
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 16, A: 16, B: 16, C: 16, D: 16, E: 16, F: 8}
  einsums:
  - "Q[m, b] = P[m, a] * U[a, b]"
  - "R[m, c] = Q[m, b] * V[b, c]"
  - "S[m, d] = R[m, c] * W[c, d]"
  - "T[m, e] = S[m, d] * X[d, e]"
  - "Z[m, f] = T[m, e] * Y[e, f]"
"""


def test_placements_of_einsums_that_differ_in_names_are_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_at = []

    def noted(space: Mapspace, boundary: frozenset[TensorPlace]) -> None:
        looked_at.append(space.einsum.name)
        refuse_unclear_backing(space, boundary)

    monkeypatch.setattr(fused_einsum, "refuse_unclear_backing", noted)
    request = request_of(path_of("hardware", "edge_npu"), CHAIN, {})
    plan = plan_fused_search(request, "energy", OBJECTIVE_VALUES["energy"])
    assert looked_at == ["Q", "R", "Z"]
    for several in plan.problem.einsums:
        assert not isinstance(several, CopyTable)
        for fused in several:
            expected = fused_einsum._placements_by_mask(fused.space, fused.boundary)
            listed = sum(map(len, expected.values()))
            assert sum(fused.placements.counts.values()) == listed
            assert dict(fused.placements) == expected
