"""docs/restrictions.md explains every kind of restriction that a certificate may name."""

import importlib.util
from pathlib import Path

from tilewright.mapper.searches.restrictions import KINDS

ROOT = Path(__file__).resolve().parent.parent


def test_the_page_is_of_this_state() -> None:
    source = ROOT / "tools" / "restrictions_page.py"
    spec = importlib.util.spec_from_file_location("restrictions_page", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.PAGE.read_text(encoding="utf-8")
    assert text == module.page(), "write it anew: python tools/restrictions_page.py"


def test_every_kind_stands_on_the_page() -> None:
    text = (ROOT / "docs" / "restrictions.md").read_text(encoding="utf-8")
    missing = [kind.pattern for kind in KINDS if kind.explanation not in text]
    assert missing == []
    assert text.count("\n## ") == len(KINDS)
