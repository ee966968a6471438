"""From the best label to the mapping, and what the answer is optimal over."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.mapper.fusion.boundary.exchange_memories import Room
from tilewright.mapper.fusion.boundary.exchanged_tensors import Boundaries
from tilewright.mapper.fusion.copies.fused_copies import LoneTable
from tilewright.mapper.fusion.fused_mapping import Body, TreeBuilder, body_of
from tilewright.mapper.fusion.fused_problem import Cascade
from tilewright.mapper.fusion.join.compatibility_graph import Graph
from tilewright.mapper.fusion.join.join_deepening import Found
from tilewright.mapper.fusion.join.label_pass import Label
from tilewright.mapper.fusion.pmappings.fused_templates import free_orders
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.scope import spatial_placement_text


def mapping_of(graph: Graph, best: Label, boundaries: Boundaries) -> Mapping:
    """Return the mapping that a complete label stands for."""
    bodies: list[Body] = []
    for one, step in zip(best.chosen, graph.steps, strict=True):
        table = step.tables[one.rows.table]
        if isinstance(table, LoneTable):
            bodies.append(table.body(one))
        else:
            bodies.append(body_of(table, one))
    shared = [one.shared for one in best.chosen[:-1]]
    return TreeBuilder(bodies, shared, boundaries.users).mapping()


def on_chip_in(found: Found) -> tuple[str, ...]:
    """Return the tensors that the mapping found keeps on chip, in order of first use."""
    names: dict[str, None] = {}
    if found.label is not None and found.graph is not None:
        for one, step in zip(found.label.chosen, found.graph.steps, strict=True):
            pairs = zip(step.tables[0].boundary, one.rows.depths, strict=True)
            names |= {place.tensor: None for place, depth in pairs if depth >= 0}
    return tuple(names)


def _has_upper_lanes(space: Mapspace, inner: str) -> bool:
    components = space.problem.components
    names = [component.name for component in components]
    if inner not in names:  # a compute right below the outermost memory
        return False
    return any(c.own_fanout > 1 for c in components[: names.index(inner) + 1])


def scope_of(cascade: Cascade, room: Room) -> str:
    """Say over which mappings the answer is optimal."""
    boundaries = cascade.boundaries
    workload = boundaries.workload
    chip = [t for t in workload.tensors if t in boundaries.chip]
    outside = [t for t in workload.tensors if t in boundaries.backed]
    spaces = [run.space for solo in cascade.einsums if isinstance(solo, tuple) for run in solo]
    lanes = "".join(dict.fromkeys(map(spatial_placement_text, spaces)))
    dealt = [m for m in room.memories if m and any(_has_upper_lanes(s, m) for s in spaces)]
    text = f"mappings with even tiles{lanes}, the Einsums one after the other in the order given"
    if room.inner is None or not chip:
        text += f", in which they exchange tensors through {room.outer}"
    else:
        deepest = {place.memory for tensor in chip for place in boundaries.places(tensor)}
        memories = [name for name in room.memories if name in deepest]
        text += (
            f", fused or not: each of {', '.join(chip)} is backed in {room.outer} or"
            f" {' or '.join(memories)}; Einsums share loops over what is one rank variable to all"
            f" of them, at most {cascade.repeats} per variable, above the lowest tensor that they"
            f" exchange in {' or '.join(memories)} and relevant to all of those"
        )
        below = [name for name in dealt if name in memories]
        if below:
            text += f", and lanes above {' or '.join(below)} over such variables"
        text += _fewer_places(boundaries, chip, memories)
        if len(memories) > 1 and not boundaries.shares_room:
            text += "; holders with no loop between count in the order of the hierarchy"
        if outside:
            text += f"; {', '.join(outside)}: backed in {room.outer}"
    text += _orders_in(spaces)
    text += _copies_in(cascade, str(room.inner) if room.inner in dealt else "")
    if boundaries.apart and boundaries.shares_room:
        apart = ", ".join(t for t in workload.tensors if t in boundaries.apart)
        text += f"; Einsums that hold {apart} in one place have room there for the largest tile"
    if boundaries.unsettled:
        several = ", ".join(t for t in workload.tensors if t in boundaries.unsettled)
        text += (
            f"; of {several}, whose width changes, a tile has room for the widest until it comes"
        )
    return text


def _fewer_places(boundaries: Boundaries, chip: Sequence[str], memories: Sequence[str]) -> str:
    """Say which tensors are exchanged in some of the memories only."""
    text = ""
    for tensor in chip:
        places = {place.memory for place in boundaries.places(tensor)}
        if others := [name for name in memories if name not in places]:
            text += f"; {tensor}: not backed in {' or '.join(others)}"
    return text


def _orders_in(spaces: Sequence[Mapspace]) -> str:
    """Say which orders of holders are left out where memories may leave the hierarchy's."""
    free = dict.fromkeys(name for space in spaces for name in free_orders(space))
    if not free:
        return ""
    text = f"; above what is exchanged on chip {', '.join(free)} hold nothing out of their order"
    if any(not space.problem.conventions.loops_sink for space in spaces):
        text += ", nor anywhere below lanes of a deeper level"
    return text


def _copies_in(cascade: Cascade, dealt: str) -> str:
    """Say which mappings of copies are left out; `dealt`: the memory below lanes, if it is one."""
    tables = [solo for solo in cascade.einsums if isinstance(solo, LoneTable)]
    found = ""
    alone = [table.einsum.name for table in tables if not table.shares]
    joint = [table.einsum.name for table in tables if table.shares]
    if alone:
        found += f"; copies ({', '.join(alone)}) share no loops"
    if joint:
        found += (
            f"; copies ({', '.join(joint)}) hold below the loops that they share what they do not"
            " exchange there"
        )
    undealt = [table.einsum.name for table in tables if not table.deals]
    if dealt and undealt:
        names = ", ".join(undealt)
        found += f"; copies ({names}) share no lanes above {dealt}"
    return found + "; what a copy reads on chip has room there until then" * bool(tables)
