"""The command `tilewright run`: data, notes, results, timelines, and what a page shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tilewright.dse.command.cli import cli

TEXT = """program scaled 1 x 2
color c 1
code m
  buffer y f32 [8] @ 0
  buffer b f32 [8] @ 16
  mem1d all y extent 8
  mem1d more b extent 8
  fabin in queue 2 extent 8
  input_queue 2 c
  task main entry
    @fmovs all, in
    @fmacs all, all, more, #2.0
place m [0:1, 0:2]
route c [0:1, 0:2] rx N tx R
edge_input words side N [0:2] color c f32 count 8 interval 1 start 0
"""


def run(tmp_path: Path, *options: str, text: str = TEXT) -> tuple[int, str, str]:
    file = tmp_path / "program.txt"
    file.write_text(text)
    result = CliRunner().invoke(cli, ["run", str(file), "--machine", "wse3-sdk-sim", *options])
    return result.exit_code, result.stdout, result.stderr


def test_it_executes_on_data_and_writes_what_is_asked(tmp_path: Path) -> None:
    words = np.arange(16, dtype=np.float32).reshape(2, 8)
    b = np.ones((1, 2, 8), dtype=np.float32)
    np.savez(tmp_path / "data.npz", words=words, b=b)
    out, timeline, viewer = (tmp_path / name for name in ("o.npz", "t.json", "t.log"))
    options = ["--data", str(tmp_path / "data.npz"), "--results", str(out)]
    code, text, error = run(tmp_path, *options, "--timeline", str(timeline))
    assert code == 0, error
    assert "read conflict" in text
    assert "bank conflict: code m, task main, @fmacs: 16 cycles lost in 2 runs" in text
    assert (np.load(out)["y"][0] == words + 2).all()
    assert json.loads(timeline.read_text())["traceEvents"]
    code, _, error = run(tmp_path, *options, "--timeline", str(viewer))
    assert code == 0, error
    assert viewer.read_text().startswith("@0 dimX=2, dimY=1\n")


def test_random_data_json_and_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, text, error = run(tmp_path, "--random", "3", "--json", "--html", str(page))
    assert code == 0, error
    facts = json.loads(text)
    by_reason = facts["cycles_by_state"]
    assert sum(by_reason.values()) == facts["cycles"] * 2
    assert len(facts["bank_conflicts"]) == 1
    shown = page.read_text()
    assert "bank 0" in shown
    assert "16 cycles lost in 2 runs" in shown
    assert "dependent" in shown
    assert re.search(r"\d+ figures? of the machine that (is|are) assumed", shown)
    maps = {
        name: json.loads(re.findall(rf'"{name}": ?{{[^}}]*"values": ?(\[\[.*?\]\])', shown)[0])
        for name in ("busy", "stalled")
    }
    stalled = sum(by_reason.values()) - by_reason["busy"] - by_reason["idle"]
    assert (np.sum(maps["busy"]), np.sum(maps["stalled"])) == (by_reason["busy"], stalled)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "an edge input has no data"),
        (("--random", "1", "--machine", "wse9"), "unknown machine profile"),
        (("--random", "1", "--note", "rain"), "one of races, unwritten"),
        (("--data", "absent.npz"), "holds no arrays"),
        (("--data", __file__), "holds no arrays"),
    ],
)
def test_mistakes_end_with_one_message(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    code, _, error = run(tmp_path, *options)
    assert code == 2
    assert message in error


def test_an_error_of_the_program_names_its_line(tmp_path: Path) -> None:
    """A buffer that does not fit is refused before values are drawn for it."""
    huge = TEXT.replace("[8] @ 16", "[9999999999999999999] @ 16")
    code, _, error = run(tmp_path, "--random", "1", text=huge)
    assert code == 2
    assert "bytes of SRAM" in error
    code, _, error = run(tmp_path, text=TEXT.replace("@fmovs all, in", "@fmovs none, in"))
    assert code == 2
    assert "program.txt:11" in error


def test_names_that_a_buffer_and_an_edge_share(tmp_path: Path) -> None:
    text = TEXT.replace("edge_input words", "edge_input y")
    words = np.ones((2, 8), dtype=np.float32)
    np.savez(tmp_path / "data.npz", **{"edge.y": words, "memory.y": np.zeros((1, 2, 8))})
    code, _, error = run(tmp_path, "--data", str(tmp_path / "data.npz"), text=text)
    assert code == 0, error


def test_pages_and_files_that_are_no_text(tmp_path: Path) -> None:
    """Of a page in Markdown the first block is run, and errors name the lines of the page."""
    page, binary, marked = (tmp_path / name for name in ("page.txt", "b.txt", "m.txt"))
    page = page.with_suffix(".md")
    page.write_text(
        f"# A page\n```python\n1\n```\n```text\n{TEXT.replace('2.0', '2.x')}```\n\n```\nmore\n```\n"
    )
    binary.write_bytes(b"program \xe9 1 x 1")
    marked.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    problems = ((page, f"{page}:17:28"), (binary, "b.txt\n  value:   'byte 0xe9 at 8'"))
    for file, problem in problems:
        result = CliRunner().invoke(cli, ["run", str(file)])
        assert result.exit_code == 2
        assert problem in result.stderr
    result = CliRunner().invoke(cli, ["run", str(marked), "--random", "1"])
    assert result.exit_code == 0, result.stderr


def test_a_misspelt_counter_is_noted(tmp_path: Path) -> None:
    used = "    set first 2\n    @fmovs all {length 2}, more[frst] {length 2}\nplace"
    text = TEXT.replace("place", used, 1)
    code, told, error = run(tmp_path, "--random", "1", text=text)
    assert code == 0, error
    note = "counter frst of code m gets no value, so it is always 0; did you mean first?"
    assert f"note: {note}" in told
    code, told, error = run(tmp_path, "--random", "1", "--json", text=text)
    assert json.loads(told)["notes"] == [note]
    right = text.replace("[frst]", "[first]")
    assert "note" not in run(tmp_path, "--random", "1", text=right)[1]
