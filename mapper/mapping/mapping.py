"""The mapping: the tiles that each memory holds, and the order of the loops.

These few records are the whole representation. A mapping is a list of nodes from the outermost
in; a loop is given by the tile shape of one iteration, not by its bound (theory/inputs.md §4).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tilewright.arch.errors import Where


@dataclass(frozen=True, slots=True)
class Storage:
    """The Memory `component` holds tiles of `tensors` from here down.

    `persistent`: the tiles stay while all Einsums of the mapping run.
    """

    tensors: tuple[str, ...]
    component: str
    persistent: bool = False


@dataclass(frozen=True, slots=True)
class Toll(Storage):
    """`tensors` pass the Toll `component` here; it stores nothing."""


@dataclass(frozen=True, slots=True)
class Temporal:
    """A loop in time over the tiles of `rank_variable`, `tile_shape` values each.

    `initial_tile_shape`: size of the first tile, if it differs. `names`: (Einsum, its name of the
    rank variable) for Einsums below that call the variable by another name.
    """

    rank_variable: str
    tile_shape: int
    initial_tile_shape: int | None = None
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Spatial:
    """A loop in space: the tiles of `rank_variable` over dimension `name` of `component`'s fanout.

    `names`: as in Temporal.
    """

    rank_variable: str
    tile_shape: int
    name: str
    component: str
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Compute:
    """The leaf: `einsum` is computed on `component`."""

    einsum: str
    component: str


@dataclass(frozen=True, slots=True)
class Sequential:
    """Branches that share the nodes above and run one after the other.

    `kind`: the tag in the file. The model does not count overlap in time: it scores a Pipeline as
    a Sequential, and notes it in the Score.
    """

    branches: tuple[tuple[Node, ...], ...]
    kind: Literal["Sequential", "Pipeline", "Split"] = "Sequential"


Node = Storage | Temporal | Spatial | Compute | Sequential


@dataclass(frozen=True, slots=True)
class Mapping:
    """Nodes from the outermost to the innermost; the last is a Compute or a Sequential.

    `places`: the place in a file of each node, depth first; empty if the mapping has no file.
    """

    nodes: tuple[Node, ...]
    places: tuple[Where, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        return loop_nest(self)


_STEP = "  "


def loop_nest(mapping: Mapping) -> str:
    """Return `mapping` as an aligned loop nest, one line per node.

    `for` is a temporal loop, `parfor` a spatial one; the number is the tile below the loop.
    """
    lines: list[tuple[str, str]] = []
    _write(mapping.nodes, 0, lines)
    width = max((len(left) for left, right in lines if right), default=0)
    return "\n".join(f"{left:<{width}}  {right}" if right else left for left, right in lines)


def _write(nodes: tuple[Node, ...], depth: int, lines: list[tuple[str, str]]) -> None:
    """Append (indented node, tile of a loop or "") for each node."""
    for node in nodes:
        indent = _STEP * depth
        if isinstance(node, Sequential):
            kind_name = "stage" if node.kind == "Pipeline" else "step"
            for number, branch in enumerate(node.branches, start=1):
                lines.append((f"{indent}{kind_name} {number}:", ""))
                _write(branch, depth + 1, lines)
            continue
        left, right = _texts(node)
        lines.append((f"{indent}{left}", right))
        depth += isinstance(node, Temporal | Spatial)


def _texts(node: Storage | Temporal | Spatial | Compute) -> tuple[str, str]:
    """Return a node as text, and the tile of a loop."""
    match node:
        case Storage(tensors, component, persistent):
            lasting = " (persistent)" if persistent else ""
            return f"[{component}] {', '.join(tensors)}{lasting}", ""
        case Temporal(variable, tile, initial, names):
            first = f", first {initial}" if initial is not None else ""
            synonyms = "".join(f" = {name} of {einsum}" for einsum, name in names)
            return f"for {variable}{synonyms}", f"tile {tile}{first}"
        case Spatial(variable, tile, name, component):
            return f"parfor {variable}", f"tile {tile} over {component}.{name}"
        case Compute(einsum, component):
            return f"compute {einsum} on {component}", ""
