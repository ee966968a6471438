"""Turn a template and the tile under each of its slots into a Mapping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewright.mapper.mapping.mapping import (
    Compute,
    Mapping,
    Node,
    Spatial,
    Storage,
    Temporal,
    Toll,
)
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, Slot, TemporalLoops, TollCrossing
from tilewright.mapper.templates.spatial_choices import SpatialLoops

Tile = tuple[int, ...]  # one extent per rank variable, in the order of Einsum.bounds


def assemble(problem: Problem, slots: Sequence[Slot], tiles: Sequence[Tile]) -> Mapping:
    """Build the mapping whose tile shape below `slots[i]` is `tiles[i]`, outermost slot first."""
    nodes: list[Node] = []
    above = tuple(problem.einsum.bounds.values())
    holder: Fill | None = None
    for slot, tile in zip(slots, tiles, strict=True):
        if isinstance(slot, Fill):
            holder = slot
        _extend(nodes, _nodes(problem, slot, holder, (above, tile)))
        above = tile
    nodes.append(Compute(problem.einsum.name, problem.components[-1].name))
    return Mapping(tuple(nodes))


def _extend(nodes: list[Node], more: Iterator[Node]) -> None:
    for node in more:
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
    problem: Problem, slot: Slot, holder: Fill | None, step: tuple[Tile, Tile]
) -> Iterator[Node]:
    if isinstance(slot, Fill):
        persistent = slot.backing and problem.einsum.access(slot.tensor).persistent
        yield Storage((slot.tensor,), slot.component, persistent)
    elif isinstance(slot, TollCrossing):
        yield Toll((slot.tensor,), slot.component)
    elif isinstance(slot, TemporalLoops):
        changed = _changed(problem, step)
        for variable in sorted(changed, key=lambda v: _rank(problem, holder, v)):
            yield Temporal(variable, changed[variable])
    elif isinstance(slot, SpatialLoops):
        changed = _changed(problem, step)
        for variable in (v for v in slot.variables if v in changed):
            yield Spatial(variable, changed[variable], slot.name, slot.component)


def _changed(problem: Problem, step: tuple[Tile, Tile]) -> dict[str, int]:
    return {
        v: after
        for v, before, after in zip(problem.einsum.bounds, *step, strict=True)
        if before != after
    }


def _rank(problem: Problem, holder: Fill | None, variable: str) -> tuple[int, int]:
    """Put loops relevant to the holder first and partly relevant ones last.

    The order of the loops of a gap changes no count; a loop over a relevant variable directly
    under the holder lets it reserve less (model.md §4.1).
    """
    position = list(problem.einsum.bounds).index(variable)
    if holder is None:
        return (0, position)
    relevance = problem.einsum.access(holder.tensor).relevance(variable)
    return (("relevant", "irrelevant", "partial").index(relevance), position)
