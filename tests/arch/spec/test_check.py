"""What is refused before any Einsum is known."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.spec.load import load_arch

Change = Callable[[str, str], str]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("size: 1024", "size: -1", "size must not be negative"),
        ("size: 1024", "size: 1e400", "a number above"),
        ("size: 1024", "size: 2 * 1e400", "the number is too large"),
        ("size: 1024", "size: .nan", "size is not a number"),
        ("size: 1024", "size: 1 +", "this is not an expression"),
        ("size: 1024", "size: __import__('os')", "is not allowed in an expression"),
        ("size: 1024", "size: 8\n    spatial: [{name: X, fanout: 0}]", "spatial[0].fanout must be"),
        ("size: 1024", "size: 8\n    spatial: [{name: X, fanout: 2.5}]", "a whole number"),
        ("size: 1024", "size: 8\n    bits_per_value: {A B: 1}", "this is not an expression"),
        ("size: 1024", "size: 8\n    values_per_action: {A: -1}", "must not be negative"),
        ("energy: 5,", "energy: -5,", "actions[0].energy must not be negative"),
        ("keep: ~DRAM,", "keep: [A, lambda],", "this is not an expression"),
    ],
)
def test_reading_refuses_what_no_einsum_can_mend(
    change: Change, old: str, new: str, words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        load_arch(change(old, new))
    assert words in caught.value.what
    assert caught.value.where is not None
    assert caught.value.where.line is not None
    assert caught.value.where.line > 9
