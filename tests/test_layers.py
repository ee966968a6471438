"""Imports point down the layers; the machine half of the simulator knows arch only."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sources import statements

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("arch", "mapper", "simulator", "dse", "studies")
MODULES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
MACHINE = [
    path
    for path in MODULES
    if path.relative_to(ROOT).parts[0] == "simulator"
    and not {"lowering", "execution", "exchanges", "search"} & set(path.relative_to(ROOT).parts)
    and path.name != "__init__.py"
]
ON_MAPPINGS = (
    "tilewright.simulator.lowering",
    "tilewright.simulator.execution",
    "tilewright.simulator.search",
    "tilewright.simulator.exchanges",
)
Import = tuple[str, str]  # place in the sources, dotted name of the imported module


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """Return every import of a file, wherever it stands; a relative one as `.module`."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[Import]:
    for node in statements(path):
        if isinstance(node, ast.Import | ast.ImportFrom):
            place = f"{path.relative_to(ROOT)}:{node.lineno}"
            if isinstance(node, ast.Import):
                yield from ((place, alias.name) for alias in node.names)
            elif node.module == "tilewright":
                yield from ((place, f"tilewright.{alias.name}") for alias in node.names)
            else:
                yield place, "." * node.level + (node.module or "")


def layer_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "tilewright" and len(parts) > 1 else None


def listed(violations: list[Import]) -> str:
    return "\n".join(f"{place}: imports {module}" for place, module in violations)


def test_imports_point_down_and_name_the_namespace() -> None:
    violations = [
        (place, module)
        for path in MODULES
        for place, module in imports(path)
        if layer_of(module) in LAYERS[LAYERS.index(path.relative_to(ROOT).parts[0]) + 1 :]
    ]
    assert not violations, listed(violations)
    # Relative imports and those of the folders' own names work in some installations only.
    every = [item for path in MODULES for item in imports(path)]
    assert len(every) > len(MODULES)
    violations = [(place, name) for place, name in every if name.split(".")[0] in ("", *LAYERS)]
    assert not violations, listed(violations)


def test_the_machine_knows_no_mapping() -> None:
    assert MACHINE
    violations = [
        (place, module)
        for path in MACHINE
        for place, module in imports(path)
        if layer_of(module) == "mapper" or module.startswith(ON_MAPPINGS)
    ]
    assert not violations, listed(violations)
