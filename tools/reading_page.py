"""Write the example in docs/reading.md anew: what `tilewright map` prints for files of `new`.

Run `python tools/reading_page.py`; a test compares the page with what it would write.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from click.testing import CliRunner

from tilewright.dse.command.cli import cli

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reading.md"
BEGIN, END = "<!-- example -->\n```\n", "```\n<!-- end -->"


def example() -> str:
    """Return what `map` prints for the files that `new` writes, without the time of the search."""
    runner = CliRunner()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for words in ("new arch my_chip", "new workload my_layers"):
            assert runner.invoke(cli, words.split()).exit_code == 0
        command = "map --arch my_chip.yaml --workload my_layers.yaml"
        printed = runner.invoke(cli, command.split()).stdout
    lines = [line for line in printed.splitlines() if not line.startswith("searched in")]
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """Return the text of the page with the example in its place."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return before + BEGIN + example() + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
