"""Values of a study that differ, by dotted path."""

from __future__ import annotations

from tilewright.dse.study.changed_keys import differing_keys


def test_differing_keys_go_down_into_mappings():
    before = {"a": 1, "b": {"c": [1], "d": 2}, "gone": 0}
    now = {"a": 1.0, "b": {"c": [2], "d": 2}}
    assert differing_keys(before, now) == ["a: 1 -> 1.0", "b.c: [1] -> [2]", "gone: 0 -> nothing"]
