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
        assert f"--share={part.share}" in part.command(part.share)
    assert sorted(shares[:3]) == ["1/3", "2/3", "3/3"]
    assert shares[3] == shares[0]


def test_the_page_has_a_row_for_each_part(nightly: ModuleType) -> None:
    rows = re.findall(r"(?m)^\| (\d+) \| ([^|]*) \|", nightly.PAGE.read_text(encoding="utf-8"))
    assert list(dict.fromkeys(rows)) == [(str(n), str(p)) for n, p in enumerate(nightly.PARTS, 1)]


def test_a_row_replaces_that_of_its_share(
    nightly: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nightly, "PAGE", tmp_path / "page")

    def row(share: str, result: str, what: str = str(nightly.PARTS[1])) -> str:
        return f"| 2 | {what} | {share} | 8 tests | 1.5 | 2.5 | 2026-01-01 | abc | {result} |"

    def written(*args: str) -> list[str]:
        nightly.write(2, row(*args))
        lines = (tmp_path / "page").read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.startswith("| 2 |")]

    first, second = row("1/3", "passed"), row("2/3", "passed")
    assert written("1/3", "failed", "other") == [row("1/3", "failed", "other")]
    assert written("2/3", "failed") == [row("2/3", "failed")]  # not that of another part
    assert written("1/3", "passed") == [first, row("2/3", "failed")]
    assert written("2/3", "passed") == [first, second]
    assert written("1/4", "passed") == [row("1/4", "passed")]
    assert "not run" in (tmp_path / "page").read_text(encoding="utf-8").splitlines()[-1]
