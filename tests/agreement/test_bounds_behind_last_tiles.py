"""Bounds of plans whose last tiles meet on banks less often are not above the cycles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of

STUDIES = Path(__file__).resolve().parents[2] / "studies"


@pytest.mark.nightly
def test_a_result_that_stays_begins_on_other_banks_in_each_tile() -> None:
    """Two tiles of 18 columns of a stencil in each of 32 x 29 elements."""
    arch = load_arch(STUDIES / "hardware" / "wafer_grid.yaml", variables={"GridX": 32, "GridY": 32})
    workload = load_workload(STUDIES / "workloads" / "stencil.yaml", variables={"BITS": 16})
    cascade = cascade_of(arch, workload, GridRequest())
    staying = next(option for option in cascade.options[0] if option.stays)
    search = staying.search(1 << 60)
    assert search is not None
    candidates, compared = search.candidates, 0
    for family in (bounded.family for bounded in candidates.families):
        is_tiled = family.tile is not None and family.tile.size == 18
        if not is_tiled or [share.count for share in family.shares] != [32, 29]:
            continue
        choice = candidates.space.members(family)[0]
        assert candidates.least_cycles(choice) <= candidates.simulated_cycles(choice)
        compared += 1
    assert compared
