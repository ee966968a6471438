"""What a file holds, by the keys at its top."""

from __future__ import annotations

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.files.source import load_document
from tilewright.arch.files.toplevel import check_top_level

STUDY = "name: s\narch: {file: a.yaml}\nworkload: {file: w.yaml}\nspace: {}\n"


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("workload: {}\n", "arch", "this file holds a workload, no architecture"),
        ("arch: {}\n", "workload", "this file holds an architecture, no workload"),
        ("workload: {}\n", "mapping", "this file holds a workload, no mapping"),
        (STUDY, "arch", "this file holds a study, no architecture"),
        (STUDY, "workload", "this file holds a study, no workload"),
        ("bread: white\n", "arch", "this file holds no architecture"),
    ],
)
def test_a_file_of_another_kind_is_called_so(text: str, key: str, words: str) -> None:
    what = {"arch": "architecture"}.get(key, key)
    with pytest.raises(SpecError) as caught:
        check_top_level(load_document("f.yaml", text=text), key, what)
    assert caught.value.what == words


def test_a_file_may_hold_several_parts() -> None:
    document = load_document("f.yaml", text="arch: {}\nworkload: {}\nmapping: {}\n")
    assert set(check_top_level(document, "arch", "architecture")) == {"arch", "workload", "mapping"}
