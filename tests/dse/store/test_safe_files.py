"""Files of a run are written whole or not at all, and never through a link."""

from __future__ import annotations

import json
import os

import pytest

from tilewright.arch.errors import SpecError
from tilewright.dse.store.safe_files import (
    RunError,
    check_no_links,
    pretty_json,
    read_json,
    write_atomically,
)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "front.json"
    write_atomically(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new \ud800")  # no UTF-8
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["front.json"]


def test_a_link_is_replaced_and_not_followed(tmp_path):
    outside, path = tmp_path / "outside", tmp_path / "env.json"
    outside.write_text("precious")
    path.symlink_to(outside)
    write_atomically(path, "new")
    assert not path.is_symlink()
    assert path.read_text() == "new"
    assert outside.read_text() == "precious"


def test_a_draft_that_is_a_link_is_not_written_through(tmp_path):
    outside, path = tmp_path / "outside", tmp_path / "env.json"
    outside.write_text("precious")
    path.with_name(f".env.json.{os.getpid()}.draft").symlink_to(outside)
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert outside.read_text() == "precious"


def test_an_error_names_the_file(tmp_path):
    with pytest.raises(OSError, match=r"front\.json"):
        write_atomically(tmp_path / "missing" / "front.json", "text")


def test_a_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(path, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert path.is_fifo()


def test_only_files_and_folders_may_lie_in_a_run(tmp_path):
    run = tmp_path / "run"
    (run / "inputs").mkdir(parents=True)
    (run / "inputs" / "arch.yaml").write_text("arch:")
    (tmp_path / "way").symlink_to(run)
    check_no_links(run)
    check_no_links(tmp_path / "way")
    (run / "inputs" / "work.yaml").symlink_to(tmp_path)
    with pytest.raises(RunError, match=r"work\.yaml is a symbolic link"):
        check_no_links(run)
    (run / "inputs" / "work.yaml").unlink()
    os.mkfifo(run / "trials.jsonl")
    with pytest.raises(RunError, match=r"trials\.jsonl is no regular file"):
        check_no_links(run)


def test_json_of_any_name_of_a_file_can_be_written():
    name = os.fsdecode(b"caf\xe9.yaml")  # no UTF-8
    assert json.loads(pretty_json({"file": name, "ä": 1})) == {"file": name, "ä": 1}
    pretty_json({"file": name}).encode("utf-8")
    assert "ä" in pretty_json({"ä": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        pretty_json({"seconds": float("nan")})


@pytest.mark.parametrize(
    ("text", "place"),
    [('{"a": 1,\n "b" 2}', "env.json:2:6"), ("[1]", "env.json:1"), ("[" * 100_000, "env.json")],
    ids=["syntax", "list", "deep"],
)
def test_a_damaged_file_is_refused_at_its_place(tmp_path, text, place):
    path = tmp_path / "env.json"
    path.write_text(text)
    with pytest.raises(SpecError) as caught:
        read_json(path)
    assert str(caught.value.where).endswith(place)
    assert "put back the file" in str(caught.value)


def test_what_cannot_be_written_is_named_not_its_draft(tmp_path):
    path = tmp_path / "missing" / "report.html"
    with pytest.raises(FileNotFoundError) as caught:
        write_atomically(path, "text")
    assert (caught.value.filename, caught.value.filename2) == (str(path), None)
