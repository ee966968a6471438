"""Keys by content: equal for equal values, different for any difference, in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction

import pytest

from tilewright.simulator.known.content_key import NoKeyError, content_key


@dataclass(frozen=True)
class Pair:
    first: object
    second: object


@dataclass(frozen=True)
class Couple:
    first: object
    second: object


VALUES = [
    1, 1.0, True, "1", None, Fraction(1), 0.1, 0.1 + 1e-17 * 2, -0.0, 0.0, float("inf"),
    (1,), ((1,),), (1, 2), (2, 1), {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": {"b": 1}},
    frozenset("ab"), frozenset("abc"), Pair(1, 2), Couple(1, 2), Pair(2, 1), "a,b", ("a", "b"),
    ("a,b",), "'a','b'", ("a'", "b"),
]  # fmt: skip


def test_different_values_have_different_keys():
    distinct = {repr(value) + type(value).__name__ for value in VALUES}
    assert len({content_key(value) for value in VALUES}) == len(distinct)
    assert content_key(1, 2) != content_key((1, 2)) != content_key(12)


def test_equal_values_have_equal_keys():
    assert content_key(Pair((1, 2), {"a": 1})) == content_key(Pair([1, 2], {"a": 1}))
    assert content_key(frozenset(["b", "a"])) == content_key(frozenset(["a", "b"]))


def test_what_is_no_plain_data_has_no_key():
    for value in (object(), len, Pair(1, lambda: 1), b"bytes", Pair):
        with pytest.raises(NoKeyError):
            content_key(value)


def test_keys_do_not_depend_on_the_process():
    code = (
        "from tilewright.simulator.known.content_key import content_key;"
        "print(content_key(frozenset('abcdefgh'), {'x': frozenset([1, 'a', None])}))"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(keys) == 1
