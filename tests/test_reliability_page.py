"""docs/validation/reliability.md is of this state and has every point."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_page_is_of_this_state_and_has_every_point() -> None:
    source = ROOT / "tools" / "reliability_page.py"
    spec = importlib.util.spec_from_file_location("reliability_page", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert {number for number, _, _ in module.rows()} == set(module.POINTS)
    text = module.PAGE.read_text(encoding="utf-8")
    assert text == module.page(), "write it anew: python tools/reliability_page.py"
