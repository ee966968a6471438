"""The star stencil beside all recorded rows of the reference data, whatever rows stand there."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from explore import at_night


@pytest.fixture(scope="module")
def stencil(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("stencil_page", root / "tools/stencil_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["stencil_page"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("machine", "median", "largest"), [("wse3", 0.01, 0.05), ("wse2", 0.02, 0.08)]
)
def test_radius_2_and_more(
    stencil: ModuleType, shared_data: Path, machine: str, median: float, largest: float
) -> None:
    data = json.loads((shared_data / "wse" / "stencil_rows.json").read_text())
    rows = stencil.chosen(stencil.rows_of(data), machine, nearest=False)
    if not rows:
        pytest.skip(f"the reference data has no rows of radius 2 and more on {machine}")
    assert [str(row) for row in rows if abs(row.error) > largest] == []
    assert stencil.median_error(rows) <= median


@pytest.mark.parametrize("machine", ["wse2", "wse3"])
def test_radius_1(stencil: ModuleType, shared_data: Path, machine: str) -> None:
    data = json.loads((shared_data / "wse" / "stencil_rows.json").read_text())
    rows = stencil.chosen(stencil.rows_of(data), machine, nearest=True)
    if not rows:
        pytest.skip(f"the reference data has no rows of radius 1 on {machine}")
    assert stencil.median_error(rows) <= 0.03


def test_the_page_has_the_figures_of_today(stencil: ModuleType, shared_data: Path) -> None:
    """The rows that are both in the reference data and on the page."""
    data = json.loads((shared_data / "wse" / "stencil_rows.json").read_text())
    lines = set(stencil.PAGE.read_text(encoding="utf-8").splitlines())
    shown = {line.rsplit("|", 5)[0] for line in lines}
    known = [str(r) for r in stencil.rows_of(data) if str(r).rsplit("|", 5)[0] in shown]
    recorded = {line.rsplit("|", 3)[1] for line in lines if line.startswith("| ") and " x " in line}
    assert [
        line for line in known if line.rsplit("|", 3)[1] in recorded and line not in lines
    ] == []


@pytest.mark.parametrize("part", [6, *at_night(1)])
def test_one_cell_per_element(stencil: ModuleType, shared_data: Path, part: int) -> None:
    """Within 2.5 cycles of the recorded ones on WSE-2, up to 5 below on WSE-3: see the page."""
    data = json.loads((shared_data / "wse" / "stencil_rows.json").read_text())
    text = stencil.PAGE.read_text(encoding="utf-8")
    for row in data["one_cell_per_element"][::part]:
        side = int(row["grid"].split("x")[0])
        for machine, profile in stencil.MACHINES.items():
            ours = stencil.cycles_per_cell(side, machine)
            assert row[machine] - 5 <= ours <= row[machine] + 2.5
            shown = f"| {row['grid']} | {profile} |"
            assert f"{shown} {ours:.1f} |" in text or shown not in text
