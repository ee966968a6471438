"""Cycles that a plan takes at most whose tiles come during the work (theory/grid.md §12).

With the lower bound this says how long a grid takes that is too large to run.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from tilewright.mapper.grid.host_streams import HostStream
from tilewright.simulator.lowering.element_program import JOIN, STEP
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles, TaskCycles
from tilewright.simulator.lowering.lower_bound.task_runs import alike_runs
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.lowering.upper_bound.gathered_results import gather_cycles
from tilewright.simulator.lowering.upper_bound.main_thread import MostCycles
from tilewright.simulator.lowering.upper_bound.transfer_times import line_transfers, ring_transfers
from tilewright.simulator.profiles.profile import Profile

Turns = list[tuple[BodyCycles, int]]


def most_cycles(plan: Plan, profile: Profile) -> int | None:
    """Return cycles that no run of a plan on a machine goes above; None if none are known.

    They are known where tiles of several tensors pass in two buffers, along rings or lines that
    share no link, each element has a result of its own, which stays or leaves at the end, and the
    work on a tile takes longer than the next one needs to come to all elements; on a machine whose
    words take a cycle each.
    """
    if not _is_covered(plan) or profile.cycles_per_wavelet != 1:
        return None
    read, is_ring = plan.read, bool(plan.read.shifted)
    alone = replace(plan.roles[0], send=None, passes=None, passed=0)
    code = plan.code(alone)  # those of a ring differ in colors only
    cycles, tasks = MostCycles(code, profile), {task.name: task for task in code.tasks}
    words = sum(map(read.words, read.shifted or read.streams)) * (1 + is_ring)
    transfers_of = ring_transfers if is_ring else line_transfers
    leaves = plan.sums.exit != "none"  # results of elements that are ahead go beside the last tiles
    transfers = transfers_of(plan, profile, int(leaves)) + words
    apart = profile.with_values({"bank_conflict_factor": 1})
    least = min(run.total for run, _ in _turns(plan, TaskCycles(code, apart))[:-1])
    started = cycles.of_task(tasks["start"]).total
    turns = _turns(plan, cycles)
    begun = turns[0][0].until[_last_receive(plan)]
    if least + words < begun + transfers:
        return None
    joins = sum(cycles.of_task(task).total for name, task in tasks.items() if name.startswith(JOIN))
    first = 0.0 if is_ring else transfers + joins  # the first tiles come, too
    work = sum(run.total * number for run, number in turns)
    waits = (read.time[0].count - 1) * (joins + words)
    return ceil(started + first + work + waits + gather_cycles(plan, profile))


def _is_covered(plan: Plan) -> bool:
    read, sums = plan.read, plan.sums
    if sums.group > 1 or sums.narrows or read.output.depth:
        return False
    if read.shifted:
        axes = [tensor.shift for tensor in read.shifted]
        return not read.streams and len(set(axes)) == len(axes)
    return _has_lines(plan.streams) and all(tensor.buffers == 2 for tensor in read.streams)


def _has_lines(streams: tuple[HostStream, ...]) -> bool:
    """Return whether several streams go along lines of their own, whole to every element.

    The words of several go before the work; those of one do not.
    """
    lines = [stream.lines for stream in streams]
    takes_all = all(stream.tiles == 1 for stream in streams)
    return len(lines) > 1 and len(set(lines)) == len(lines) and "whole" not in lines and takes_all


def _last_receive(plan: Plan) -> str:
    tensors = plan.read.shifted or plan.read.streams
    return f"receive {tensors[-1].name}"


def _turns(plan: Plan, cycles: TaskCycles) -> Turns:
    """Return the cycles of the first turn, of those behind it, of the last one; and how many."""
    steps = plan.read.time[0].count
    work = next(task for task in cycles.code.tasks if task.name == "work")
    parts = [range(1), range(1, steps - 1), range(steps - 1, steps)]
    return [
        (cycles.of_task(work, {STEP: part.start}, alike_runs(part)), len(part))
        for part in parts
        if part
    ]
