"""The programs of a reshard, one for each phase of its flows (theory/grid.md §10).

An element starts to receive on microthreads, sends one flow after the other, and copies what it has
itself. The programs run one after the other on the same memories.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.mapper.grid.exchanges.box_loops import BoxLoops
from tilewright.mapper.grid.exchanges.flow_phases import (
    PhaseLimits,
    RoutedFlow,
    copy_loops,
    flow_phases,
    source_loops,
    target_loops,
)
from tilewright.mapper.grid.exchanges.reshard import Place, Reshard
from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.exchanges.buffers import HELD, NEEDED, ExchangeAddresses, declare_loops
from tilewright.simulator.lowering.kernel import MOST_DIMENSIONS
from tilewright.simulator.lowering.number_operations import move_of, simd_mode
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.areas import equal_areas
from tilewright.simulator.program.program import Program


@dataclass(frozen=True, slots=True)
class ReshardPhase:
    """One program of a reshard, and the flows that it carries.

    A flow is a box of values from one element to others, with its routes.
    """

    program: Program
    flows: tuple[RoutedFlow, ...]


@dataclass(frozen=True, slots=True)
class _Work:
    """What an element does in a phase; elements with equal work share a code.

    `fills`: whether it writes zeros first; `copy`: loops of what it moves in its own memory, from
    and to. `sends`, `receives`: (color, loops over the piece in memory, number of values) of each
    flow.
    """

    fills: bool = False
    copy: tuple[BoxLoops, BoxLoops] | None = None
    sends: tuple[tuple[int, BoxLoops, int], ...] = ()
    receives: tuple[tuple[int, BoxLoops, int], ...] = ()


def limits_of(profile: Profile) -> PhaseLimits:
    """Return how many colors, queues and registers a machine has, for the flows of one phase."""
    return PhaseLimits(
        colors=profile.colors,
        inputs=min(len(profile.input_queue_words), profile.microthreads),
        outputs=len(profile.output_queue_words),
        extended=profile.xdsr_registers,
        strides=profile.stride_registers,
    )


def _all_loops(reshard: Reshard) -> Iterator[BoxLoops]:
    """Yield the loops over every piece that moves, at its source and at its destination."""
    for place in reshard.copies:
        yield from copy_loops(reshard, place)
    for flow in reshard.flows:
        yield source_loops(reshard, flow)
        yield from (target_loops(reshard, flow.piece, target) for target in flow.targets)


def reshard_phases(
    reshard: Reshard, dtype: str, addresses: ExchangeAddresses, limits: PhaseLimits
) -> tuple[ReshardPhase, ...] | None:
    """Return the programs of a reshard, in order.

    `dtype`: number type. None if a piece has more dimensions in memory than a descriptor, or than
    the registers of the machine hold.
    """
    if any(len(part.loops) > MOST_DIMENSIONS for part in _all_loops(reshard)):
        return None
    phases = flow_phases(reshard, limits)
    if phases is None:
        return None
    return tuple(
        ReshardPhase(_program(reshard, number, flows, dtype, addresses), flows)
        for number, flows in enumerate(phases)
    )


def _program(
    reshard: Reshard,
    number: int,
    flows: tuple[RoutedFlow, ...],
    dtype: str,
    addresses: ExchangeAddresses,
) -> Program:
    builder = ProgramBuilder(f"reshard_{reshard.tensor}_{number}", reshard.rows, reshard.columns)
    _route(builder, reshard, flows)
    numbers: dict[_Work, int] = {}
    placement = np.zeros((reshard.rows, reshard.columns), dtype=np.int32)
    for place, work in _works(reshard, flows, first=number == 0).items():
        placement[place] = numbers.setdefault(work, len(numbers))
    for work, kind in numbers.items():
        code = builder.code(f"move{kind}")
        code.buffer(HELD, dtype, reshard.held.extents or 1, addresses.held)
        code.buffer(NEEDED, dtype, reshard.needed.extents or 1, addresses.needed)
        _write(code, work, reshard.needed.values, dtype)
    builder.placement(placement)
    return builder.build()


def _works(reshard: Reshard, flows: Sequence[RoutedFlow], *, first: bool) -> dict[Place, _Work]:
    """Return the work of each element in a phase; the first one fills and copies."""
    sends: dict[Place, list[tuple[int, BoxLoops, int]]] = {}
    receives: dict[Place, list[tuple[int, BoxLoops, int]]] = {}
    for routed in flows:
        flow, values = routed.flow, routed.flow.piece.values
        sent = routed.color, source_loops(reshard, flow), values
        sends.setdefault(flow.source, []).append(sent)
        for target in flow.targets:
            received = routed.color, target_loops(reshard, flow.piece, target), values
            receives.setdefault(target, []).append(received)
    return {
        (row, column): _Work(
            fills=first and (row, column) in reshard.filled,
            copy=copy_loops(reshard, (row, column))
            if first and (row, column) in reshard.copies
            else None,
            sends=tuple(sends.get((row, column), ())),
            receives=tuple(receives.get((row, column), ())),
        )
        for row in range(reshard.rows)
        for column in range(reshard.columns)
    }


def _route(builder: ProgramBuilder, reshard: Reshard, flows: Sequence[RoutedFlow]) -> None:
    """Declare the colors of a phase and the routes of its flows, in rectangles of equal ports."""
    ports: dict[tuple[str, str], int] = {}
    colors = sorted({routed.color for routed in flows})
    turns = {c: np.zeros((reshard.rows, reshard.columns), dtype=np.int64) for c in colors}
    for routed in flows:
        for place, turn in routed.turns.items():
            turns[routed.color][place] = ports.setdefault(turn, len(ports) + 1)
    letters = {number: turn for turn, number in ports.items()}
    for number in colors:
        color = builder.color(_color(number))
        for area, turn_number in equal_areas(turns[number]):
            if turn_number:
                come, go = letters[turn_number]
                builder.route(color, area, rx=come, tx=go)


def _color(number: int) -> str:
    return f"flow{number}"


def _write(code: CodeBuilder, work: _Work, values: int, dtype: str) -> None:
    """Write the one task of an element; values: of the part that it needs."""
    task, move = code.task("move", entry=True), move_of(dtype)
    if work.fills:
        task.op(move, code.mem1d("all", NEEDED, extent=values), 0.0, label="outside")
    for queue, (color, loops, number) in enumerate(work.receives):
        code.input_queue(queue, _color(color))
        stream = code.fabin(f"from{color}", queue, number, simd=simd_mode(number, dtype))
        box = declare_loops(code, f"box{color}", NEEDED, loops)
        task.start(move, box, stream, label="receive")
    for queue, (color, loops, number) in enumerate(work.sends):
        code.output_queue(queue, _color(color))
        stream = code.fabout(f"to{color}", queue, number, simd=simd_mode(number, dtype))
        task.op(move, stream, declare_loops(code, f"slab{color}", HELD, loops), label="send")
    if work.copy is not None:
        held, needed = work.copy
        target = declare_loops(code, "copied", NEEDED, needed)
        task.op(move, target, declare_loops(code, "kept", HELD, held), label="copy")
