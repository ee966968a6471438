"""Pages of docs/ whose code is executed."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of a language on a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run_page(page: str, file: Path) -> dict[str, object]:
    """Write the page's one YAML block to `file`, run its Python blocks, return their names."""
    (text,) = blocks(page, "yaml")
    file.write_text(text, encoding="utf-8")
    names: dict[str, object] = {}
    for code in blocks(page, "python"):
        exec(compile(code, f"docs/{page}", "exec"), names)
    return names
