"""A search takes the reduction that is best on the machine, whichever that is."""

from __future__ import annotations

import pytest
from grid_mappings import HARDWARE

from tilewright.arch.files.source import load_document
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.search.candidate_search import CandidateSearch
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.grid_mapping import GridRequest, map_on_grid


@pytest.mark.parametrize(
    ("columns", "rows", "words", "machine", "best"),
    [
        (8, 1, 1024, "wse2-sdk-sim", "chain"),
        (8, 1, 16, "wse2-sdk-sim", "auto(21,5,1)"),
        (64, 1, 64, "wse3-sdk-sim", "auto(69,10,2)"),
        (16, 1, 1, "wse2-sdk-sim", "tree"),
        (5, 5, 2, "wse2-sdk-sim", "two_phase(3)"),
        (6, 2, 12, "wse2-sdk-sim", "auto(17,5,1)"),
        (8, 3, 8, "wse2-sdk-sim", "y_first(auto(13,5,1))"),
        (16, 4, 1, "wse2-sdk-sim", "y_first(tree)"),
        (4, 4, 256, "wse2-sdk-sim", "snake"),
        (4, 4, 256, "wse3-sdk-sim", "snake"),
    ],
)
def test_the_best_scheme_is_found(
    columns: int, rows: int, words: int, machine: str, best: str
) -> None:
    """Every scheme of the mapspace runs, too: none is faster than the one that was found."""
    text = (
        f"workload:\n  rank_sizes: {{K: {columns}, J: {rows}, N: {words}}}\n"
        "  bits_per_value: {All: 32}\n  persistent_tensors: A\n"
        '  einsums: ["Z[n] = A[j, k, n]"]\n'
    )
    workload = load_workload(load_document("sum.yaml", text=text))
    values = {"variables.GridX": columns, "variables.GridY": rows}
    einsum = workload.einsums[0]
    flat = grid_path(load_arch(HARDWARE).with_values(values), workload, einsum)
    wanted = GridConstraints.of(
        {"x": "k", "y": "j" if rows > 1 else "none", "tile": "none", "weights": "resident"}
    )
    settings = ExecutionSettings(machine=machine)
    space = GridMapspace(grid_of(flat), einsum, wanted)
    candidates = Candidates.of("latency", settings, flat, space)
    search = CandidateSearch(candidates, candidates.families)  # of all elements
    search.start()
    while search.step():
        pass
    assert search.certificate().is_optimal
    assert search.choice is not None
    assert search.choice.reduction == best
    (family,) = (bounded.family for bounded in candidates.families)
    choices = candidates.space.members(family)
    cycles = {choice.reduction: candidates.simulated_cycles(choice) for choice in choices}
    assert cycles[search.choice.reduction] == min(cycles.values()) == cycles[best]
    assert len(cycles) >= 4


@pytest.mark.parametrize(
    ("machine", "best"), [("wse2-sdk-sim", "chain"), ("wse3-sdk-sim", "all_reduce(ring)")]
)
def test_a_ring_is_chosen_where_it_is_best(machine: str, best: str) -> None:
    """Sums that 16 elements need again: over the fabric of the WSE-3 a chain's way is long."""
    text = (
        "workload:\n  rank_sizes: {K: 16, N: 256}\n  bits_per_value: {All: 32}\n"
        "  persistent_tensors: A | B\n"
        '  einsums: ["D[n] = A[k, n]", "Z[k, n] = B[k, n] * D[n]"]\n'
    )
    workload = load_workload(load_document("normalized.yaml", text=text))
    arch = load_arch(HARDWARE).with_values({"variables.GridX": 16, "variables.GridY": 1})
    wanted = GridConstraints.of({"x": "k", "y": "none", "tile": "none"})
    request = GridRequest(
        settings=ExecutionSettings(machine=machine), constraints={"D": wanted, "Z": wanted}
    )
    found = map_on_grid(arch, workload, request)
    assert found.certificate.is_optimal
    assert found.execution.einsums[0].plan.read.reduction == best
