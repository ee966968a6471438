"""Sizes that give the same answers are told from those that do not."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

from tilewright.arch.components.components import Memory
from tilewright.mapper.templates.size_tests import SizeTests

RULES: Any = None  # not asked
BUFFER = Memory(name="BUF", tensors=RULES, size=400.0)


def test_sizes_between_two_answers_have_the_same() -> None:
    tests = SizeTests()
    assert [tests.fits(BUFFER, bits) for bits in (300.0, 400.0, 401.0, 900.0)] == [
        True, True, False, False,
    ]  # fmt: skip
    held = [s for s in (299.0, 399.9, 400.0, 400.5, 401.0, inf) if _holds(tests, s)]
    assert held == [400.0, 400.5]


def test_other_memories_are_not_asked_about() -> None:
    tests = SizeTests()
    assert tests.fits(replace(BUFFER, size=inf), 1e300)
    assert _holds(tests, inf)
    assert not _holds(tests, 1e299)
    assert tests.hold_for([replace(BUFFER, name="REG", size=1.0)])


def test_several_instances_share_the_bits() -> None:
    assert SizeTests().fits(BUFFER, 1600.0, 4)
    assert not SizeTests().fits(BUFFER, 1601.0, 4)


def _holds(tests: SizeTests, size: float) -> bool:
    return tests.hold_for([replace(BUFFER, size=size)])
