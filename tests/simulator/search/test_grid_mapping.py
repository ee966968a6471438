"""The best mapping of a workload on a grid: what is no part of a budget."""

from __future__ import annotations

import pytest
from cascades import cascade_arch, cascade_workload

from tilewright.arch.files.source import load_document
from tilewright.mapper.workload.errors import NoFeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.search import grid_mapping
from tilewright.simulator.search.grid_mapping import GridRequest, map_on_grid


@pytest.mark.parametrize(("budget", "compiles"), [(None, 0), (60.0, 1)])
def test_the_engine_is_compiled_before_a_budget_begins(
    budget: float | None, compiles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        grid_mapping, "compile_first", lambda kernels, _: asked.append(len(kernels))
    )
    workload = cascade_workload("elementwise chain")
    answer = map_on_grid(cascade_arch(2, 2), workload, GridRequest(budget_s=budget))
    assert answer.gap == 0
    assert len(asked) == compiles
    assert all(number > 10 for number in asked)


def test_what_elements_do_not_compute_is_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_mapping, "compile_first", lambda *_: pytest.fail("compiled"))
    text = (
        "workload:\n  rank_sizes: {M: 4}\n  bits_per_value: {All: 8}\n  einsums: ['Z[m] = A[m]']\n"
    )
    workload = load_workload(load_document("bytes.yaml", text=text))
    with pytest.raises(NoFeasibleMapping, match="8 bits"):
        map_on_grid(cascade_arch(2, 2), workload, GridRequest(budget_s=60.0))
