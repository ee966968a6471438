"""Complaints about files in plain words."""

from __future__ import annotations

from typing import Literal

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.files.source import load_document
from tilewright.arch.spec.schema import SpecModel, parse


class Item(SpecModel):
    name: str
    size: int | float | str = 0
    on: bool = False
    shape: tuple[int, ...] = ()
    kind: Literal["a", "b"] = "a"


class File(SpecModel):
    items: list[Item]
    table: dict[str, Item] | None = None


def complaint(text: str) -> SpecError:
    with pytest.raises(SpecError) as caught:
        parse(File, load_document("f.yaml", text=text))
    return caught.value


@pytest.mark.parametrize(
    ("text", "what", "line", "instead"),
    [
        ("items:\n- {name: a, sise: 3}", "unknown field sise", 2, "did you mean size?"),
        (
            "itens: []",
            "unknown field itens (and 1 more problem in this file)",
            1,
            "did you mean items?",
        ),
        ("items:\n- {size: 3}", "missing field name", 2, "add `name:`"),
        ("items:\n- {name: 3}", "name must be text", 2, None),
        ("items:\n- {name: a, shape: [1, x]}", "[1] must be a whole number", 2, None),
        ("items:\n- {name: a, on: 7}", "on must be true or false", 2, None),
        ("items:\n- {name: a, kind: c}", "kind must be one of 'a' or 'b'", 2, None),
        (
            "items:\n- {name: a, size: [1]}",
            "size must be a whole number or a number or text",
            2,
            None,
        ),
        ("items: 3", "items must be a list", 1, None),
        ("items: a, b", "items must be a list", 1, "[a, b]"),
        ("items:\n- 3", "[0] must be a mapping (key: value)", 2, None),
        ("items: []\ntable:\n  x: {name: a, nme: b}", "unknown field nme", 3, "did you mean name?"),
        (
            "items:\n- {name: 1}\n- {name: 2}\n- {name: 3}",
            "name must be text (and 2 more problems in this file)",
            2,
            None,
        ),
    ],
)
def test_words_and_places(text: str, what: str, line: int, instead: str | None) -> None:
    error = complaint(text)
    assert error.what == what
    assert error.where is not None
    assert error.where.line == line
    assert error.instead == instead
    assert "pydantic" not in str(error)
    assert "Input should" not in str(error)


def test_a_good_file_gives_a_frozen_model() -> None:
    model = parse(File, load_document("f.yaml", text="items:\n- {name: a, shape: [1, 2]}"))
    assert model.items[0].shape == (1, 2)
    with pytest.raises(ValueError, match="frozen"):
        model.items[0].name = "b"
