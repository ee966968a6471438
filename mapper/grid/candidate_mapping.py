"""The mapping of a grid candidate, for printing and for the analytical model."""

from __future__ import annotations

from dataclasses import replace

from tilewright.mapper.grid.candidate import Candidate, GridTensor
from tilewright.mapper.mapping.mapping import Compute, Mapping, Node, Spatial, Storage, Temporal


def write_mapping(candidate: Candidate) -> Candidate:
    """Return the candidate with its `mapping` filled in, for the analytical model and for printing.

    The nodes, from the top: a Storage node of the memory outside the grid with the streamed
    tensors; a spatial loop for each axis with several elements; Storage nodes of the element
    memory, with the temporal loop of the element between tensors that are held whole and those that
    pass in tiles; loops of one value per iteration over the other rank variables; a Storage node of
    the operand register, if the grid has one; the loop that one vector operation runs over; the
    Compute node.
    """
    nodes = (
        *_outside(candidate),
        *_spatial(candidate),
        *_memory(candidate),
        *_loops(candidate),
        Compute(candidate.einsum.name, candidate.grid.compute.name),
    )
    return replace(candidate, mapping=Mapping(nodes))


def _outside(candidate: Candidate) -> tuple[Node, ...]:
    streamed = tuple(tensor.name for tensor in candidate.tensors if not tensor.resident)
    return (Storage(streamed, candidate.grid.host.name),) if streamed else ()


def _spatial(candidate: Candidate) -> list[Node]:
    grid, extents = candidate.grid, dict(candidate.einsum.bounds)
    nodes: list[Node] = []
    picked = (candidate.choices.shard_x, candidate.choices.shard_y)
    for dim, name, cells in zip(grid.dims, picked, (grid.columns, grid.rows), strict=False):
        if name == "none" or cells == 1:
            continue
        extents[name] //= cells
        nodes.append(Spatial(name, extents[name], dim, grid.fanout))
    return nodes


def _memory(candidate: Candidate) -> list[Node]:
    untiled = [tensor for tensor in candidate.tensors if tensor.tiles == 1]
    tiled = [tensor for tensor in candidate.tensors if tensor.tiles > 1]
    nodes: list[Node] = []
    name = candidate.grid.memory.name
    if untiled:
        nodes.append(Storage(_names(untiled), name))
    if candidate.tile_variable is not None:
        nodes.append(Temporal(candidate.tile_variable, candidate.tile))
    if tiled:
        nodes.append(Storage(_names(tiled), name))
    return nodes


def _loops(candidate: Candidate) -> list[Node]:
    nodes: list[Node] = [Temporal(name, 1) for name, _ in element_loops(candidate)]
    if candidate.grid.register is not None:
        nodes.append(Storage((candidate.scalar_tensor,), candidate.grid.register.name))
    if candidate.extents[candidate.vector] > 1:
        nodes.append(Temporal(candidate.vector, 1))
    return nodes


def element_loops(candidate: Candidate) -> list[tuple[str, int]]:
    """Return (rank variable, iterations) of the loops around one vector operation, outermost first.

    An element runs them within one iteration of its temporal loop. They are over all rank variables
    but `candidate.vector`, one value per iteration; variables with one iteration are left out, and
    those that are summed over come last.
    """
    extents, reduced = candidate.extents, candidate.reduced
    names = [name for name in candidate.einsum.bounds if name != candidate.vector]
    ordered = sorted(names, key=lambda name: name in reduced)
    return [(name, extents[name]) for name in ordered if extents[name] > 1]


def _names(tensors: list[GridTensor]) -> tuple[str, ...]:
    return tuple(tensor.name for tensor in tensors)
