"""Write the trials of a run as a table: CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.dse.query.open_run import RunTrials
from tilewright.dse.store.safe_files import pretty_json, write_atomically


def export_csv(run: RunTrials, path: Path) -> None:
    """Write the rows of a run as CSV with a head; an absent value is empty."""
    rows = run.rows()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(_spreadsheet_safe, rows))
    write_atomically(path, text.getvalue())


def export_json(run: RunTrials, path: Path) -> None:
    """Write the rows of a run as one JSON list of objects."""
    write_atomically(path, pretty_json(run.rows()))


def export_parquet(run: RunTrials, path: Path) -> None:
    """Write the rows of a run as a Parquet file.

    Raises TilewrightError without pandas and a package for Parquet, with what to install.
    """
    from tilewright.arch.errors import TilewrightError

    frame = run.to_pandas()
    for column in frame.columns:
        if frame[column].map(type).nunique() > 1 and frame[column].dtype == object:
            frame[column] = frame[column].map(lambda value: None if value is None else str(value))
    try:
        frame.to_parquet(path, index=False)
    except ImportError:
        raise TilewrightError(
            "Parquet needs a package that writes it, which is not installed",
            instead="pip install pyarrow, or --csv",
        ) from None


def _spreadsheet_safe(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row in which no text is a formula to a spreadsheet."""
    return {
        name: f"'{value}" if isinstance(value, str) and value[:1] in "=+-@" and value else value
        for name, value in row.items()
    }
