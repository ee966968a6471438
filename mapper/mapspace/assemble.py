"""Turn a template and the tile under each of its slots into a Mapping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Spatial,
    Storage,
    Temporal,
    TollNode,
)
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, Slot, TemporalLoops, TollCrossing
from tilewright.mapper.templates.spatial_choices import SpatialLoops

Tile = tuple[int, ...]  # one extent per rank variable, in the order of Einsum.bounds


def assemble(problem: Problem, slots: Sequence[Slot], tiles: Sequence[Tile]) -> Mapping:
    """Build the mapping with a given tile below each slot of a template.

    `slots`: fills, loops, reservations and Toll crossings, outermost first; `tiles[i]`: extent in
    values of each rank variable, in the order of Einsum.bounds, below `slots[i]`. A loop is
    written where the extent changes. The last tile must be all ones for a complete mapping. A
    template is a mapping without its loops.
    """
    nodes: list[Node] = []
    tile_above = tuple(problem.einsum.bounds.values())
    holder: Fill | None = None
    for slot, tile in zip(slots, tiles, strict=True):
        if isinstance(slot, Fill):
            holder = slot
        loop_tiles = {
            variable: extent
            for variable, extent_above, extent in zip(
                problem.einsum.bounds, tile_above, tile, strict=True
            )
            if extent_above != extent
        }
        _extend(nodes, _nodes(problem, slot, holder, loop_tiles))
        tile_above = tile
    nodes.append(ComputeNode(problem.einsum.name, problem.components[-1].name))
    return Mapping(tuple(nodes))


def _extend(nodes: list[Node], following: Iterable[Node]) -> None:
    """Append nodes; Storage nodes of one memory right below each other become one node."""
    for node in following:
        last = nodes[-1] if nodes else None
        if (
            isinstance(node, Storage)
            and isinstance(last, Storage)
            and (last.component, last.persistent) == (node.component, node.persistent)
        ):
            nodes[-1] = replace(last, tensors=(*last.tensors, *node.tensors))
        else:
            nodes.append(node)


def _nodes(
    problem: Problem, slot: Slot, holder: Fill | None, loop_tiles: dict[str, int]
) -> Iterator[Node]:
    """Yield the mapping nodes of one slot of a template.

    `holder`: the last fill above it; `loop_tiles`: tile below each loop of the slot, by variable.
    """
    if isinstance(slot, Fill):
        persistent = slot.backing and problem.einsum.access(slot.tensor).persistent
        yield Storage((slot.tensor,), slot.component, persistent)
    elif isinstance(slot, TollCrossing):
        yield TollNode((slot.tensor,), slot.component)
    elif isinstance(slot, TemporalLoops):
        for variable in sorted(loop_tiles, key=lambda v: _loop_rank(problem, holder, v)):
            yield Temporal(variable, loop_tiles[variable])
    elif isinstance(slot, SpatialLoops):
        for variable in (v for v in slot.variables if v in loop_tiles):
            yield Spatial(variable, loop_tiles[variable], slot.name, slot.component)


def _loop_rank(problem: Problem, holder: Fill | None, variable: str) -> tuple[int, int]:
    """Return the sort key of a loop in a gap: relevant to the holder first, partly relevant last.

    The order of the loops of a gap changes no count; a loop over a relevant variable directly under
    the holder lets it reserve less (model.md §4.1).
    """
    position = list(problem.einsum.bounds).index(variable)
    if holder is None:
        return (0, position)
    relevance = problem.einsum.access(holder.tensor).relevance(variable)
    return (("relevant", "irrelevant", "partial").index(relevance), position)
