"""The example on docs/reading.md is what the command prints."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_example_is_what_map_prints() -> None:
    spec = importlib.util.spec_from_file_location("reading_page", ROOT / "tools/reading_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.PAGE.read_text(encoding="utf-8")
    assert "By component" in text
    assert module.page(text) == text, "run python tools/reading_page.py"
