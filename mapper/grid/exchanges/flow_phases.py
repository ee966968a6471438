"""Routes, colors and phases of the flows of a reshard (theory/grid.md §10).

A flow goes along the row of its source and then along columns, which is a tree of routers. In one
phase a color may serve flows whose trees have no router in common; what finds no color, queue or
register waits for a later phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilewright.mapper.grid.exchanges.box_loops import BoxLoops, box_loops
from tilewright.mapper.grid.exchanges.reshard import Flow, Piece, Place, Reshard

Turns = Mapping[Place, tuple[str, str]]
"""Letters of the ports by which words come and go, by router."""


@dataclass(frozen=True, slots=True)
class PhaseLimits:
    """What an element and its router have: `colors`, queues, and registers of descriptors.

    `inputs`, `outputs`: queues in and out. `extended`, `strides`: registers for vectors of several
    dimensions.
    """

    colors: int
    inputs: int
    outputs: int
    extended: int
    strides: int


@dataclass(frozen=True, slots=True)
class RoutedFlow:
    """A flow with the number of its color, and for each router on its way the ports it uses.

    `turns[row, column]`: where words come from and where they go. R: the element, N, E, S, W: the
    neighbour. Example: ("W", "ER") takes them from the west, to the east and to the element itself.
    """

    flow: Flow
    color: int
    turns: Turns


def source_loops(reshard: Reshard, flow: Flow) -> BoxLoops:
    """Return where a flow's values lie in the part of its source."""
    return _loops(flow.piece, reshard.held.first[flow.source], reshard.held.extents)


def target_loops(reshard: Reshard, piece: Piece, target: Place) -> BoxLoops:
    """Return where a piece's values go in the part that an element needs."""
    return _loops(piece, reshard.needed.first[target], reshard.needed.extents)


def copy_loops(reshard: Reshard, place: Place) -> tuple[BoxLoops, BoxLoops]:
    """Return where an element's copy lies in the part that it holds, and where it goes."""
    piece = reshard.copies[place]
    held = _loops(piece, reshard.held.first[place], reshard.held.extents)
    return held, target_loops(reshard, piece, place)


def _loops(piece: Piece, first: object, whole: tuple[int, ...]) -> BoxLoops:
    start = [p - f for p, f in zip(piece.first, first.tolist(), strict=True)]  # type: ignore[attr-defined]
    return box_loops(start, piece.extents, whole)


def flow_phases(reshard: Reshard, limits: PhaseLimits) -> tuple[tuple[RoutedFlow, ...], ...] | None:
    """Return the flows of a reshard in phases; those of one phase run at the same time.

    Each has a color and its way. One phase without flows if there are only copies. None if the
    boxes of a piece have more dimensions than the registers for descriptors allow.
    """
    kept = _main_registers(reshard)
    free = _Registers(limits.extended - kept.extended, limits.strides - kept.strides)
    phases: list[_FlowPhase] = []
    # The longest ways first: they meet the most others.
    for flow in sorted(reshard.flows, key=lambda flow: -flow.links):
        turns = flow_turns(flow)
        routers = _bits(turns, reshard.columns)
        needs = [
            _Registers.of(target_loops(reshard, flow.piece, target)) for target in flow.targets
        ]
        if any(not need.fits(free) for need in needs):
            return None
        for phase in phases:
            color = phase.color_for(flow, routers, needs, limits, free)
            if color is not None:
                break
        else:
            phase, color = _FlowPhase(), 0
            phases.append(phase)
        phase.add(RoutedFlow(flow, color, turns), routers, needs)
    return tuple(tuple(phase.flows) for phase in phases) or ((),)


@dataclass(frozen=True, slots=True)
class _Registers:
    """Numbers of registers for descriptors of vectors with several dimensions.

    Fields as PhaseLimits.
    """

    extended: int = 0
    strides: int = 0

    @staticmethod
    def of(*loops: BoxLoops) -> _Registers:
        return _Registers(
            sum(part.is_extended for part in loops), sum(p.stride_registers for p in loops)
        )

    def plus(self, more: _Registers) -> _Registers:
        return _Registers(self.extended + more.extended, self.strides + more.strides)

    def fits(self, free: _Registers) -> bool:
        return self.extended <= free.extended and self.strides <= free.strides


@dataclass(slots=True)
class _FlowPhase:
    """The flows of one phase, and what of the routers and elements they use.

    `taken[color]`: routers that the color uses, router (row, column) being bit row · columns +
    column. `sent`, `received`: number of flows that an element sends and receives. `registers`: how
    many an element needs to receive its flows.
    """

    flows: list[RoutedFlow] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    sent: dict[Place, int] = field(default_factory=dict)
    received: dict[Place, int] = field(default_factory=dict)
    registers: dict[Place, _Registers] = field(default_factory=dict)

    def color_for(
        self,
        flow: Flow,
        routers: int,
        needs: list[_Registers],
        limits: PhaseLimits,
        free: _Registers,
    ) -> int | None:
        """Return the number of the first color that a flow may have in this phase.

        None if none is left. `routers`: those on its way, a bit each. `needs`: registers at each
        target; `free`: registers that an element has for receives. None, too, if the source has no
        queue left to send from, or a target no queue or too few registers to receive.
        """
        if self.sent.get(flow.source, 0) >= limits.outputs:
            return None
        for target, need in zip(flow.targets, needs, strict=True):
            if self.received.get(target, 0) >= limits.inputs:
                return None
            if not self.registers.get(target, _Registers()).plus(need).fits(free):
                return None
        for color, taken in enumerate(self.taken):
            if not taken & routers:
                return color
        return len(self.taken) if len(self.taken) < limits.colors else None

    def add(self, routed: RoutedFlow, routers: int, needs: list[_Registers]) -> None:
        """Add a flow, with the routers on its way (a bit each) and the registers at each target."""
        flow = routed.flow
        self.flows.append(routed)
        if routed.color == len(self.taken):
            self.taken.append(0)
        self.taken[routed.color] |= routers
        self.sent[flow.source] = self.sent.get(flow.source, 0) + 1
        for target, need in zip(flow.targets, needs, strict=True):
            self.received[target] = self.received.get(target, 0) + 1
            self.registers[target] = self.registers.get(target, _Registers()).plus(need)


def _main_registers(reshard: Reshard) -> _Registers:
    """Return the registers that an element's main thread needs: the most of any copy or send."""
    uses = [_Registers.of(*copy_loops(reshard, place)) for place in reshard.copies]
    uses += [_Registers.of(source_loops(reshard, flow)) for flow in reshard.flows]
    return _Registers(
        max((use.extended for use in uses), default=0),
        max((use.strides for use in uses), default=0),
    )


def _bits(turns: Turns, columns: int) -> int:
    bits = 0
    for row, column in turns:
        bits |= 1 << (row * columns + column)
    return bits


def flow_turns(flow: Flow) -> Turns:
    """Return for each router on the way of a flow where words come from and where they go.

    The way: along the source's row to the column of each target, then along that column. The
    letters are those of RoutedFlow.
    """
    row, column = flow.source
    targets: dict[int, set[int]] = {column: set()}
    for target_row, target_column in flow.targets:
        targets.setdefault(target_column, set()).add(target_row)
    turns: dict[Place, tuple[str, str]] = {}
    least, most = min(targets), max(targets)
    for place in range(least, most + 1):
        come = "R" if place == column else "W" if place > column else "E"
        go = ("W" if least < place <= column else "") + ("E" if column <= place < most else "")
        rows = targets.get(place, set())
        go += ("N" if min(rows, default=row) < row else "") + (
            "S" if max(rows, default=row) > row else ""
        )
        turns[row, place] = come, go + ("R" if row in rows else "")
        turns.update(_along_column(row, place, rows))
    return turns


def _along_column(row: int, column: int, rows: set[int]) -> Iterator[tuple[Place, tuple[str, str]]]:
    """Yield the ports of a column's routers above and below `row`, as far as targets in `rows`."""
    for end, step, come, go in (
        (max(rows, default=row), 1, "N", "S"),
        (min(rows, default=row), -1, "S", "N"),
    ):
        for place in range(row + step, end + step, step) if (end - row) * step > 0 else ():
            onward = (go if place != end else "") + ("R" if place in rows else "")
            yield (place, column), (come, onward)
