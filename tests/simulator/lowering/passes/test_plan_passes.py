"""The passes of the lowering: each says what it decided, and is right for drawn mappings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from explore import at_night
from grid_mappings import random_space_time
from tests.agreement.test_shifted_mappings import SUMS, grid_and_einsum

from tilewright.dse.command.cli import cli
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.lowering.passes.plan_passes import plan_passes
from tilewright.simulator.lowering.plan import plan_of

NAMES = ["derive", "choose", "bound", "place", "kernel", "route", "schedule", "emit"]
WORKLOAD = """workload:
  rank_sizes: {M: 30, K: 24}
  bits_per_value: {All: 16}
  einsums: ["Z[m] = A[m, k] * B[k]"]
"""
MAPPING = """mapping:
  nodes:
  - !Storage {component: Host, tensors: [A, B, Z]}
  - !Spatial {rank_variable: m, tile_shape: 15, component: Grid, name: X}
  - !Spatial {rank_variable: k, tile_shape: 6, component: Grid, name: Y}
  - !Storage {component: SRAM, tensors: [Z]}
  - !Temporal {rank_variable: k, tile_shape: 1}
  - !Storage {component: SRAM, tensors: [A, B]}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Compute {einsum: Z, component: Engine}
"""


@pytest.mark.random
@pytest.mark.parametrize("part", [0, *at_night(1, 2)])
def test_all_passes_of_drawn_mappings_are_right(part: int) -> None:
    checked = 0
    for seed in range(40 * part, 40 * (part + 1)):
        try:
            read = random_space_time(seed)[1]
            profile = ExecutionSettings(machine=f"wse{2 + seed % 2}-sdk-sim").profile(read.grid)
            plan = plan_of(read, profile.sram_reserved_bytes)
        except InfeasibleMapping:
            continue
        passes = plan_passes(plan, profile)
        assert [step.name for step in passes] == NAMES
        assert all(step.lines and step.checked for step in passes)
        checked += 1
    assert checked >= 25


def executed(folder: Path, *options: str) -> str:
    work, mapping = folder / "w.yaml", folder / "m.yaml"
    work.write_text(WORKLOAD, encoding="utf-8")
    mapping.write_text(MAPPING, encoding="utf-8")
    files = ["--workload", str(work), "--mapping", str(mapping), "--arch", "wafer_grid"]
    grid = ["--set", "GridX=2", "--set", "GridY=4", "--machine", "wse3-sdk-sim"]
    outcome = CliRunner().invoke(cli, ["execute", *files, *grid, *options])
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


def test_execute_shows_the_passes(tmp_path: Path) -> None:
    lines = executed(tmp_path, "--passes").splitlines()
    shown = lines[lines.index("Z, pass by pass") + 1 :]
    assert [line for line in shown if not line.startswith(" ")] == NAMES
    assert sum(line.startswith("  ✓ ") for line in shown) == len(NAMES)
    assert "  along X: m:2x15" in shown
    assert "  A: enters by rows, 4 streams of 180 words, 6 periods of 2 tiles of 15" in shown
    assert "  Z: added over 4 elements by chain, leaves over the south border" in shown
    assert "  sums 0 along Y: 0-1-2-3" in shown
    assert "  ✓ each of 30 x 24 points is computed once" in shown


def test_the_passes_are_in_the_json_document_on_demand(tmp_path: Path) -> None:
    steps = json.loads(executed(tmp_path, "--passes", "--json"))["passes"]["Z"]
    assert [step["name"] for step in steps] == NAMES
    assert "passes" not in json.loads(executed(tmp_path, "--json"))


@pytest.mark.parametrize("columns", [3, *at_night(6)])
def test_the_passes_of_tiles_that_shift_are_right(columns: int) -> None:
    checked = 0
    for form in SUMS:
        flat, einsum = grid_and_einsum(form, 32, "Inputs", columns, 2)
        space = GridMapspace(grid_of(flat), einsum, GridConstraints(movement="shift"))
        for family in list(space.families())[:1]:
            read = space_time(flat, einsum, space.mapping_of(space.members(family)[0]))
            profile = ExecutionSettings().profile(read.grid)
            try:
                plan = plan_of(read, profile.sram_reserved_bytes)
            except InfeasibleMapping:
                continue
            passes = plan_passes(plan, profile)
            assert any("shifts along" in line for line in passes[1].lines)
            checked += 1
    assert checked >= 5
