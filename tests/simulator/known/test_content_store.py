"""The store of answers: whole or missing, of bounded size, with any number of writers."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256

import pytest

from tilewright.simulator.known.content_store import NOTHING_KEPT, ContentStore, known_answers

KEY = "0123456789abcdef"


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_an_answer_is_found_again(tmp_path):
    store = ContentStore(tmp_path / "known")
    answer = {"energy": 0.1 + 0.2, "cycles": 2**60, "by": {"é": None}}
    assert store.get(KEY) is None
    store.put(KEY, answer)
    assert ContentStore(tmp_path / "known").get(KEY) == answer
    assert store.get(KEY[:-1] + "0") is None
    store.put(KEY, {"cycles": 1})
    assert store.get(KEY) == {"cycles": 1}
    assert len(files_of(tmp_path)) == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:70],
        lambda data: data.replace(b"7", b"8"),
        lambda data: data + b" ",
        lambda data: b"\x00\xff" + data,
        lambda data: sha256(b"[" * 100_000).hexdigest().encode() + b"\n" + b"[" * 100_000,
    ],
)
def test_a_damaged_answer_is_missing_and_written_anew(tmp_path, damage):
    store = ContentStore(tmp_path)
    store.put(KEY, {"cycles": 7})
    (path,) = files_of(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    assert store.get(KEY) is None
    store.put(KEY, {"cycles": 7})
    assert store.get(KEY) == {"cycles": 7}


def test_the_answers_not_asked_for_longest_make_room(tmp_path):
    store = ContentStore(tmp_path, most_bytes=256 * 4 * 4096)  # four files in a part
    keys = [f"ab{number:02}" for number in range(8)]
    for age, key in enumerate(keys):
        store.put(key, {"number": age})
        (path,) = (p for p in files_of(tmp_path) if p.stem == key[2:])
        os.utime(path, (1000 + age, 1000 + age))
        if age >= 3:
            assert store.get(keys[0]) == {"number": 0}  # asked for again and again
    left = [key for key in keys if store.get(key) is not None]
    assert left == [keys[0], *keys[-3:]]
    store.put("cd00", {})
    assert len(files_of(tmp_path)) == 5  # each part by itself


def test_what_cannot_be_kept_is_left_out(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    store = ContentStore(tmp_path / "file" / "below")
    store.put(KEY, {"cycles": 7})
    assert store.get(KEY) is None
    NOTHING_KEPT.put(KEY, {"cycles": 7})
    assert NOTHING_KEPT.get(KEY) is None
    small = ContentStore(tmp_path / "known")
    small.put(KEY, {"text": "a" * 1_000_000})
    assert files_of(tmp_path) == [tmp_path / "file"]
    monkeypatch.setattr("pathlib.Path.replace", _full)
    small.put(KEY, {"cycles": 7})
    assert files_of(tmp_path) == [tmp_path / "file"]


def _full(*_):
    raise OSError(28, "No space left on device")


def test_the_folder_is_named_by_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_KNOWN", "off")
    assert known_answers().folder is None
    monkeypatch.setenv("TILEWRIGHT_KNOWN", str(tmp_path))
    assert known_answers().folder == tmp_path
    monkeypatch.setenv("TILEWRIGHT_KNOWN", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert known_answers().folder is not None


def test_several_processes_write_and_read_at_once(tmp_path):
    code = f"""
from pathlib import Path
from tilewright.simulator.known.content_store import ContentStore
store = ContentStore(Path({str(tmp_path)!r}), 256 * 8 * 4096)
for turn in range(60):
    for number in range(12):
        store.put(f"ab{{number:02}}", {{"number": number, "filler": "x" * (turn % 50)}})
        found = store.get(f"ab{{(number * 5) % 12:02}}")
        assert found is None or found["number"] == (number * 5) % 12
"""
    writers = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    names = [path.name for path in files_of(tmp_path)]
    assert len(names) <= 8
    assert all(name.endswith(".json") for name in names)
