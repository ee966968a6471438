"""The sources that a module of this repository depends on, and their digest.

A source counts by its syntax tree without docstrings: comments, layout and the place of the
checkout mean nothing. All imports count, lazy ones too, and text that names a module of ours
(kernels are named so). Imports for type checkers only do not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = "tilewright"  # its folders stand at the root of the checkout
ORACLES = ROOT / "tests" / "oracles"  # imported by their own names


@cache
def digest(path: Path) -> str:
    """Return the digest of a file and of all files of ours that it imports."""
    texts = sorted(text_of_file(file) for file in closure(path))
    return sha256("\0".join(texts).encode()).hexdigest()[:16]


@cache
def closure(path: Path) -> frozenset[Path]:
    """Return a file and all files of ours that it imports, and so on."""
    reached, waiting = {path}, [path]
    while waiting:
        fresh = imported(waiting.pop()) - reached
        reached |= fresh
        waiting += fresh
    return frozenset(reached)


@cache
def imported(path: Path) -> frozenset[Path]:
    """Return the files of ours that a file names in its imports and texts."""
    return _source(path).imported


@cache
def statements(path: Path) -> tuple[ast.AST, ...]:
    """Return every statement of a file, wherever it stands, but none of its expressions."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in waiting:
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, field, ())
    return tuple(waiting)


class _Source(NamedTuple):
    """What a file contributes: the files of ours that it names, and its code as text."""

    imported: frozenset[Path]
    text: str


@cache
def _source(path: Path) -> _Source:
    """Parse a file once for both."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = frozenset(file for name in names(tree) if (file := file_of(name)))
    return _Source(imported, _text_of(tree))


def names(tree: ast.AST) -> Iterator[str]:
    """Yield the modules that a tree may import, among other dotted names."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            nodes += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            assert node.level == 0, "relative imports are not followed"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        nodes += ast.iter_child_nodes(node)


@cache
def file_of(name: str) -> Path | None:
    """Return the file of a module of ours; None for any other name."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    if parts[0] == PACKAGE and len(parts) > 1:
        place = ROOT.joinpath(*parts[1:])
    elif len(parts) == 1:
        place = ORACLES / parts[0]
    else:
        return None
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def text_of_file(path: Path) -> str:
    """Return the code of a file as Python writes it, without comments and docstrings."""
    return _source(path).text


def _text_of(tree: ast.Module) -> str:
    """Return the code of a tree, whose docstrings are removed."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_text(one)] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
