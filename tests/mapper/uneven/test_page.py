"""The page docs/uneven.md: its code runs, on its machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "uneven.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (files,) = blocks("yaml")
    (tmp_path / "lanes.yaml").write_text(files, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for text in blocks("python"):
        exec(compile(text, "docs/uneven.md", "exec"), names)
    told = capsys.readouterr().out
    assert "optimal in latency" in told
    assert "at most one uneven loop per variable (m)" in told
