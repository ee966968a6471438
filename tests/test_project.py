"""The project keeps its own rules: packages, public names, sizes."""

import ast
import importlib
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("arch", "mapper", "simulator", "dse", "studies")
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def test_every_package_is_listed() -> None:
    """A sub-package that pyproject forgets is missing from the wheel and present when editable."""
    listed = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    )
    found = {
        "tilewright." + ".".join(path.parent.relative_to(ROOT).parts)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert found == listed


@pytest.mark.parametrize("package", FOLDERS)
def test_public_names_are_few_and_documented(package: str) -> None:
    module = importlib.import_module(f"tilewright.{package}")
    assert module.__doc__
    assert 1 <= len(module.__all__) <= 10
    for name in module.__all__:
        assert getattr(module, name).__doc__, name


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 600
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            arguments = len(node.args.args) + len(node.args.kwonlyargs)
            assert length <= 60, f"{node.name} has {length} lines"
            compiled = bool(node.decorator_list)  # kernels take their arrays one by one
            assert arguments <= (12 if compiled else 7), f"{node.name}: {arguments} parameters"
