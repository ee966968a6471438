"""The schemes of reductions beside recorded cycles and published forms; the page of them."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def reductions(root: Path) -> ModuleType:
    path = root / "tools" / "reductions_page.py"
    spec = importlib.util.spec_from_file_location("reductions_page", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["reductions_page"] = module
    spec.loader.exec_module(module)
    return module


def test_mappings_take_the_recorded_cycles_within_three_percent(
    reductions: ModuleType, shared_data: Path
) -> None:
    """All rows of the reference data."""
    tables = json.loads((shared_data / "wse" / "tables.json").read_text())
    table = tables["two_phase_reduce_wse2"]
    elements = table["P"]
    size = reductions.Size(elements, 1, table["B_f32"])
    for row in table["rows"]:
        scheme = "chain" if row["step"] == elements else f"two_phase({row['step']})"
        assert abs(reductions.cycles(size, scheme) / row["cycles"] - 1) <= 0.03, scheme
    best = min(row["cycles"] for row in table["rows"])
    assert reductions.cycles(size, "auto") <= best


def test_published_forms(reductions: ModuleType, shared_data: Path) -> None:
    """Chains take a launch more than their form; the generated tree is below all forms."""
    tables = json.loads((shared_data / "wse" / "tables.json").read_text())
    for row in tables["collectives_model_wse2"]["rows"]:
        size = reductions.Size(row["P"], 1, row["B"])
        assert abs(reductions.cycles(size, "chain") - row["chain"] - 7) <= 1
        auto = reductions.cycles(size, "auto")
        assert auto <= min(row["chain"], row["tree"], row["two_phase"]) + 8, size


@pytest.mark.parametrize(("elements", "words"), [(4, 1), (13, 9), (64, 16), (100, 300), (512, 64)])
def test_a_generated_tree_is_near_its_bound(
    reductions: ModuleType, elements: int, words: int
) -> None:
    """The bound of its plan, and that of all pre-order trees: a few cycles of contention more."""
    found = reductions.line(reductions.Size(elements, 1, words))
    assert found.bound <= found.auto <= found.bound + 8
    assert found.trees - 3 <= found.auto <= found.trees + 10
    assert found.auto == found.least


def test_the_page_shows_the_figures_of_today(reductions: ModuleType) -> None:
    shown = reductions.PAGE.read_text(encoding="utf-8").splitlines()
    size = reductions.Size
    lines = [str(reductions.line(size(n, 1, words))) for n in (4, 64) for words in (1, 64, 1024)]
    rows = [*reductions.uneven_rows(), *lines, *reductions.grid_rows([(4, 4), (16, 4)])]
    assert [row for row in rows if row not in shown] == []


@pytest.mark.nightly
def test_the_whole_page_is_that_of_today(reductions: ModuleType) -> None:
    assert reductions.PAGE.read_text(encoding="utf-8") == reductions.page()


def test_energies_of_depths(reductions: ModuleType) -> None:
    """Four elements: a star crosses 1 + 2 + 3 links, a chain 3, and two levels 4."""
    assert reductions.least_energy(4)[1:].tolist() == [6, 4, 3]
