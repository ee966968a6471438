"""The answers of one search: there at once, also where nothing is kept beyond it."""

from __future__ import annotations

from pathlib import Path

from tilewright.simulator.known.content_store import NOTHING_KEPT, ContentStore
from tilewright.simulator.known.search_answers import SearchAnswers


def test_a_search_keeps_answers_without_a_folder() -> None:
    assert SearchAnswers(None).keeps
    assert not NOTHING_KEPT.keeps


def test_other_searches_find_it_in_the_folder(tmp_path: Path) -> None:
    SearchAnswers(tmp_path).put("abcd", {"bounds": [1]})
    assert ContentStore(tmp_path).get("abcd") == {"bounds": [1]}
    assert SearchAnswers(tmp_path).get("abcd") == {"bounds": [1]}


def test_values_that_grow_are_one_object_for_a_key() -> None:
    answers = SearchAnswers(None)
    answers.shared("abcd")["x"] = 1
    assert answers.shared("abcd") == {"x": 1}
    assert answers.shared("other") == {}
    assert ContentStore(None).shared("abcd") == {}
