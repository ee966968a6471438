"""The product's answers are those that are stored: a fixed eighth of the requests.

`make answers`, or pytest with --all-answers, compares all of them.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pinned_answers import (
    EIGHTH,
    Data,
    Pinned,
    all_requests,
    as_json,
    difference,
    families,
    read,
    stored_answers,
    write,
)
from product_answers import answer, array_of, cut_scopes, packed_array, plain, without_scopes

STORED = {family: stored_answers(family) for family in families()}
TOLD = {"kind": "optimal", "value": 2.5, "mapping": "a\nb\n", "scope": ["all mappings"]}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "pinned" in metafunc.fixturenames:
        every = metafunc.config.getoption("--all-answers")
        chosen = [one for one in all_requests() if every or one.in_eighth]
        metafunc.parametrize("pinned", chosen, ids=[one.name for one in chosen])


def test_answer(pinned: Pinned) -> None:
    text = difference(pinned, STORED[pinned.family].get(pinned.number), answer(pinned.request))
    if text:
        pytest.fail(text, pytrace=False)


def test_every_request_has_an_answer_and_a_number_of_its_own() -> None:
    names = [(one.family, one.number) for one in all_requests()]
    assert len(set(names)) == len(names) >= 500
    assert names == [(family, number) for family in STORED for number in STORED[family]]


def test_the_eighth_is_an_eighth_of_every_family() -> None:
    for family in families():
        chosen = [one.in_eighth for one in all_requests([family])]
        assert abs(sum(chosen) - len(chosen) / EIGHTH) < 1


def asked(**told: object) -> str:
    """Return what differs between TOLD and the same with other fields."""
    pinned = Pinned("single", 3, {"about": "plain case", "ask": "search"})
    return difference(pinned, {"number": 3, **TOLD}, {**TOLD, **told})


def test_equal_answers_have_no_difference() -> None:
    assert asked() == ""


def test_a_difference_names_the_request_the_field_and_both_values() -> None:
    text = asked(value=2.5000000000000004)
    assert text.splitlines() == [
        "single-003-plain_case (search): value differ",
        "  value:",
        "    @@ -1 +1 @@",
        "    -2.5",
        "    +2.5000000000000004",
    ]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"mapping": "a\nc\n"}, "(a tie: the values are the same)"),
        ({"mapping": "a\nc\n", "kind": "bounded"}, "kind, mapping differ\n"),
        ({"scope": ["some"]}, "(the words of the certificate only)"),
        ({"value": 2}, "value differ"),
        ({"more": 1}, "more differ"),
    ],
)
def test_ties_and_words_are_told_apart(told: Data, words: str) -> None:
    assert words in asked(**told)


def test_an_answer_that_is_missing_is_a_difference() -> None:
    pinned = Pinned("single", 3, {"about": "plain", "ask": "search"})
    assert "make answers-update" in difference(pinned, None, TOLD)


def test_records_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    records = [{"number": 0, "value": 0.1 + 0.2, "text": "é\n"}, {"number": 1, "list": [1, 1.0]}]
    write(tmp_path / "f.json", records)
    assert as_json(read(tmp_path / "f.json")) == as_json(records)
    assert json.loads((tmp_path / "f.json").read_text())[0]["value"] == 0.1 + 0.2


@pytest.mark.parametrize("dtype", ["f4", "f2", "i2", "u4"])
def test_arrays_are_read_back_as_they_were_packed(dtype: str) -> None:
    array = np.arange(6).reshape(1, 2, 3).astype(dtype)
    packed = json.loads(as_json(packed_array({(0, 1): array})))
    again = array_of(packed)[0, 1]
    assert again.dtype == array.dtype
    assert again.tobytes() == array.tobytes()
    assert array_of(packed_array(array)).shape == array.shape


def test_scopes_and_seconds_are_kept_apart() -> None:
    scopes: list[str] = []
    document = {
        "a": [{"scope": "S", "restrictions": ["S"], "seconds": 3}],
        "seconds": 0.1,
        "value": 1,
    }
    assert without_scopes(document, scopes) == {"a": [{}], "value": 1}
    text = cut_scopes("optimal in edp; restrictions: R; T\nenergy: 3 J\n", scopes)
    assert text == "optimal in edp among …\nenergy: 3 J\n"
    text = cut_scopes("optimal in edp, without restriction\nenergy: 3 J\n", scopes)
    assert text == "optimal in edp among …\nenergy: 3 J\n"
    assert scopes == ["S", "R; T", "all mappings"]


def test_numbers_without_end_are_words() -> None:
    assert plain({"a": (np.float64("inf"), np.int64(3), 1.5)}) == {"a": ["inf", 3, 1.5]}
