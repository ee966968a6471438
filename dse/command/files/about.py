"""What a shipped file says about itself: the comment it begins with."""

from __future__ import annotations

import re
from pathlib import Path

from tilewright.dse.command.shipped import Kind, studies_folder

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
