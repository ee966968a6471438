"""docs/profiles.md has every field of a machine profile, with the values of those that ship."""

from __future__ import annotations

import importlib.util
from dataclasses import fields
from pathlib import Path

from tilewright.simulator.profiles.profile import Profile

ROOT = Path(__file__).resolve().parent.parent


def test_the_page_is_of_this_state_and_has_every_field() -> None:
    source = ROOT / "tools" / "profiles_page.py"
    spec = importlib.util.spec_from_file_location("profiles_page", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert {field.name for field in fields(Profile)} == {*module.WORDS, "sources"}
    text = module.PAGE.read_text(encoding="utf-8")
    assert text == module.page(), "write it anew: python tools/profiles_page.py"
