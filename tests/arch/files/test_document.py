"""Documents: the place of every key and value, tags, pickling."""

from __future__ import annotations

import pickle

from tilewright.arch.files.document import Document, Tagged
from tilewright.arch.files.source import load_document


def read(text: str) -> Document:
    return load_document("file.yaml", text=text)


def test_every_value_knows_its_place() -> None:
    document = read("top:\n- !Memory\n  name: A\n  size: 8\n- {x: 1}\n")
    place = document.where(("top", 0, "size"))
    assert (place.line, place.column, place.path) == (4, 9, "top[0].size")
    assert document.where_key(("top", 0, "size")).column == 3
    assert document.where(("top", 1, "x")).line == 5
    assert document.where(("top", 0, "nothing")).line == 2  # the deepest part that exists


def test_tags_stay_for_the_reader() -> None:
    assert read("- !Memory {a: 1}\n- !X y\n").data == [
        Tagged("Memory", {"a": 1}),
        Tagged("X", "y"),
    ]


def test_places_survive_another_process() -> None:
    document = pickle.loads(pickle.dumps(read("a:\n- {b: 1}\n")))
    assert document.where(("a", 0, "b")).line == 2
