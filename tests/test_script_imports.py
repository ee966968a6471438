"""What scripts beside the packages import exists: also in scripts that they pass on as text."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("benchmarks", "tools", "docs")
SCRIPTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
STATEMENT = re.compile(r"^\s*from tilewright[\w.]* import (?:\([^)]*\)|[^\n]*)", re.MULTILINE)


def imports_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield module and name of each import from this project, as statement or in a text."""
    for statement in STATEMENT.findall(text):
        node = ast.parse(statement.strip()).body[0]
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            yield str(node.module), alias.name


def exists(module: str, name: str) -> bool:
    """Tell whether a module has a name, or a package a module of that name."""
    try:
        if hasattr(importlib.import_module(module), name):
            return True
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


def test_all_exist() -> None:
    absent = [
        f"{path.relative_to(ROOT)}: from {module} import {name}"
        for path in SCRIPTS
        for module, name in imports_of(path.read_text(encoding="utf-8"))
        if not exists(module, name)
    ]
    assert not absent, "\n".join(absent)


def test_a_text_is_looked_at() -> None:
    script = 'RUN = """\nfrom tilewright.arch.spec.load import load_arch\n"""\n'
    assert list(imports_of(script)) == [("tilewright.arch.spec.load", "load_arch")]
    assert not exists("tilewright.arch.spec.load", "no_such_name")
