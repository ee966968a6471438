"""Imports point down the layers; the machine half of the simulator knows arch only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("arch", "mapper", "simulator", "dse", "studies")
MODULES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
MACHINE = [
    path
    for path in MODULES
    if path.relative_to(ROOT).parts[0] == "simulator"
    and "lowering" not in path.parts
    and path.name not in ("__init__.py", "cost_model.py")
]


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted name of every module that a file imports, wherever it does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield node.module or ""


def layer_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "tilewright" and len(parts) > 1 else None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path: Path) -> None:
    layer = path.relative_to(ROOT).parts[0]
    above = set(LAYERS[LAYERS.index(layer) + 1 :])
    assert not {name for name in imported(path) if layer_of(name) in above}
    assert not {name for name in imported(path) if name.split(".")[0] in LAYERS}


@pytest.mark.parametrize("path", MACHINE, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_machine_knows_no_mapping(path: Path) -> None:
    names = set(imported(path))
    assert not {name for name in names if layer_of(name) == "mapper"}
    assert not {name for name in names if name.startswith("tilewright.simulator.lowering")}
