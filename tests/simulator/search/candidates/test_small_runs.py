"""The same mapping on a few elements: it keeps tiles, streams and loops."""

import pytest
from grid_mappings import HARDWARE

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.drawn_operands import WrongResult
from tilewright.simulator.execution.einsum_execution import EinsumExecution, ExecutionSettings
from tilewright.simulator.search.candidates import small_runs
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.candidates.small_runs import small_run
from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of


def candidates(sizes: str, constraints: dict[str, str], persistent: str = "Nothing") -> Candidates:
    text = (
        f"workload:\n  rank_sizes: {sizes}\n  bits_per_value: {{All: 32}}\n"
        f"  persistent_tensors: {persistent}\n  einsums: ['C[m, n] = A[m, k] * B[k, n]']\n"
    )
    workload = load_workload(load_document("product.yaml", text=text))
    arch = load_arch(HARDWARE, variables={"GridX": 12, "GridY": 20})
    settings = ExecutionSettings(machine="wse3-sdk-sim")
    limits = {"C": GridConstraints.of(constraints)}
    request = GridRequest(settings=settings, constraints=limits)
    return cascade_of(arch, workload, request).options[0][0].candidates


def runs_of(found: Candidates) -> list[tuple[EinsumExecution, EinsumExecution]]:
    """Executions of some candidates, each on all elements and on a few."""
    pairs = []
    for bounded in found.families[:: max(1, len(found.families) // 8)]:
        choice = found.space.members(bounded.family)[0]
        small = small_run(found, choice)
        if small is not None:
            pairs.append((found.execute(choice), small))
    return pairs


def test_a_broadcast_keeps_its_tiles() -> None:
    pairs = runs_of(candidates("{M: 80, K: 96, N: 60}", {"x": "n", "y": "m", "tile": "k"}))
    assert len(pairs) >= 4
    for large, small in pairs:
        tiles = [
            [(t.name, t.values, t.buffers) for t in run.plan.read.tensors] for run in (large, small)
        ]
        assert tiles[0] == tiles[1]
        assert small.elements == 64
        assert large.elements == 240
        assert small.plan.read.time[0].count <= 8


def test_two_variables_along_an_axis_and_sums() -> None:
    found = candidates("{M: 12, K: 80, N: 20}", {"tile": "none"})
    pairs = runs_of(found)
    assert pairs
    assert all(small.elements <= 64 < large.elements for large, small in pairs)


def test_tiles_that_shift_have_as_many_turns_as_a_ring_has_elements() -> None:
    found = candidates("{M: 24, K: 48, N: 48}", {"x": "n", "movement": "shift"}, persistent="A | B")
    shifted = [f.family for f in found.families if f.family.shifts]
    assert shifted
    runs = [small_run(found, found.space.members(family)[0]) for family in shifted[:4]]
    assert any(runs)
    for run in filter(None, runs):
        (tensor, *_) = run.plan.read.shifted
        ring = run.plan.read.columns if tensor.shift == "X" else run.plan.read.rows
        assert ring == run.plan.read.time[0].count <= 8


def test_cycles_beyond_a_bound_are_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    found = candidates("{M: 80, K: 96, N: 60}", {"x": "n", "y": "m", "tile": "k"})
    family = next(f.family for f in found.families if f.family.buffers == 2)
    choice = found.space.members(family)[0]
    assert small_run(found, choice) is not None
    monkeypatch.setattr(small_runs.Candidates, "most_cycles", lambda *_: 1)
    with pytest.raises(WrongResult, match="bounds are"):
        small_run(found, choice)
