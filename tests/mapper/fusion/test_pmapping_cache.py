"""What searches of one workload share, and what they do without it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from explore import at_night
from fused_cases import workload_of
from fused_example import plan
from two_matmuls import ARCH, WORKLOAD

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.fusion.pmappings import pmapping_cache as shelf
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.workload.workload_loading import load_workload

if TYPE_CHECKING:
    from tilewright.mapper.searches.exact.label_metrics import Objective


@pytest.mark.parametrize("objective", ["edp", *at_night("energy", "latency")])
def test_nothing_depends_on_what_is_kept(
    objective: Objective, monkeypatch: pytest.MonkeyPatch
) -> None:
    arch, workload = load_arch(ARCH), load_workload(WORKLOAD)
    kept = fused_search(arch, workload, objective=objective)
    monkeypatch.setattr(shelf, "MAX_BYTES", 0)
    made_again = fused_search(arch, workload, objective=objective)
    assert made_again.best.mapping == kept.best.mapping
    assert made_again.certificate == kept.certificate
    assert kept.certificate.kind == "optimal"


def test_what_others_hold_of_its_tensors_changes_no_mapping_of_an_einsum_alone() -> None:
    """Q and K share what is compiled, though K's tensor alone is held in loops of others."""
    bounds = {"m": 4, "n": 4, "d": 2, "e": 2, "f": 2}
    texts = (
        "Q[m, e] = X[m, d] * U[d, e]",
        "K[n, e] = Y[n, d] * W[d, e]",
        "S[m, n] = Q[m, e] * K[n, e]",
    )
    problem = plan(14, workload_of(texts, bounds)).problem
    (q,), (k,) = (entry for entry in problem.einsums[:2] if isinstance(entry, tuple))
    assert q.key_alone == k.key_alone
    assert q.key != k.key
    search = JoinSearch(problem, Budget())
    result = search.solve()
    assert result.ended is None
    apart = tuple(
        (replace(entry[0], key_alone=number),) if isinstance(entry, tuple) else entry
        for number, entry in enumerate(problem.einsums)
    )
    other = JoinSearch(replace(problem, einsums=apart), Budget())
    assert other.solve().lower_bound == result.lower_bound
    assert len(other.cache.compiled) > len(search.cache.compiled)
