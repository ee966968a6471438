"""Routes, colors and phases of the flows of a reshard (theory/grid.md §10).

A flow goes along the row of its source and then along columns, which is a tree of routers. In one
phase a color may serve flows whose trees have no router in common; what finds no color, queue or
register waits for a later phase.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from tilewright.arch.memo import IdentityCache
from tilewright.mapper.grid.exchanges.box_loops import BoxLoops, box_loops
from tilewright.mapper.grid.exchanges.color_use import ColorUse
from tilewright.mapper.grid.exchanges.flow_ways import Turns, flow_routers, flow_turns
from tilewright.mapper.grid.exchanges.reshard import Flow, Piece, Place, Position, Reshard

_PHASES: Final = IdentityCache(64)
_box_loops: Final = lru_cache(1 << 12)(box_loops)


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
    """A flow with the number of its color, and for each router on its way the ports it uses."""

    flow: Flow
    color: int

    @property
    def turns(self) -> Turns:
        """Where words come from and where they go, by router: up to a grid of them, not kept."""
        return flow_turns(self.flow)


def source_loops(reshard: Reshard, flow: Flow) -> BoxLoops:
    """Return where a flow's values lie in the part of its source."""
    return _loops(flow.piece, reshard.held.position(flow.source), reshard.held.extents)


def target_loops(reshard: Reshard, piece: Piece, target: Place) -> BoxLoops:
    """Return where a piece's values go in the part that an element needs."""
    return _loops(piece, reshard.needed.position(target), reshard.needed.extents)


def copy_loops(reshard: Reshard, place: Place) -> tuple[BoxLoops, BoxLoops]:
    """Return where an element's copy lies in the part that it holds, and where it goes."""
    piece = reshard.copies[place]
    held = _loops(piece, reshard.held.position(place), reshard.held.extents)
    return held, target_loops(reshard, piece, place)


def _loops(piece: Piece, first: Position, whole: Position) -> BoxLoops:
    start = tuple([p - f for p, f in zip(piece.first, first, strict=True)])
    return _box_loops(start, piece.extents, whole)


def flow_phases(reshard: Reshard, limits: PhaseLimits) -> tuple[tuple[RoutedFlow, ...], ...] | None:
    """Return the flows of a reshard in phases; those of one phase run at the same time.

    Each has a color and its way. One phase without flows if there are only copies. None if the
    boxes of a piece have more dimensions than the registers for descriptors allow. Those of the
    reshards that were asked for last are kept.
    """
    return _PHASES.of(reshard, limits, lambda: _flow_phases(reshard, limits))  # type: ignore[no-any-return]


def _flow_phases(
    reshard: Reshard, limits: PhaseLimits
) -> tuple[tuple[RoutedFlow, ...], ...] | None:
    kept = _main_registers(reshard)
    free = _Registers(limits.extended - kept.extended, limits.strides - kept.strides)
    phases: list[_FlowPhase] = []
    # The longest ways first: they meet the most others.
    for flow in sorted(reshard.flows, key=lambda flow: -flow.links):
        routers = flow_routers(flow, reshard.columns)
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
        phase.add(RoutedFlow(flow, color), routers, needs)
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
        return _registers(tuple([part.loops for part in loops]))

    def plus(self, more: _Registers) -> _Registers:
        return _Registers(self.extended + more.extended, self.strides + more.strides)

    def fits(self, free: _Registers) -> bool:
        return self.extended <= free.extended and self.strides <= free.strides


@dataclass(slots=True)
class _FlowPhase:
    """The flows of one phase, and what of the routers and elements they use.

    `colors`: the routers that use each color, router (row, column) being bit row · columns +
    column. `sent`, `received`: number of flows that an element sends and receives. `registers`: how
    many an element needs to receive its flows.
    """

    flows: list[RoutedFlow] = field(default_factory=list)
    colors: ColorUse = field(default_factory=ColorUse)
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
            if need is not _NO_REGISTERS and not self._needed(target, need).fits(free):
                return None
        used = len(self.colors.taken)
        new = used if used < limits.colors else None
        return next(self.colors.free_for(routers), new)

    def add(self, routed: RoutedFlow, routers: int, needs: list[_Registers]) -> None:
        """Add a flow, with the routers on its way (a bit each) and the registers at each target."""
        flow = routed.flow
        self.flows.append(routed)
        self.colors.add(routed.color, routers)
        self.sent[flow.source] = self.sent.get(flow.source, 0) + 1
        for target, need in zip(flow.targets, needs, strict=True):
            self.received[target] = self.received.get(target, 0) + 1
            if need is not _NO_REGISTERS:
                self.registers[target] = self._needed(target, need)

    def _needed(self, target: Place, need: _Registers) -> _Registers:
        """Return the registers that an element needs for its flows and one more."""
        return self.registers.get(target, _NO_REGISTERS).plus(need)


def _main_registers(reshard: Reshard) -> _Registers:
    """Return the registers that an element's main thread needs: the most of any copy or send."""
    uses = [_Registers.of(*copy_loops(reshard, place)) for place in reshard.copies]
    uses += [_Registers.of(source_loops(reshard, flow)) for flow in reshard.flows]
    return _Registers(
        max((use.extended for use in uses), default=0),
        max((use.strides for use in uses), default=0),
    )


_NO_REGISTERS: Final = _Registers()


@lru_cache(1 << 12)
def _registers(boxes: tuple[tuple[tuple[int, int], ...], ...]) -> _Registers:
    """Return the registers for descriptors of boxes with some loops; _NO_REGISTERS for none."""
    parts = [BoxLoops(loops, 0) for loops in boxes]
    extended = sum(part.is_extended for part in parts)
    strides = sum(part.stride_registers for part in parts)
    return _Registers(extended, strides) if extended or strides else _NO_REGISTERS
