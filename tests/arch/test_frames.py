"""Rows of plain data as a table of pandas."""

from __future__ import annotations

import sys

import pytest

from tilewright.arch.errors import TilewrightError
from tilewright.arch.frames import frame


def test_mappings_in_cells_become_columns():
    pytest.importorskip("pandas")
    table = frame([{"a": 1, "b": {"c": 2, "d": {"e": 3}}}, {"a": 4}])
    assert list(table.columns) == ["a", "b.c", "b.d.e"]
    assert table["a"].tolist() == [1, 4]
    assert table["b.d.e"].isna().tolist() == [False, True]


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(TilewrightError, match=r"tilewright\[pandas\]"):
        frame([])
