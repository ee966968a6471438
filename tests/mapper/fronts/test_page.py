"""The page docs/search.md: its code runs, on its machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_pages import run_page


def test_the_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = run_page("search.md", tmp_path / "toy.yaml")
    told = capsys.readouterr().out
    assert told.count("optimal") == 4
    assert "dividing by a metric" in told
    assert "the whole Pareto set over energy, latency, usage.Buffer" in told
    result = names["result"]
    assert len(result.front) > 3  # type: ignore[attr-defined]
