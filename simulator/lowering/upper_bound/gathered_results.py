"""Cycles until all results have left down their columns, at most, once all elements have them.

Nothing else moves then. Row r sends its own tile, then passes on those of the rows above it, in
operations on whole tiles (theory/grid.md §12).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import NamedTuple

from tilewright.simulator.compile.code.encode_values import load_cycles
from tilewright.simulator.compile.code.simd_modes import wavelets
from tilewright.simulator.instructions.control_flow import If, Loop
from tilewright.simulator.isa.resolving import resolve
from tilewright.simulator.lowering.lower_bound.task_cycles import TaskCycles
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.lowering.upper_bound.transfer_times import WordQueue, router_queue
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.instruction import DsdOperation, Instruction


class _Sends(NamedTuple):
    """How an element sends results: cycles before an operation's first word, and for each word."""

    launch: int
    pace: int


def gather_cycles(plan: Plan, profile: Profile) -> float:
    """Return the cycles from the end of all work until the last result is over the border.

    0 if results stay. plan: of one whose elements add up nothing.
    """
    if plan.sums.exit == "none":
        return 0.0
    rows, words = len(plan.sums.head_rows(plan.read.rows)), plan.read.words(plan.read.output)
    sends, way = _sends(plan, profile), _way(profile)
    link = sum(fifo.latency for fifo in way)
    full = (ceil((fifo.latency + 1) / fifo.words) for fifo in way)
    pace = max(sends.pace, plan.exit_interval, *full)
    tile = words * pace + max(0, sends.launch - link)
    return float(sends.launch + (rows - 1) * (tile + link) + words * pace + link)


def _way(profile: Profile) -> tuple[WordQueue, ...]:
    """Return the FIFOs from an operation that sends to one of the next element that receives."""
    sending = profile.dispatch_to_link_cycles - profile.hop_cycles
    return (
        WordQueue(sending, min(profile.output_queue_words)),
        router_queue(profile),
        router_queue(profile),
        WordQueue(profile.arrival_to_execute_cycles, min(profile.input_queue_words)),
    )


def _sends(plan: Plan, profile: Profile) -> _Sends:
    """Return the slowest sends of the last row, which has all kinds of them."""
    code = plan.code(plan.roles[plan.placement[-1, -1]])
    cycles, label = TaskCycles(code, profile), f"send {plan.read.output.name}"
    work = next(task for task in code.tasks if task.name == "work")
    sends = [
        resolve(code, work.name, operation)
        for operation in _operations(work.body)
        if operation.label == label
    ]
    behind = profile.completion_cycles + profile.memory_completion_cycles + profile.issue_cycles
    launch = max(load_cycles(send, profile) for send in sends) + behind
    return _Sends(launch, max(ceil(cycles.moving(send) / wavelets(send)) for send in sends))


def _operations(body: Sequence[Instruction]) -> Iterator[DsdOperation]:
    for instruction in body:
        if isinstance(instruction, DsdOperation):
            yield instruction
        elif isinstance(instruction, Loop | If):
            for inner in _bodies(instruction):
                yield from _operations(inner)


def _bodies(instruction: Loop | If) -> Iterable[Sequence[Instruction]]:
    return (instruction.body,) if isinstance(instruction, Loop) else (
        instruction.then,
        instruction.otherwise,
    )  # fmt: skip
