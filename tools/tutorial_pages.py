"""Run the tutorials: every file, command and snippet of docs/tutorials/*.md, in their order.

Run `python tools/tutorial_pages.py [PAGE...]` to run pages and write anew what their commands
print; tests/test_tutorials.py compares. In a page

- a block ```yaml title="NAME" (or another language) is written to the file NAME;
- a block ```console has commands after `$ ` and what they print; a line `...` stands for any lines;
- a block ```python runs, and prints what the block ```text after it says;
- a block after the line <!-- nightly --> runs in the nightly tests only.

Every page has a folder of its own. Durations are not compared.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "tutorials"
NIGHTLY = "<!-- nightly -->"
_BLOCK = re.compile(
    rf"(?P<nightly>{NIGHTLY}\n)?^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n"
    r"(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_DURATIONS = (
    (re.compile(r"searched in [\d.,]+ \w+"), "searched in # s"),
    (re.compile(r"\([\d.]+ s\)"), "(# s)"),
    (
        re.compile(r"\d+ others, drawn at random, took [^;\n]+"),
        "# others, drawn at random, took # s",
    ),
    (re.compile(r"took [\d.]+ \w+"), "took # s"),
    (re.compile(r"about [\d.]+ \w+ on \d+ workers?"), "about # s on # workers"),
    (re.compile(r"^seconds: .*$", re.MULTILINE), "seconds: #"),
)
_PROGRESS = re.compile(r"^\d+ s: .*\n", re.MULTILINE)  # of a search that takes long


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: where its text stands, its language and title."""

    start: int
    end: int
    language: str
    title: str | None
    text: str
    is_nightly: bool


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    return [
        Block(
            match.start("text"),
            match.end("text"),
            match["language"],
            match["title"],
            match["text"],
            match["nightly"] is not None,
        )
        for match in _BLOCK.finditer(page)
    ]


def answered(page: str, folder: Path, nightly: bool = False) -> Iterator[tuple[Block, str]]:
    """Run a page in a folder; yield each block that prints with what it prints now.

    Every block of a page is run, in order, except nightly ones unless `nightly`.
    """
    names: dict[str, object] = {"__name__": "tutorial"}
    printed: str | None = None
    with contextlib.chdir(folder), _surroundings():
        for block in blocks(page):
            if block.is_nightly and not nightly:
                printed = None
            elif block.language == "text" and printed is not None:
                yield block, printed
                printed = None
            elif block.title is not None:
                Path(block.title).write_text(block.text, encoding="utf-8")
            elif block.language == "console":
                yield block, _transcript(block.text)
            elif block.language == "python":
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(compile(block.text, "tutorial", "exec"), names)
                printed = out.getvalue()


def parts_of(transcript: str) -> list[str]:
    """Return the commands of a block, each with what it prints; other text is one part."""
    return re.split(r"^(?=\$ )", transcript, flags=re.MULTILINE)


def agrees(stored: str, now: str) -> bool:
    """Return whether a block says what is printed now; `...` stands for any lines."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", masked(stored), flags=re.MULTILINE)]
    return re.fullmatch(r"(?:.*\n)*?".join(parts), masked(now)) is not None


def masked(text: str) -> str:
    """Return a text without its durations."""
    for pattern, instead in _DURATIONS:
        text = pattern.sub(instead, text)
    return text


@contextlib.contextmanager
def _surroundings() -> Iterator[None]:
    """Let commands print for 100 columns, and studies evaluate their designs in this process."""
    from tilewright.dse.models.worker_pool import InProcess

    pool = "tilewright.dse.run.runner.make_pool"
    with (
        mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}),
        mock.patch(pool, lambda evaluator, *_: InProcess(evaluator)),
    ):
        yield


def _transcript(text: str) -> str:
    from click.testing import CliRunner

    from tilewright.dse.command.cli import cli

    shown = ""
    for command in re.findall(r"^\$ ((?:.*\\\n)*.*)\n", text, re.MULTILINE):
        words = shlex.split(command.replace("\\\n", " "), comments=True)
        if words[0] != "tilewright":
            raise SystemExit(f"only tilewright runs in a tutorial, not {words[0]}")
        result = CliRunner().invoke(cli, words[1:])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        output = (
            _PROGRESS.sub("", result.output).replace(f"{Path.cwd()}/", "").replace(f"{ROOT}/", "")
        )
        shown += f"$ {command}\n{output}"
        shown += "" if output.endswith("\n") or not output else "\n"
    return shown


def written(page: str, folder: Path) -> str:
    """Return a page with what its commands print now, where that has changed."""
    text = page
    for block, now in reversed(list(answered(page, folder, nightly=True))):
        pairs = zip(parts_of(block.text), parts_of(now), strict=True)
        parts = [stored if _stays(stored, new) else new for stored, new in pairs]
        text = text[: block.start] + "".join(parts) + text[block.end :]
    return text


def _stays(stored: str, now: str) -> bool:
    if agrees(stored, now):
        return True
    if "\n...\n" in stored:
        print(f"not what is printed now, mend by hand:\n{stored}\nprinted is\n{now}")
        return True
    return False


def main(names: list[str]) -> None:
    """Write the pages named anew, or all."""
    for path in [PAGES / name for name in names] or sorted(PAGES.glob("*.md")):
        with tempfile.TemporaryDirectory() as folder:
            path.write_text(written(path.read_text("utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
