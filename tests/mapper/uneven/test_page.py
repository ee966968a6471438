"""The page docs/uneven.md: its code runs, on its machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_pages import run_page


def test_the_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page("uneven.md", tmp_path / "lanes.yaml")
    told = capsys.readouterr().out
    assert "optimal in latency" in told
    assert "restrictions: one imperfect loop each over m" in told
