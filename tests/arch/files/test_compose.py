"""YAML events to data: keys, tags, aliases, and the limits of a file."""

from __future__ import annotations

import time

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.files.document import Document
from tilewright.arch.files.source import load_document


def read(text: str) -> Document:
    return load_document("file.yaml", text=text)


def refusal(text: str) -> SpecError:
    with pytest.raises(SpecError) as caught:
        read(text)
    return caught.value


def test_keys_are_text() -> None:
    assert read("1: a\ntrue: b\n").data == {"1": "a", "true": "b"}


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("a: 1\nb: 2\na: 3\n", "the key a is written twice", 3),
        ("a: [1\n", "not YAML", 2),
        ("a: *b\n", "has no anchor before it", 1),
        ("a: &b [*b]\n", "stands inside its own value", 1),
        ("- a\n---\n- b\n", "more than one YAML document", 2),
        ("a:\n  [1, 2]: 3\n", "a key must be plain text", 2),
        ("a: !!python/name:os.system x\n", "this YAML tag is not allowed", 1),
        ("a: 1\n<<: 3\n", "takes a mapping", 2),
        ("[" * 10_000, "nest deeper", 1),
        ("a:\n " + "- " * 10_000, "nest deeper", 2),
        ("a: " + "9" * 1000, "a number of 1000 characters", 1),
        ("a: 1\nb: \x07\n", "not YAML", 2),
        ("a: !tilewright-include 0\n", "kept for include()", 1),
    ],
)
def test_what_is_refused_names_the_line(text: str, words: str, line: int) -> None:
    error = refusal(text)
    assert words in error.what
    assert error.where is not None
    assert (error.where.file, error.where.line) == ("file.yaml", line)


def test_a_yaml_bomb_is_one_clear_error() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    start = time.process_time()
    error = refusal("\n".join(lines))
    assert time.process_time() - start < 1
    assert "aliases" in error.what
    assert error.where is not None
    assert error.where.line == 6  # 9^6 > 400,000
