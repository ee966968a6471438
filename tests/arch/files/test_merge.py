"""Merge keys: shallow, deep, and the places of merged values."""

from __future__ import annotations

from tilewright.arch.files.document import Document
from tilewright.arch.files.source import load_document


def read(text: str) -> Document:
    return load_document("file.yaml", text=text)


def test_shallow_merge_takes_missing_keys_only() -> None:
    data = read("a: &a {x: [1], y: 2}\nb:\n  <<: *a\n  x: [3]\n").data
    assert data == {"a": {"x": [1], "y": 2}, "b": {"x": [3], "y": 2}}


def test_deep_merge_joins_lists_and_mappings() -> None:
    text = "a: {<<<: [{x: [1], z: {q: 1}}, {x: [2], z: {q: 3, r: 2}}], x: [0], z: {q: 5}}"
    assert read(text).data == {"a": {"x": [0, 1, 2], "z": {"q": 5, "r": 2}}}


def test_nomerge_keeps_a_value_whole() -> None:
    assert read("a: {<<<: {x: [1]}, x: !nomerge [0]}").data == {"a": {"x": [0]}}


def test_merged_values_keep_their_places() -> None:
    document = read("a: &a\n  x: 1\nb:\n  <<: *a\n")
    assert document.where(("b", "x")).line == 2
