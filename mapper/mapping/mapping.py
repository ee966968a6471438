"""The mapping: which tile of which tensor sits where, and in which order the work is done.

The whole IR stands on this screen. A mapping is a top-down list of nodes; a loop is given by the
tile shape of one iteration, not by its bound (inputs.md §4).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tilewright.arch.errors import Where


@dataclass(frozen=True, slots=True)
class Storage:
    """Tiles of `tensors` live in `component`, a Memory, from here down."""

    tensors: tuple[str, ...]
    component: str
    persistent: bool = False


@dataclass(frozen=True, slots=True)
class Toll(Storage):
    """`tensors` pass `component`, a Toll, here; it keeps nothing."""


@dataclass(frozen=True, slots=True)
class Temporal:
    """Visit the tiles of `rank_variable` one after the other, `tile_shape` values each.

    `initial_tile_shape` (if given) is the size of the first tile. `names`: (Einsum, its name of the
    rank variable) for those below that call it differently.
    """

    rank_variable: str
    tile_shape: int
    initial_tile_shape: int | None = None
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Spatial:
    """Deal the tiles of `rank_variable` over dimension `name` of `component`, side by side.

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
    """The branches share the nodes above and run one after the other.

    `kind`: as the file calls it. No model here knows pipelines: a Pipeline is scored as a
    Sequential, and the Score says so.
    """

    branches: tuple[tuple[Node, ...], ...]
    kind: Literal["Sequential", "Pipeline", "Split"] = "Sequential"


Node = Storage | Temporal | Spatial | Compute | Sequential


@dataclass(frozen=True, slots=True)
class Mapping:
    """Nodes from the outermost to the innermost; the last is a Compute or a Sequential.

    `places`: where each node was written, in the order in which a reader meets them (for messages).
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
    for node in nodes:
        indent = _STEP * depth
        match node:
            case Storage(tensors, component, persistent):
                lasting = " (persistent)" if persistent else ""
                lines.append((f"{indent}[{component}] {', '.join(tensors)}{lasting}", ""))
            case Temporal(variable, tile, initial, names):
                first = f", first {initial}" if initial is not None else ""
                called = "".join(f" = {name} of {einsum}" for einsum, name in names)
                lines.append((f"{indent}for {variable}{called}", f"tile {tile}{first}"))
                depth += 1
            case Spatial(variable, tile, name, component):
                lines.append((f"{indent}parfor {variable}", f"tile {tile} over {component}.{name}"))
                depth += 1
            case Compute(einsum, component):
                lines.append((f"{indent}compute {einsum} on {component}", ""))
            case Sequential(branches, kind):
                kind_name = "stage" if kind == "Pipeline" else "step"
                for number, branch in enumerate(branches, start=1):
                    lines.append((f"{indent}{kind_name} {number}:", ""))
                    _write(branch, depth + 1, lines)
