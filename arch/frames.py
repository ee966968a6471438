"""Rows of plain data as a table of pandas, which is an optional extra."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from tilewright.arch.errors import TilewrightError


def frame(rows: Iterable[Mapping[str, object]]) -> Any:
    """Return rows as a pandas DataFrame; a mapping in a cell becomes columns `name.key`.

    Raises TilewrightError, with the command that installs it, if pandas is missing.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise TilewrightError(
            "tables need pandas, which is not installed", instead="pip install 'tilewright[pandas]'"
        ) from None
    return pandas.DataFrame([dict(_flat(row)) for row in rows])


def _flat(row: Mapping[str, object], prefix: str = "") -> Iterable[tuple[str, object]]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
