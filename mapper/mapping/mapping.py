"""The mapping: the tiles that each memory holds, and the order of the loops.

These few records are the whole representation. A mapping is a list of nodes from the outermost
in; a loop is given by the tile shape of one iteration, not by its bound (theory/inputs.md §4).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from tilewright.arch.errors import Where


@dataclass(frozen=True, slots=True)
class Storage:
    """The node of a mapping below which a memory holds tiles of some tensors.

    `tensors`: their names; `component`: the Memory. The loops above give the tile that is filled
    here. `persistent`: the tiles stay while all Einsums of the mapping run. On a grid of elements:
    `buffers`, tiles of each tensor that the memory holds at a time, 2 to move
    one during the work on another; `reduction`, how partial sums of an output are added over the
    elements: chain (the default), tree, two_phase or two_phase(4), groups of 4, auto or
    auto(21,5,1), a tree made for a machine, one of these in y_first(...), columns before rows, or
    snake; any of them in all_reduce(...) sends the result back to the elements that added it up,
    and all_reduce(ring) adds up a part of it in each of them;
    `shift`, the dimension of the grid along whose rings the tiles move on in each turn of the loop
    above.
    """

    tensors: tuple[str, ...]
    component: str
    persistent: bool = False
    buffers: int = 1
    reduction: str = ""
    shift: str = ""


@dataclass(frozen=True, slots=True)
class TollNode(Storage):
    """The node of a mapping at which tensors pass a Toll, which charges values and stores nothing.

    `tensors`, `component`: names; `persistent` is of no use here.
    """


@dataclass(frozen=True, slots=True)
class Temporal:
    """A loop in time over the tiles of a rank variable.

    `rank_variable`: its name. `tile_shape`: values of the variable per iteration (not the number
    of iterations): 12 values with tile_shape 4 make 3. `initial_tile_shape`: values of the first
    iteration, if it differs. `names`: pairs (Einsum, variable) for Einsums below the loop that
    call the variable by another name.
    """

    rank_variable: str
    tile_shape: int
    initial_tile_shape: int | None = None
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Spatial:
    """A loop in space: it spreads the tiles of a rank variable over instances of a fanout.

    `rank_variable`: its name. `tile_shape`: values of the variable per instance (not the number of
    instances): 12 values with tile_shape 4 use 3. `name`, `component`: the dimension and the
    component whose fanout it is. `names`: pairs (Einsum, variable) for Einsums below the loop that
    call the variable by another name.
    """

    rank_variable: str
    tile_shape: int
    name: str
    component: str
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ComputeNode:
    """The innermost node of a mapping or branch: an Einsum is computed on a component.

    `einsum`, `component`: the name of the Einsum and of the Compute.
    """

    einsum: str
    component: str


@dataclass(frozen=True, slots=True)
class Sequential:
    """The node of a fused mapping below which several branches run one after the other.

    `branches`: lists of nodes, each ending in a Compute or another Sequential; they share the
    nodes above. `kind`: the tag in the file. The model does not count overlap in time: it scores a
    Pipeline as a Sequential and notes that in the Score.
    """

    branches: tuple[tuple[Node, ...], ...]
    kind: Literal["Sequential", "Pipeline", "Split"] = "Sequential"


Node = Storage | Temporal | Spatial | ComputeNode | Sequential


@dataclass(frozen=True, slots=True)
class Mapping:
    """How one or several Einsums run: nodes from the outermost to the innermost.

    `nodes`: Storage, Toll, Temporal and Spatial nodes; the last is a Compute or a Sequential with
    branches. `places`: file, line and column of each node, depth first; empty if the mapping has
    no file.
    """

    nodes: tuple[Node, ...]
    places: tuple[Where, ...] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        """Return the loop nest; behind a loop stand the values of its variable in a tile."""
        from tilewright.mapper.mapping.nest_lines import nest_lines, nest_text

        return nest_text(nest_lines(self.nodes))

    def __repr__(self) -> str:
        from tilewright.mapper.mapping.nest_lines import nest_lines

        words = (f"{line.left} {line.right}".rstrip() for line in nest_lines(self.nodes))
        return f"<Mapping: {' / '.join(words)}>"

    def _repr_html_(self) -> str:
        """Return the loop nest for a notebook."""
        from tilewright.mapper.evaluation.notebook import mapping_html

        return mapping_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the mapping as plain data: the lines of its loop nest, and its file as YAML."""
        from tilewright.mapper.mapping.mapping_file import dump_mapping
        from tilewright.mapper.mapping.nest_lines import nest_lines

        nest = [line.document() for line in nest_lines(self.nodes)]
        return {"nest": nest, "file": dump_mapping(self)}
