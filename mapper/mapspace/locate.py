"""Find a mapping in the mapspace: its template and the tile below each slot, or why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.arch.components.components import Toll
from tilewright.mapper.mapping.mapping import (
    Compute,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
)
from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, Reservation, Slot, TemporalLoops, TollCrossing
from tilewright.mapper.templates.spatial_choices import SpatialLoops


@dataclass(frozen=True, slots=True)
class MapspacePoint:
    """Number of the template, and the tile below each of its slots."""

    template: int
    tiles: tuple[Tile, ...]


Candidate = tuple[Template, tuple[Slot, ...]]
_Step = Temporal | Spatial | tuple[str, str]  # a loop, or (tensor, component) of a storage node
_Top = frozenset[tuple[str, str]]  # (tensor, component) of the holders that stand above all loops


def locate(
    problem: Problem, candidates: Sequence[Candidate], mapping: Mapping
) -> tuple[MapspacePoint, ...] | str:
    """Return the places of `mapping` among `candidates`, or the reason why it has none.

    It has several where runs of holders keep smaller tiles for the same loops.
    """
    leaf = mapping.nodes[-1]
    if isinstance(leaf, Sequential):
        return "it maps several Einsums; a mapspace is of one"
    compute = problem.components[-1].name
    if leaf != Compute(problem.einsum.name, compute):
        return f"it does not compute {problem.einsum.name} on {compute}"
    steps = _steps(mapping.nodes[:-1])
    if any(isinstance(s, Temporal) and s.initial_tile_shape is not None for s in steps):
        return "its first tiles have a size of their own; the mapspace holds no such tiles"
    stored = [step for step in steps if isinstance(step, tuple)]
    places: list[MapspacePoint] = []
    reasons: list[str] = []
    for number, (_, slots) in enumerate(candidates):
        wanted = [(s.tensor, s.component) for s in slots if isinstance(s, (Fill, TollCrossing))]
        top = frozenset((s.tensor, s.component) for s in slots if isinstance(s, Fill) and s.backing)
        if _grouped(problem, wanted, top) != _grouped(problem, stored, top):
            continue
        found = _walk(problem, slots, steps, top)
        if isinstance(found, str):
            reasons.append(found)
        else:
            places.append(MapspacePoint(number, found))
    if places:
        return tuple(places)
    return min(reasons) if reasons else _no_template(problem, candidates, stored)


def _steps(nodes: Sequence[Node]) -> list[_Step]:
    steps: list[_Step] = []
    for node in nodes:
        if isinstance(node, Storage):
            steps += [(tensor, node.component) for tensor in node.tensors]
        elif isinstance(node, (Temporal, Spatial)):
            steps.append(node)
    return steps


def _grouped(problem: Problem, stored: Sequence[tuple[str, str]], top: _Top) -> list[object]:
    """Forget the order of the holders on top: no loop stands between them."""
    rest = [pair for pair in stored if pair not in top]
    tolls = _tolls(problem)
    return [
        sorted(pair for pair in stored if pair in top),
        [p for p in rest if p[1] not in tolls],
        sorted(p for p in rest if p[1] in tolls),
    ]


def _no_template(
    problem: Problem, candidates: Sequence[Candidate], stored: Sequence[tuple[str, str]]
) -> str:
    kept = sorted(stored)
    for template, _ in candidates:
        if sorted((h.tensor, h.component) for h in (*template.holders, *template.tolls)) == kept:
            return "its holders stand in an order that the architecture's rules exclude"
    listed = ", ".join(f"{tensor} in {component}" for tensor, component in kept)
    levels = len(problem.components)
    return f"keep and may_keep do not allow this placement: {listed} ({levels} levels)"


def _walk(
    problem: Problem, slots: tuple[Slot, ...], steps: list[_Step], top: _Top
) -> tuple[Tile, ...] | str:
    """Deal the loops of the mapping to the slots of a template."""
    shape = dict(problem.einsum.bounds)
    open_ = set(problem.uneven)
    tiles: list[Tile] = []
    loops = _loops_by_gap(problem, steps, top)
    for index, slot in enumerate(slots):
        if isinstance(slot, Fill) and not slot.backing:
            if loops[0]:
                return _left(loops[0][0])
            del loops[0]
        if isinstance(slot, (TemporalLoops, SpatialLoops)):
            mine = _mine(slots, index, loops[0])
            reason = _take((problem, open_), slot, (loops[0], mine), shape)
            if reason:
                return reason
        tiles.append(tuple(shape.values()))
    if loops[0]:
        return _left(loops[0][0])
    if any(extent > 1 for extent in shape.values()):
        return "its loops do not reach tile shape 1"
    return tuple(tiles)


def _loops_by_gap(
    problem: Problem, steps: list[_Step], top: _Top
) -> list[list[Temporal | Spatial]]:
    """Return the loops between the holders that are not on top."""
    tolls = _tolls(problem)
    gaps: list[list[Temporal | Spatial]] = [[]]
    for step in steps:
        if not isinstance(step, tuple):
            gaps[-1].append(step)
        elif step[1] not in tolls and step not in top:
            gaps.append([])
    return gaps


def _tolls(problem: Problem) -> set[str]:
    return {component.name for component in problem.components if isinstance(component, Toll)}


_Loop = Temporal | Spatial


def _mine(slots: Sequence[Slot], index: int, rest: Sequence[_Loop]) -> list[_Loop]:
    """Return the loops that slot `index` can hold of those left of its gap.

    Above a reservation they are the first ones: a tile streams up to the first loop that stops it.
    """
    slot = slots[index]
    if isinstance(slot, SpatialLoops):
        here = (slot.component, slot.name)
        return [s for s in rest if isinstance(s, Spatial) and (s.component, s.name) == here]
    assert isinstance(slot, TemporalLoops)
    fits = [isinstance(s, Temporal) and s.rank_variable in slot.variables for s in rest]
    if slot.single:
        return list(rest[:1]) if fits[:1] == [True] else []
    if _reserves_below(slots, index):
        return list(rest[: (*fits, False).index(False)])
    return [loop for loop, fit in zip(rest, fits, strict=True) if fit]


def _reserves_below(slots: Sequence[Slot], index: int) -> bool:
    """Tell whether a reservation follows in the same gap."""
    following = (s for s in slots[index + 1 :] if not isinstance(s, TemporalLoops))
    return isinstance(next(following, None), Reservation)


def _take(
    rules: tuple[Problem, set[str]],
    slot: TemporalLoops | SpatialLoops,
    loops: tuple[list[_Loop], list[_Loop]],
    shape: dict[str, int],
) -> str | None:
    """Move the loops of a slot out of the others; return a reason to refuse.

    `loops`: those left of the gap, and those of the slot.
    `rules`: the problem, and the variables of which an uneven loop may still come. With averages,
    an uneven loop right above another one of its variable counts turns that no loop needs.
    """
    (problem, open_), (rest, mine) = rules, loops
    before = dict(shape)
    for step in mine:
        variable, outer = step.rank_variable, shape[step.rank_variable]
        if outer % step.tile_shape:
            if variable not in open_ or outer not in problem.cuttable_tiles[variable]:
                return f"{variable}: tiles of {step.tile_shape} do not divide {outer}"
            if outer != before[variable]:
                return f"{variable}: an uneven loop right below another one; one can do the work"
            open_.remove(variable)
        elif before[variable] % outer and not problem.conventions.exact_remainders:
            return f"{variable}: a loop right below an uneven one; one can do the work"
        shape[step.rank_variable] = step.tile_shape
        rest.remove(step)
    if isinstance(slot, SpatialLoops):
        lanes = {v: -(-before[v] // shape[v]) for v in problem.einsum.bounds}
        if tuple(lanes[v] for v in slot.variables) not in slot.choices:
            return f"{slot.component}.{slot.name}: fanout, loop_bounds or min_usage exclude {lanes}"
    return None


def _left(step: Temporal | Spatial) -> str:
    kind = "spatial" if isinstance(step, Spatial) else "temporal"
    return (
        f"the {kind} loop over {step.rank_variable} (tile {step.tile_shape}) is excluded there, or"
        " stands where another place gives the same counts (the mapspace holds that one)"
    )
