"""Names of a package that are imported when asked for."""

from __future__ import annotations

import sys

import pytest

from tilewright.arch.lazy import lazily


def test_names_are_listed_and_found():
    find, names = lazily("tilewright.arch", {"SpecError": "tilewright.arch.errors"})
    assert find("SpecError") is sys.modules["tilewright.arch.errors"].SpecError
    listed = names()
    assert {"SpecError", "errors", "lazy"} <= set(listed)
    assert listed == sorted(listed)
    assert not any("." in name for name in listed)
    with pytest.raises(AttributeError, match=r"module 'tilewright\.arch' has no attribute 'Spec'"):
        find("Spec")
