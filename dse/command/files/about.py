"""The files that ship, and what each says about itself: the comment it begins with."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tilewright.dse.command.console import emit
from tilewright.dse.command.shipped import Kind, find_files, studies_folder

_END = re.compile(r"\s*(?:[:(;]|\.(?:\s|$))")


def shipped_files(kind: Kind) -> dict[str, Path]:
    """Return the files of a kind that ship with Tilewright by name, sorted."""
    return {path.stem: path for path in sorted((studies_folder() / kind).glob("*.yaml"))}


def about(path: Path) -> str:
    """Return the first paragraph of the comment that a file begins with, on one line, or ""."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.removeprefix("#").strip()
        if not line.startswith("#") or not text:
            break
        lines.append(text)
    return " ".join(lines)


def in_short(text: str) -> str:
    """Return the beginning of a text, up to the first full stop, colon or bracket."""
    return _END.split(text, maxsplit=1)[0]


def print_shipped(kind: Kind, summary: Callable[[str], str], *, as_json: bool) -> None:
    """Print the files of a kind that ship, each with what it says about itself and a summary.

    `summary`: gives the line on the file of a name.
    """
    files = [(name, path, summary(name)) for name, path in shipped_files(kind).items()]
    if as_json:
        emit(
            [
                {"name": name, "file": str(path), "about": about(path), "summary": line}
                for name, path, line in files
            ]
        )
        return
    for name, path, line in files:
        click.echo(f"{name}\n    {in_short(about(path))}\n    {line}")


def print_shown(
    names: tuple[str, ...], kind: Kind, text: str, document: dict[str, Any], *, as_json: bool
) -> None:
    """Print the paths of files, what the first says about itself, and `text`.

    `names`: of shipped files of a kind, or paths. `as_json`: with `document` in place of the text.
    """
    paths = [str(path) for path in find_files(names, kind)]
    comment = about(Path(paths[0]))
    if as_json:
        emit({"files": paths, "about": comment, **document})
        return
    click.echo("\n".join([*paths, *([comment] if comment else []), "", text]))
