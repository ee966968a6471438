"""Find a mapping in the mapspace: its template and the tile below each slot, or why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from tilewright.arch.components.components import Toll
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
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
    """One point of a mapspace, from which a mapping follows.

    `template`: number of the template in the mapspace; `tiles`: the tile below each of its slots,
    outermost slot first, with an extent per rank variable. A template is a mapping without its
    loops.
    """

    template: int
    tiles: tuple[Tile, ...]


TemplateSlots = tuple[Template, tuple[Slot, ...]]
_LoopNode = Temporal | Spatial
_HolderName = tuple[str, str]  # tensor, component of a Storage or Toll node
_Step = _LoopNode | _HolderName


def locate(
    problem: Problem, candidates: Sequence[TemplateSlots], mapping: Mapping
) -> tuple[MapspacePoint, ...] | str:
    """Return the points of some templates that stand for a mapping, or in words why none does.

    `candidates`: pairs (template, its slots); a point's `template` counts these. There are several
    points where a mapping leaves open which loops shrink a tile. Capacity and tile_shape are not
    checked. A template is a mapping without its loops; a slot is a place of a template for loops,
    a fill or a reserved tile; a point is one choice of all tile sizes of a template.
    """
    reason = _refusal(problem, mapping)
    if reason is not None:
        return reason
    steps = loops_and_holders(mapping)
    stored = [step for step in steps if isinstance(step, tuple)]
    points: list[MapspacePoint] = []
    reasons: list[str] = []
    for number, (_, slots) in enumerate(candidates):
        if not _has_holders(problem, slots, stored):
            continue
        tiles = _Assignment(problem, slots, steps).tiles()
        if isinstance(tiles, str):
            reasons.append(tiles)
        else:
            points.append(MapspacePoint(number, tiles))
    if points:
        return tuple(points)
    return min(reasons) if reasons else _no_template(problem, candidates, stored)


def _refusal(problem: Problem, mapping: Mapping) -> str | None:
    """Return why a mapping can be in no mapspace of this Einsum and path.

    None if it may be in one.
    """
    leaf = mapping.nodes[-1]
    if isinstance(leaf, Sequential):
        return "it maps several Einsums; a mapspace is of one"
    compute = problem.components[-1].name
    if leaf != ComputeNode(problem.einsum.name, compute):
        return f"it does not compute {problem.einsum.name} on {compute}"
    loops = (node for node in mapping.nodes if isinstance(node, Temporal))
    if any(loop.initial_tile_shape is not None for loop in loops):
        return "its first tiles have a size of their own; the mapspace holds no such tiles"
    return None


def loops_and_holders(mapping: Mapping) -> list[Temporal | Spatial | tuple[str, str]]:
    """Return the loops, and (tensor, memory) of the holders, of a mapping, outermost first."""
    steps: list[_Step] = []
    for node in mapping.nodes:
        if isinstance(node, Storage):
            steps += [(tensor, node.component) for tensor in node.tensors]
        elif isinstance(node, (Temporal, Spatial)):
            steps.append(node)
    return steps


def _has_holders(problem: Problem, slots: Sequence[Slot], stored: Sequence[_HolderName]) -> bool:
    """Tell whether a template has the same holders in the same order as a mapping.

    `stored`: (tensor, component) of the mapping's holders, outermost first. The order of backing
    holders and of Tolls does not matter.
    """
    template_holders = [
        (s.tensor, s.component) for s in slots if isinstance(s, (Fill, TollCrossing))
    ]
    backing = _backing(slots)
    return _in_groups(problem, template_holders, backing) == _in_groups(problem, stored, backing)


def _backing(slots: Sequence[Slot]) -> frozenset[_HolderName]:
    """Return (tensor, component) of the backing holders among the slots of a template."""
    return frozenset((s.tensor, s.component) for s in slots if isinstance(s, Fill) and s.backing)


def _in_groups(
    problem: Problem, stored: Sequence[_HolderName], backing: frozenset[_HolderName]
) -> list[object]:
    """Return the holders in a form that is equal for orders which make no difference.

    Backing holders and Tolls are sorted, because no loop stands between them.
    """
    not_backing = [pair for pair in stored if pair not in backing]
    tolls = _tolls(problem)
    return [
        sorted(pair for pair in stored if pair in backing),
        [p for p in not_backing if p[1] not in tolls],
        sorted(p for p in not_backing if p[1] in tolls),
    ]


def _tolls(problem: Problem) -> set[str]:
    return {component.name for component in problem.components if isinstance(component, Toll)}


def _no_template(
    problem: Problem, candidates: Sequence[TemplateSlots], stored: Sequence[_HolderName]
) -> str:
    """Return in words why no template has the holders of a mapping: order or placement."""
    mapping_holders = sorted(stored)
    for template, _ in candidates:
        if (
            sorted((h.tensor, h.component) for h in (*template.holders, *template.tolls))
            == mapping_holders
        ):
            return "its holders stand in an order that the architecture's rules exclude"
    listed = ", ".join(f"{tensor} in {component}" for tensor, component in mapping_holders)
    levels = len(problem.components)
    return f"keep and may_keep do not allow this placement: {listed} ({levels} levels)"


class _Assignment:
    """Assigns the loops of a mapping to the slots of one template, from the outermost slot on."""

    def __init__(self, problem: Problem, slots: tuple[Slot, ...], steps: list[_Step]) -> None:
        self._problem = problem
        self._slots = slots
        self._shape = dict(problem.einsum.bounds)  # the tile below the slots passed so far
        self._uneven = set(problem.uneven)  # variables of which an uneven loop may still come
        self._gaps = _loops_by_gap(problem, steps, _backing(slots))

    def tiles(self) -> tuple[Tile, ...] | str:
        """Return the tile below each slot.

        In words why not if the template cannot have these loops.
        """
        tiles: list[Tile] = []
        for index, slot in enumerate(self._slots):
            if isinstance(slot, Fill) and not slot.backing:
                if self._gaps[0]:
                    return _unassigned(self._gaps[0][0])
                del self._gaps[0]
            if isinstance(slot, (TemporalLoops, SpatialLoops)):
                reason = self._assign(slot, self._loops_of(index))
                if reason:
                    return reason
            tiles.append(tuple(self._shape.values()))
        if self._gaps[0]:
            return _unassigned(self._gaps[0][0])
        if any(extent > 1 for extent in self._shape.values()):
            return "its loops do not reach tile shape 1"
        return tuple(tiles)

    def _loops_of(self, index: int) -> list[_LoopNode]:
        """Return the unassigned loops of the present gap that slot `index` takes.

        Above a reservation they are the first ones: a tile streams up to the first loop that stops
        it.
        """
        slot, unassigned = self._slots[index], self._gaps[0]
        if isinstance(slot, SpatialLoops):
            spatial = (s for s in unassigned if isinstance(s, Spatial))
            return [s for s in spatial if (s.component, s.name) == slot.dim]
        assert isinstance(slot, TemporalLoops)
        variables = slot.variables

        def fits(loop: _LoopNode) -> bool:
            return isinstance(loop, Temporal) and loop.rank_variable in variables

        if slot.single:
            return list(filter(fits, unassigned[:1]))
        if self._reserves_below(index):
            return list(takewhile(fits, unassigned))
        return list(filter(fits, unassigned))

    def _reserves_below(self, index: int) -> bool:
        """Tell whether a reservation follows slot `index` in the same gap."""
        following = (s for s in self._slots[index + 1 :] if not isinstance(s, TemporalLoops))
        return isinstance(next(following, None), Reservation)

    def _assign(self, slot: TemporalLoops | SpatialLoops, loops: list[_LoopNode]) -> str | None:
        """Move loops from the present gap to a slot.

        Return in words why that is not legal, else None.
        """
        shape_before = dict(self._shape)
        for loop in loops:
            reason = self._uneven_refusal(loop, shape_before[loop.rank_variable])
            if reason is not None:
                return reason
            self._shape[loop.rank_variable] = loop.tile_shape
            self._gaps[0].remove(loop)
        if isinstance(slot, SpatialLoops):
            lanes = {v: -(-shape_before[v] // self._shape[v]) for v in self._problem.einsum.bounds}
            if tuple(lanes[v] for v in slot.variables) not in slot.choices:
                return (
                    f"{slot.component}.{slot.name}: fanout, loop_bounds or min_usage"
                    f" exclude {lanes}"
                )
        return None

    def _uneven_refusal(self, loop: _LoopNode, above_slot: int) -> str | None:
        """Return why a loop may not cut the tile above it unevenly.

        None if it may, or cuts it evenly. `above_slot`: the tile above its slot. With average
        tiles, an uneven loop right above another loop of its variable counts turns that no loop
        needs.
        """
        variable, tile_above = loop.rank_variable, self._shape[loop.rank_variable]
        if tile_above % loop.tile_shape == 0:
            if above_slot % tile_above and not self._problem.conventions.exact_remainders:
                return f"{variable}: a loop right below an uneven one; one can do the work"
            return None
        if variable not in self._uneven or tile_above not in self._problem.cuttable_tiles[variable]:
            return f"{variable}: tiles of {loop.tile_shape} do not divide {tile_above}"
        if tile_above != above_slot:
            return f"{variable}: an uneven loop right below another one; one can do the work"
        self._uneven.remove(variable)
        return None


def _loops_by_gap(
    problem: Problem, steps: list[_Step], backing: frozenset[_HolderName]
) -> list[list[_LoopNode]]:
    """Return lists of loops: above the first non-backing holder, between each two, and below."""
    tolls = _tolls(problem)
    gaps: list[list[_LoopNode]] = [[]]
    for step in steps:
        if not isinstance(step, tuple):
            gaps[-1].append(step)
        elif step[1] not in tolls and step not in backing:
            gaps.append([])
    return gaps


def _unassigned(loop: _LoopNode) -> str:
    kind = "spatial" if isinstance(loop, Spatial) else "temporal"
    return (
        f"the {kind} loop over {loop.rank_variable} (tile {loop.tile_shape}) is excluded there, or"
        " stands where another place gives the same counts (the mapspace holds that one)"
    )
