"""The examples on docs/machine.md run as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def test_the_example_runs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(
        r"```python\n(.*?)```", (root / "docs" / "machine.md").read_text(), re.DOTALL
    )
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/machine.md", "exec"), names)
    assert "48 multiply-accumulates\n" in capsys.readouterr().out
