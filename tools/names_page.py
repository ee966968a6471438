"""Write docs/names.md: every module and every public type, with the first line of its docstring.

Run `python tools/names_page.py` to write the page anew; a test compares them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "names.md"
PACKAGES = ("arch", "mapper", "simulator", "dse")
HEAD = """# Names

Every module and every public type, folder by folder. `tools/names_page.py` writes this page from
the docstrings; the terms that they use stand in the [glossary](glossary.md).
"""


class Entry(NamedTuple):
    """A module (`type_name` is empty) or a public type, and the first line of its docstring."""

    module: Path
    type_name: str
    line: str


@cache
def entries(package: str) -> tuple[Entry, ...]:
    """Return the modules of a package, folder by folder, each followed by its public types."""
    return tuple(read_entries(package))


def read_entries(package: str) -> Iterator[Entry]:
    """Read the entries of a package from its files."""
    for path in sorted((ROOT / package).rglob("*.py"), key=lambda path: (path.parent, path)):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = path.relative_to(ROOT)
        yield Entry(module, "", first_line(tree))
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield Entry(module, node.name, first_line(node))


def first_line(node: ast.Module | ast.ClassDef) -> str:
    """Return the first line of a docstring; empty without one."""
    return (ast.get_docstring(node) or "").partition("\n")[0]


def page() -> str:
    """Return the text of the page."""
    lines = [HEAD]
    for package in PACKAGES:
        for entry in entries(package):
            if entry.module.name == "__init__.py":
                folder = entry.module.parent.as_posix()
                lines += [f"\n## {folder}/\n\n{entry.line}\n", "| name | meaning |", "|---|---|"]
            else:
                name = (
                    f"&emsp;`{entry.type_name}`" if entry.type_name else f"**{entry.module.stem}**"
                )
                lines.append(f"| {name} | {entry.line.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def missing() -> list[str]:
    """Return the modules and public types without a docstring."""
    gaps = [entry for package in PACKAGES for entry in entries(package) if not entry.line]
    return [f"{entry.module}: {entry.type_name}".rstrip(": ") for entry in gaps]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
