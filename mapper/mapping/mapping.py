"""The mapping: which tile of which tensor sits where, and in which order the work is done.

The whole IR stands on this screen. A mapping is a top-down list of nodes; a loop is given by the
tile shape of one iteration, not by its bound (accelforge.md §1.5).
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
        from tilewright.mapper.mapping.mapping_render import loop_nest

        return loop_nest(self)
