"""The project keeps its own rules: packages, public names, sizes."""

import ast
import importlib
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from sources import statements

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("arch", "mapper", "simulator", "dse", "studies")
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
NOTED_LINES, MOST_LINES = 400, 600
MOST_MODULES = 12
LARGE_FOLDERS: dict[str, int] = {}
"""Folders above MOST_MODULES with the number of their modules, which may only fall."""


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
    assert found | {"tilewright"} == listed


@pytest.mark.parametrize("package", FOLDERS)
def test_public_names_are_few_and_documented(package: str) -> None:
    module = importlib.import_module(f"tilewright.{package}")
    assert module.__doc__
    assert 1 <= len(module.__all__) <= 10
    for name in module.__all__:
        assert getattr(module, name).__doc__, name


@pytest.mark.parametrize("package", FOLDERS)
def test_dir_lists_the_public_names_and_no_helpers(package: str) -> None:
    module = importlib.import_module(f"tilewright.{package}")
    assert set(module.__all__) <= set(dir(module))
    assert not {"TYPE_CHECKING", "annotations", "lazily"} & set(dir(module))


def test_the_top_has_a_version_and_the_packages() -> None:
    top = importlib.import_module("tilewright")
    assert top.__version__ == version("tilewright")
    assert set(dir(top)) == {"__version__", *FOLDERS}
    assert top.mapper.search is importlib.import_module("tilewright.mapper").search
    with pytest.raises(AttributeError, match="no attribute 'mappr'"):
        _ = top.mappr


def test_files_stay_short(note: Callable[[str], None]) -> None:
    """Above the limit of an error no file is allowed; above that of a note the run names it."""
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in SOURCES}
    long = [f"{path.relative_to(ROOT)}: {lines} lines" for path, lines in lengths.items()
            if lines > NOTED_LINES]  # fmt: skip
    if long:
        note(f"files of more than {NOTED_LINES} lines: " + ", ".join(long))
    too_long = [path for path, lines in lengths.items() if lines > MOST_LINES]
    assert not too_long, "\n".join(long)


def test_functions_stay_short() -> None:
    violations = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {problem}"
        for path in SOURCES
        for node in statements(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for problem in size_problems(node)
    ]
    assert not violations, "\n".join(violations)


def size_problems(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    lines = (node.end_lineno or 0) - node.lineno + 1
    if lines > 60:
        yield f"{lines} lines"
    parameters = len(node.args.args) + len(node.args.kwonlyargs)
    compiled = bool(node.decorator_list)  # kernels take their arrays one by one
    if parameters > (12 if compiled else 7):
        yield f"{parameters} parameters"


def test_folders_hold_few_modules() -> None:
    modules = Counter(
        str(path.parent.relative_to(ROOT)) for path in SOURCES if path.name != "__init__.py"
    )
    violations = [
        f"{folder}: {count} modules, at most {LARGE_FOLDERS.get(folder, MOST_MODULES)}"
        for folder, count in sorted(modules.items())
        if count > LARGE_FOLDERS.get(folder, MOST_MODULES)
    ]
    assert not violations, "\n".join(violations)
    small = [folder for folder in LARGE_FOLDERS if modules[folder] <= MOST_MODULES]
    assert not small, f"no longer exceptions, take them off LARGE_FOLDERS: {small}"
