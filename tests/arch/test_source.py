"""YAML to plain data: scalars, places, merge keys, limits."""

from __future__ import annotations

import pickle
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.arch.files.document import Document, Tagged
from tilewright.arch.files.scalars import plain_scalar
from tilewright.arch.files.source import load_document
from tilewright.arch.spec.printing import dump_yaml


def read(text: str) -> Document:
    return load_document("file.yaml", text=text)


def refusal(text: str) -> SpecError:
    with pytest.raises(SpecError) as caught:
        read(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("12:30:00", "12:30:00"),
        ("1e3", 1000.0),
        ("1e-12", 1e-12),
        (".5", 0.5),
        ("5.", 5.0),
        ("+3", 3),
        ("-3", -3),
        (".inf", float("inf")),
        ("inf", "inf"),
        ("2001-01-01", "2001-01-01"),
        ("~Intermediates", "~Intermediates"),
        ("1 / (8 * 614e9)", "1 / (8 * 614e9)"),
        ("'8'", "8"),
        ('"on"', "on"),
        ("!!str 8", "8"),
        ("!!int 8", 8),
    ],
)
def test_scalars_follow_yaml_1_2(text: str, value: object) -> None:
    assert read(f"key: {text}\n").data == {"key": value}
    assert type(read(f"key: {text}\n").data["key"]) is type(value)  # type: ignore[index]


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_written_by_python_reads_back(number: float) -> None:
    assert plain_scalar(repr(number)) == number


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


def test_keys_are_text() -> None:
    assert read("1: a\ntrue: b\n").data == {"1": "a", "true": "b"}


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


def test_files_are_read_or_refused(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text("a: é\r\nb: 1\r\n", encoding="utf-8")
    assert load_document(tmp_path / "good.yaml").data == {"a": "é", "b": 1}
    (tmp_path / "bad.yaml").write_bytes(b"a: 1\nb: \xff\xfe\n")
    with pytest.raises(SpecError, match="not UTF-8") as caught:
        load_document(tmp_path / "bad.yaml")
    assert caught.value.where is not None
    assert caught.value.where.line == 2
    with pytest.raises(SpecError, match="no such file") as caught:
        load_document(tmp_path / "goood.yaml")
    assert str(caught.value.instead).startswith("did you mean good.yaml")
    with pytest.raises(SpecError, match="a folder, not a file"):
        load_document(tmp_path)
    (tmp_path / "large.yaml").write_bytes(b"# " + b"x" * (9 * 2**20))
    with pytest.raises(SpecError, match="larger than 8 MiB"):
        load_document(tmp_path / "large.yaml")


def test_places_survive_another_process() -> None:
    document = pickle.loads(pickle.dumps(read("a:\n- {b: 1}\n")))
    assert document.where(("a", 0, "b")).line == 2


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_TREES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(_TREES)
def test_what_is_printed_reads_back(data: object) -> None:
    printed = dump_yaml({"data": data})
    if any(sign in printed for sign in ("{{", "{%", "{#", "\ue0f0")):
        return  # would be a template
    try:
        assert read(printed).data == {"data": data}
    except SpecError:
        assert _has_merge_key(data) or "9" * 5 in printed or _is_long(data)


def _has_merge_key(data: object) -> bool:
    if isinstance(data, dict):
        return any(k in ("<<", "<<<") or _has_merge_key(v) for k, v in data.items())
    return isinstance(data, list) and any(map(_has_merge_key, data))


def _is_long(data: object) -> bool:
    return len(yaml.safe_dump(data)) > 400
