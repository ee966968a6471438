"""The line that shows how a search goes."""

from __future__ import annotations

import io
import sys
import time
from math import inf

import pytest

from tilewright.dse.command import search_progress
from tilewright.dse.command.search_progress import SearchDisplay
from tilewright.mapper.searches.result import Progress


def test_line_shows_both_sides_closing() -> None:
    display = SearchDisplay("energy")
    assert display.line(Progress("fused mappings", inf, 0.0)) == "fused mappings"
    line = display.line(Progress("fused mappings", 2.2e-6, 2e-6))
    assert "best 2.2" in line
    assert "at least 2" in line
    assert "gap 10 %" in line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_only_a_terminal_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_progress, "PATIENCE", 0.0)
    for stream, shown in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr(sys, "stderr", stream)
        with SearchDisplay("energy") as display:
            display(Progress("T1", 2e-6, 1e-6))
        assert ("best" in stream.getvalue()) == shown


def test_lines_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(search_progress, "PERIOD", 0.02)
    with SearchDisplay("energy") as display:
        time.sleep(0.1)
        display(Progress("T1", 2e-6, 1e-6))
        time.sleep(0.2)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "0 s: searching"
    assert lines[-1] == "0 s: T1, best 2 µJ, at least 1 µJ, gap 2 x"


def test_rounding_is_no_gap() -> None:
    line = SearchDisplay("energy").line(Progress("T1", 2e-6 * (1 - 1e-15), 2e-6))
    assert line.endswith("gap 0 %")
