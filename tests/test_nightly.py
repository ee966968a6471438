"""The nightly parts hold every nightly test once, and their page has a row for each."""

from __future__ import annotations

import importlib.util
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

TESTS = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def nightly(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("nightly", root / "tools" / "nightly.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look
    spec.loader.exec_module(module)
    return module


def test_every_nightly_test_is_in_one_part(nightly: ModuleType) -> None:
    groups = [part.paths for part in nightly.PARTS if part.paths]
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if ("mark.nightly" in text or "at_night(" in text) and path != Path(__file__):
            inside = [g for g in groups if any(path.is_relative_to(TESTS / p) for p in g)]
            assert len(inside) == 1, path
    assert all((TESTS / path).exists() for group in groups for path in group)


def test_every_share_has_its_day(nightly: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    part, shares = nightly.Part("some", ("faults",), 3), []
    for day in (1, 2, 3, 4):
        now = datetime(2026, 1, day, tzinfo=UTC)
        monkeypatch.setattr(nightly, "datetime", SimpleNamespace(now=lambda zone, now=now: now))
        shares.append(part.share)
        assert f"--share={part.share}" in part.command
    assert sorted(shares[:3]) == ["1/3", "2/3", "3/3"]
    assert shares[3] == shares[0]


def test_the_page_has_a_row_for_each_part(nightly: ModuleType) -> None:
    rows = re.findall(r"(?m)^\| (\d+) \| ([^|]*) \|", nightly.PAGE.read_text(encoding="utf-8"))
    assert rows == [(str(n), str(part)) for n, part in enumerate(nightly.PARTS, 1)]


def test_a_row_replaces_that_of_its_part(
    nightly: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nightly, "PAGE", tmp_path / "page")
    row = f"| 2 | {nightly.PARTS[1]} | 1/1 | 8 passed | 1.5 | 2.5 | 2026-01-01 | abc | passed |"
    nightly.write(2, row)
    nightly.write(3, row.replace("| 2 |", "| 3 |").replace(str(nightly.PARTS[1]), "other"))
    lines = (tmp_path / "page").read_text(encoding="utf-8").splitlines()
    assert row in lines
    assert sum("passed" in line for line in lines) == 2
    nightly.write(
        3, f"| 3 | {nightly.PARTS[2]} | 1/1 | 1 failed | 1 | 1 | 2026-01-02 | abc | failed |"
    )
    lines = (tmp_path / "page").read_text(encoding="utf-8").splitlines()
    assert sum("passed" in line for line in lines) == 1
