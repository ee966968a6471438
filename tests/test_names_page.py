"""docs/names.md lists every module and every public type with what it means."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def names_page():
    spec = importlib.util.spec_from_file_location("names_page", ROOT / "tools" / "names_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_module_and_public_type_has_a_meaning(names_page) -> None:
    assert names_page.missing() == []


def test_the_page_is_of_this_state(names_page) -> None:
    text = names_page.PAGE.read_text(encoding="utf-8")
    assert text == names_page.page(), "write it anew: python tools/names_page.py"
