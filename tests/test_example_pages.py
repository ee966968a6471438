"""The pages of docs/examples are what the programs give now."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pages_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "example_pages", ROOT / "tools" / "example_pages.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.nightly
def test_the_pages_are_current(request: pytest.FixtureRequest) -> None:
    """Refresh: python tools/example_pages.py, or --update-golden."""
    tool = pages_tool()
    if request.config.getoption("--update-golden"):
        tool.main()
    texts = tool.pages()
    written = {path.name: path.read_text(encoding="utf-8") for path in tool.PAGES.glob("*.md")}
    assert sorted(written) == sorted(texts)
    for name, text in texts.items():
        assert written[name] == text, name
