"""The page docs/search.md: its code runs, on its machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "search.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (toy,) = blocks("yaml")
    (tmp_path / "toy.yaml").write_text(toy, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for text in blocks("python"):
        exec(compile(text, "docs/search.md", "exec"), names)
    told = capsys.readouterr().out
    assert told.count("optimal") == 3
    assert "dividing by a metric" in told
    assert "the whole Pareto set over energy, latency, usage.Buffer" in told
    result = names["result"]
    assert len(result.front) > 3  # type: ignore[attr-defined]
