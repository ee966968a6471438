"""Imports point down the layers; the machine half of the simulator knows arch only."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
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


def test_few_circles_of_files() -> None:
    """Imports inside functions and for types alone count, too.

    Records that show themselves import what draws them, which knows them: the architecture, a
    layout, and a mapping with its score.
    """
    graph = nx.DiGraph()
    graph.add_edges_from((name_of(path), name) for path in MODULES for name in files_imported(path))
    circles = [sorted(files) for files in nx.strongly_connected_components(graph) if len(files) > 1]
    assert len(circles) <= 3, circles
    assert max(map(len, circles)) <= 10, max(circles, key=len)


def name_of(path: Path) -> str:
    """Return the dotted name of a module or package of this repository."""
    return ".".join(("tilewright", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    )


@cache
def known_names() -> frozenset[str]:
    return frozenset(map(name_of, MODULES))


def files_imported(path: Path) -> Iterator[str]:
    """Yield the modules of this repository that a file imports, whole or for names in them."""
    for node in statements(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [name for name in inside if name in known_names()] or [node.module]
            yield from (name for name in modules if name in known_names() - {name_of(path)})
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known_names())


PRIVATE_OF_PACKAGES = {
    "arch/compiled.py": "numba",
    "arch/lean/lean_compilation.py": "numba",
    "dse/models/worker_pool.py": "joblib",
    "dse/sampling/generations.py": "optuna",
    "dse/sampling/sampler_optuna.py": "optuna",
}
"""Files that read private members of a package, since it offers no others."""
PUBLIC_DESPITE_THEIR_NAMES = {"_replace", "_asdict", "_fields", "_exit"}


def test_private_members_are_read_in_their_own_file() -> None:
    foreign = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in MODULES
        if str(path.relative_to(ROOT)) not in PRIVATE_OF_PACKAGES
        for line, name in private_members_of_others(path)
    ]
    assert not foreign, foreign
    assert all([*private_members_of_others(ROOT / name)] for name in PRIVATE_OF_PACKAGES)


MAY_BE_FOREIGN = re.compile(
    r"(?<!\bself)(?<!\bcls)\._[A-Za-z]|import\b.*\b_[a-z]|^\s+_\w+,$", re.MULTILINE
)
"""Matches in every file that reads a private member of others; most need not be parsed."""


def private_members_of_others(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and name of each private member that the file reads but does not define."""
    text = path.read_text(encoding="utf-8")
    if not MAY_BE_FOREIGN.search(text):
        return
    nodes = list(ast.walk(ast.parse(text)))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name)}  # fields of records, globals
    own |= {node.attr for node in nodes if is_of_self(node)}
    for node in nodes:
        if not isinstance(node, ast.Attribute) or node.attr in own | PUBLIC_DESPITE_THEIR_NAMES:
            continue
        if node.attr.startswith("_") and not node.attr.endswith("_"):
            yield node.lineno, node.attr
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tilewright"):
            yield from ((node.lineno, a.name) for a in node.names if a.name.startswith("_"))


def is_of_self(node: ast.AST) -> bool:
    """Tell whether a node is a member of `self` or `cls`."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("self", "cls")
    )
