"""From the best label to the mapping, and what the answer is optimal over."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.mapper.fusion.boundary.exchange_memories import ExchangeMemories
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors
from tilewright.mapper.fusion.copies.fused_copies import CopyTable
from tilewright.mapper.fusion.fused_mapping import Branch, TreeBuilder, branch_of
from tilewright.mapper.fusion.fused_problem import FusedProblem
from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph
from tilewright.mapper.fusion.join.join_deepening import JoinResult
from tilewright.mapper.fusion.join.label_pass import WholeLabel
from tilewright.mapper.fusion.pmappings.fused_templates import reorderable_memories
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.scope import spatial_placement_text


def mapping_of_label(
    graph: CompatibilityGraph, best: WholeLabel, boundaries: ExchangedTensors
) -> Mapping:
    """Return the mapping that a complete label stands for."""
    bodies: list[Branch] = []
    for one, step in zip(best.pmappings, graph.steps, strict=True):
        table = step.tables[one.group.table]
        if isinstance(table, CopyTable):
            bodies.append(table.branch(one))
        else:
            bodies.append(branch_of(table, one))
    shared = [one.shared_loops for one in best.pmappings[:-1]]
    return TreeBuilder(bodies, shared, boundaries.users).mapping()


def tensors_on_chip(found: JoinResult) -> tuple[str, ...]:
    """Return the tensors that the mapping found keeps on chip, in order of first use."""
    names: dict[str, None] = {}
    if found.label is not None and found.graph is not None:
        for one, step in zip(found.label.pmappings, found.graph.steps, strict=True):
            pairs = zip(step.tables[0].boundary, one.group.depths, strict=True)
            names |= {place.tensor: None for place, depth in pairs if depth >= 0}
    return tuple(names)


def _has_lanes_above(space: Mapspace, inner: str) -> bool:
    components = space.problem.components
    names = [component.name for component in components]
    if inner not in names:  # a compute right below the outermost memory
        return False
    return any(c.own_fanout > 1 for c in components[: names.index(inner) + 1])


def scope_text(cascade: FusedProblem, room: ExchangeMemories) -> str:
    """Say over which mappings the answer is optimal."""
    boundaries = cascade.exchanged
    workload = boundaries.workload
    chip = [t for t in workload.tensors if t in boundaries.exchangeable]
    outside = [t for t in workload.tensors if t in boundaries.outermost_only]
    spaces = [run.space for solo in cascade.einsums if isinstance(solo, tuple) for run in solo]
    lanes = "".join(dict.fromkeys(map(spatial_placement_text, spaces)))
    dealt = [m for m in room.memories if m and any(_has_lanes_above(s, m) for s in spaces)]
    text = f"mappings with even tiles{lanes}, the Einsums one after the other in the order given"
    if room.second is None or not chip:
        text += f", in which they exchange tensors through {room.outermost}"
    else:
        deepest = {place.memory for tensor in chip for place in boundaries.places_of_tensor(tensor)}
        memories = [name for name in room.memories if name in deepest]
        text += (
            f", fused or not: each of {', '.join(chip)} is backed in {room.outermost} or"
            f" {' or '.join(memories)}; Einsums share loops over what is one rank variable to all"
            f" of them, at most {cascade.loops_per_variable} per variable, above the lowest tensor"
            f" that they"
            f" exchange in {' or '.join(memories)} and relevant to all of those"
        )
        below = [name for name in dealt if name in memories]
        if below:
            text += f", and lanes above {' or '.join(below)} over such variables"
        text += _left_out_memories(boundaries, chip, memories)
        if len(memories) > 1 and not boundaries.shares_tiles:
            text += "; holders with no loop between count in the order of the hierarchy"
        if outside:
            text += f"; {', '.join(outside)}: backed in {room.outermost}"
    text += _left_out_orders(spaces)
    text += _left_out_copies(cascade, str(room.second) if room.second in dealt else "")
    if boundaries.varied_windows and boundaries.shares_tiles:
        apart = ", ".join(t for t in workload.tensors if t in boundaries.varied_windows)
        text += f"; Einsums that hold {apart} in one place have room there for the largest tile"
    if boundaries.bounded_widths:
        several = ", ".join(t for t in workload.tensors if t in boundaries.bounded_widths)
        text += (
            f"; of {several}, whose width changes, a tile has room for the widest until it comes"
        )
    return text


def _left_out_memories(
    boundaries: ExchangedTensors, chip: Sequence[str], memories: Sequence[str]
) -> str:
    """Say which tensors are exchanged in some of the memories only."""
    text = ""
    for tensor in chip:
        places = {place.memory for place in boundaries.places_of_tensor(tensor)}
        if others := [name for name in memories if name not in places]:
            text += f"; {tensor}: not backed in {' or '.join(others)}"
    return text


def _left_out_orders(spaces: Sequence[Mapspace]) -> str:
    """Say which orders of holders are left out where memories may leave the hierarchy's."""
    free = dict.fromkeys(name for space in spaces for name in reorderable_memories(space))
    if not free:
        return ""
    text = f"; above what is exchanged on chip {', '.join(free)} hold nothing out of their order"
    if any(not space.problem.conventions.loops_sink for space in spaces):
        text += ", nor anywhere below lanes of a deeper level"
    return text


def _left_out_copies(cascade: FusedProblem, dealt: str) -> str:
    """Say which mappings of copies are left out; `dealt`: the memory below lanes, if it is one."""
    tables = [solo for solo in cascade.einsums if isinstance(solo, CopyTable)]
    found = ""
    alone = [table.einsum.name for table in tables if not table.shares_loops]
    joint = [table.einsum.name for table in tables if table.shares_loops]
    if alone:
        found += f"; copies ({', '.join(alone)}) share no loops"
    if joint:
        found += (
            f"; copies ({', '.join(joint)}) hold below the loops that they share what they do not"
            " exchange there"
        )
    undealt = [table.einsum.name for table in tables if not table.shares_lanes]
    if dealt and undealt:
        names = ", ".join(undealt)
        found += f"; copies ({names}) share no lanes above {dealt}"
    return found + "; what a copy reads on chip has room there until then" * bool(tables)
