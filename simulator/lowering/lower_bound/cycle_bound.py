"""A lower bound of the cycles of a plan, without an execution (theory/grid.md §6).

The bound of its parts is the greatest of four: an element's own work; the words of a border stream
and the work behind the last of them; all words that cross the last link of a line; and, on top of
the first two, the chains in which the elements add up partial sums. Another one, which takes longer
to find and is mostly greater, follows all elements turn by turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.grid.schemes.reduction_scheme import Order
from tilewright.simulator.lowering.element_program import JOIN, STEP
from tilewright.simulator.lowering.lower_bound.stream_cycles import (
    behind_stream,
    behind_streams,
    crosses_line,
    words_end,
)
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles, TaskCycles
from tilewright.simulator.lowering.lower_bound.task_runs import alike_runs
from tilewright.simulator.lowering.lower_bound.turn_times import turns_end
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.lowering.rings.ring_bound import least_slice, ring_cycles, ring_end
from tilewright.simulator.lowering.sums.sum_chains import (
    LineSums,
    SumCycles,
    operation_cycles,
    snakes_end,
    way_back,
    word_cycles,
)
from tilewright.simulator.lowering.sums.sum_operations import sends_beside_work
from tilewright.simulator.lowering.sums.sum_roles import Role
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Task

Numbers = npt.NDArray[np.int64]
Cycles = npt.NDArray[np.float64]
AXES: tuple[Axis, Axis] = ("X", "Y")
ROUNDING = 1e-6
"""More than sums of cycles in floating point differ from exact ones."""
Works = dict[Role, BodyCycles]
"""The work of the elements of each role; plans that differ in the sums only have it in common."""


def lower_bound(plan: Plan, profile: Profile) -> int:
    """Return a number of cycles that no execution of a plan's program on a machine goes below."""
    return followed_bound(plan, profile, bound_of_parts(plan, profile))


def followed_bound(plan: Plan, profile: Profile, least: int) -> int:
    """Return a bound that follows the elements turn by turn; `least`: that of the parts."""
    return max(least, ceil(turns_end(plan, profile) - ROUNDING))


def bound_of_parts(plan: Plan, profile: Profile, works: Works | None = None) -> int:
    """Return the bound of the parts of a program: the greatest of the four.

    `works`: cycles of the elements' own work by role, a cache that is filled. Only plans that
    differ from this one in nothing but the scheme of the reduction may share it.
    """
    known = {} if works is None else works

    def work_of(role: Role) -> BodyCycles:
        if role not in known:
            known[role] = work_cycles(plan, profile, role)
        return known[role]

    longest, read = 0.0, plan.read
    for place in _shown_places(plan):
        work = work_of(plan.roles[plan.placement[place]])
        streams = (behind_stream(plan, profile, s, place, work) for s in plan.streams)
        longest = max(longest, work.total, *streams)
    last = known.get(plan.roles[plan.placement[-1, -1]], BodyCycles())
    longest = max(longest, *(_line_end(plan, profile, axis, last) for axis in AXES))
    if any(stream.lines == "whole" for stream in plan.streams) and plan.read.rows > 1:
        longest = max(longest, _first_column_end(plan, profile, work_of(_alone_role(plan))))
    if plan.sums.group > 1:
        first = work_of(plan.first_role)
        sums_end = _sums_end(plan, profile, first)
        longest = max(longest, sums_end, _exit_end(plan, profile, sums_end))
    elif plan.exit_interval > 1:
        first = work_of(plan.roles[plan.placement[0, 0]])
        sent = _sums_end(plan, profile, first) + word_cycles(read.words(read.output), profile)
        longest = max(longest, _exit_end(plan, profile, sent), _gather_end(plan, profile, first))
    return ceil(longest - ROUNDING)


def alone_cycles(plan: Plan, profile: Profile) -> BodyCycles:
    """Return the cycles of an element that neither adds sums of others nor sends its own.

    They are the same for all plans that differ in nothing but the scheme of the reduction.
    """
    return work_cycles(plan, profile, _alone_role(plan))


def _alone_role(plan: Plan) -> Role:
    return Role(shifts=plan.roles[plan.placement[plan.sums.first]].shifts)


def _shown_places(plan: Plan) -> list[tuple[int, int]]:
    """Return the elements (row, column) whose own work counts in the bound.

    The first one, and the last one unless the chains of sums count all its work anyway.
    """
    first, last = plan.sums.first, (plan.read.rows - 1, plan.read.columns - 1)
    has_sums_alone = plan.sums.group > 1 and not plan.read.output.depth
    if has_sums_alone and plan.roles[plan.placement[last]].passes is None:
        return [first]
    return [first, last]


def work_cycles(plan: Plan, profile: Profile, role: Role, *, last_send: bool = True) -> BodyCycles:
    """Return the cycles of an element of a role, without waiting.

    `last_send`: with two buffers, the send of the last tile is part of it.
    """
    code = plan.code(role)
    cycles, tasks = TaskCycles(code, profile), {task.name: task for task in code.tasks}
    if "start" not in tasks:
        return cycles.of("work", tasks["work"].body)
    sends = last_send and sends_beside_work(plan.read) and role.send is not None
    return _overlapped_work(plan, cycles, tasks, role, sends=sends)


def _work_before_sums(plan: Plan, profile: Profile, work: BodyCycles) -> BodyCycles:
    """Return the cycles of an element, without waiting, until it can add or send its last tile.

    `work`: all of the first element, which sends sums and receives none: all others have at least
    one operation for each tile, too.
    """
    output = plan.read.output
    if plan.sums.ring is not None:
        if _has_two_buffers(plan):
            return _shorter(alone_cycles(plan, profile), profile.task_end_cycles)
        sent = work.until[f"send {output.name}"] - least_slice(plan.sums.ring, profile)
        return _shorter(work, work.total - sent)
    if sends_beside_work(plan.read) and _has_two_buffers(plan):
        return work_cycles(plan, profile, plan.first_role, last_send=False)
    return _shorter(
        work, work.since[f"send {output.name}"] + operation_cycles(plan.read.words(output), profile)
    )


def _has_two_buffers(plan: Plan) -> bool:
    return any(tensor.buffers == 2 for tensor in plan.read.tensors)


def _shorter(work: BodyCycles, behind: float) -> BodyCycles:
    """Return the cycles of an element without the last ones, `behind`."""
    since = {label: max(0.0, cycles - behind) for label, cycles in work.since.items()}
    return replace(work, total=work.total - behind, since=since)


def _overlapped_work(
    plan: Plan, cycles: TaskCycles, tasks: Mapping[str, Task], role: Role, *, sends: bool
) -> BodyCycles:
    """Return the cycles of an element with two buffers per tile: a start, then a run for each tile.

    After the last tile of a stream it does at least the work on that tile and, if it `sends`, the
    last send.
    """
    read = plan.read
    steps = read.time[0].count
    runs = steps + sends
    result = cycles.of("start", tasks["start"].body)
    begun = replace(result)
    shown = sorted({0, 1, steps - 1, runs - 1} & set(range(runs)))
    last = BodyCycles()
    for number, step in enumerate(shown):
        after = shown[number + 1] if number + 1 < len(shown) else runs
        run = cycles.of_task(tasks["work"], {STEP: step}, alike_runs(range(step, after)))
        result.add(run, after - step)
        if step >= steps - 1:
            last.pass_cycles(run.total - cycles.profile.task_end_cycles)
    turns = steps - bool(read.shifted)
    for name in tasks:
        if sends and name.startswith("send"):
            result.add(cycles.of_task(tasks[name]), turns)
        elif name.startswith(JOIN):  # before the run for its tile, not behind the last one
            join = cycles.of_task(tasks[name])
            result.total += turns * join.total
            result.slot += turns * join.slot
    if sends:
        words = read.words(read.output) * (max(1, len(role.receives)) + role.stores + role.passed)
        last.pass_cycles(float(words))
    behind_first = max(result.total - begun.total, result.slot - begun.slot)
    result.total = max(result.total, result.slot)
    for tensor in read.streams:
        if tensor.depth and tensor.shift is None:
            result.since[f"receive {tensor.name}"] = last.total
            result.until[f"receive {tensor.name}"] = result.total - behind_first
    return result


def _line_end(plan: Plan, profile: Profile, axis: Axis, last: BodyCycles) -> float:
    """Return the least cycle at which the last element along an axis is done with what it gets.

    All of that crosses one link: the streams along the axis, the sums of its group, and the results
    that the last column gathers. `last`: the element's work, empty if it is not known.
    """
    read, sums = plan.read, plan.sums
    streams = [stream for stream in plan.streams if crosses_line(stream.lines, axis)]
    words = sum(stream.words for stream in streams)
    behind = min((last.since.get(f"receive {s.tensor.name}", 0.0) for s in streams), default=0.0)
    tiles = int(sums_cross((sums.group_columns, sums.group_rows), axis, sums.order))
    if axis == "Y" and sums.exit == "gather":
        tiles += len(sums.head_rows(read.rows)) - 1
    links = (read.columns if axis == "X" else read.rows) - 1
    if tiles:  # their first words may come from the next element
        words += tiles * read.visits(read.output) * read.words(read.output)
        behind = 0.0
        links = min(links, 1)
    return float(words_end(words, links, profile) + behind)


def _first_column_end(plan: Plan, profile: Profile, alone: BodyCycles) -> float:
    """Return the least cycle at which all words down the first column are taken, and worked on.

    Streams of the whole grid go down it to the last row, beside its own streams, sums and results;
    in the last row they go on. `alone`: the work of an element without sums.
    """
    read, sums = plan.read, plan.sums
    streams = [stream for stream in plan.streams if stream.lines != "rows"]
    words = sum(stream.words for stream in streams)
    behind = min(alone.since.get(f"receive {s.tensor.name}", 0.0) for s in streams)
    is_head, links, tiles = sums.group_columns == 1, read.rows - 1, 0
    if is_head or sums.order == "y_first":
        tiles += sums_cross((sums.group_columns, sums.group_rows), "Y", sums.order)
    if is_head and sums.exit == "gather":
        tiles += len(sums.head_rows(read.rows)) - 1
    if tiles:  # as in `_line_end`
        words += tiles * read.visits(read.output) * read.words(read.output)
        behind, links = 0.0, 1
    return float(words_end(words, links, profile) + behind)


def sums_cross(groups: Sequence[int], axis: Axis, order: Order) -> bool:
    """Return whether the sums of a group come to its last element by a link along an axis.

    `groups`: elements along X and along Y.
    """
    if axis == "Y" and order in ("snake", "ring") and groups[0] > 1:
        return False
    return groups[AXES.index(axis)] > 1


def _sums_end(plan: Plan, profile: Profile, first: BodyCycles) -> float:
    """Return the least cycle at which the last sums of the last group of columns are done.

    No stream reaches this group earlier than another one. `first`: the work of the first element.
    """
    rows, columns = np.arange(plan.read.rows), plan.read.columns
    group = np.arange(columns - plan.sums.group_columns, columns)
    done = _group_end(plan, profile, (rows, group), _work_before_sums(plan, profile, first))
    if plan.sums.ring is None or _has_two_buffers(plan):  # which count the words of moves already
        return done
    return max(done, ring_end(plan.sums.ring, first, plan.read.output.name, profile))


def _exit_end(plan: Plan, profile: Profile, sums_end: float) -> float:
    """Return the least cycle at which the last result has left by a place of the border.

    Counts where a place passes less than a word a cycle. No word of the last sums leaves earlier
    than these end without it and the words behind it. `sums_end`: when they are done.
    """
    interval, read = plan.exit_interval, plan.read
    if interval == 1:
        return 0.0
    words, visits = read.words(read.output), read.visits(read.output)
    passed = len(plan.sums.head_rows(read.rows)) if plan.sums.exit == "gather" else 1
    every = (words * visits * passed - 1) * interval
    if passed > 1:  # those of elements far from the border leave last
        return float(every)
    return max(every, sums_end - word_cycles(words, profile) + (words - 1) * interval)


def _gather_end(plan: Plan, profile: Profile, first: BodyCycles) -> float:
    """Return the least cycle at which the last of a column's gathered results has left.

    The first one is that of the last row: no word leaves before it has its tile. Counts where
    elements add up nothing and have one tile each. `first`: the work of the first element.
    """
    read, rows = plan.read, plan.read.rows
    if plan.sums.exit != "gather" or read.visits(read.output) > 1:
        return 0.0
    place = np.array([rows - 1]), np.array([read.columns - 1])
    ready = _group_end(plan, profile, place, _work_before_sums(plan, profile, first))
    return ready + (rows * read.words(read.output) - 1) * plan.exit_interval


def _group_end(
    plan: Plan, profile: Profile, places: tuple[Numbers, Numbers], work: BodyCycles
) -> float:
    """Return the least cycle at which the sums of a group of columns are done.

    If the result is shared, its way back to all elements counts, too. `places`: rows and columns of
    the group; `work`: of an element without its sums.
    """
    sums, (rows, columns) = plan.sums, places
    ready = np.full((rows.size, columns.size), work.total)
    for stream in plan.streams:
        ready = np.maximum(ready, behind_streams(plan, profile, stream, places, work))
    if sums.ring is not None:
        return float(ready.max()) + ring_cycles(sums.ring, profile)
    operation = SumCycles.of(plan.read, profile)
    if sums.snake is not None:
        done = snakes_end(ready, sums.snake, operation, profile)
    else:
        done = _axes_end(plan, profile, ready, columns.tolist(), operation)
    if sums.narrows:
        return done + operation_cycles(plan.read.words(plan.read.output), profile)
    if not sums.shared:
        return done
    group = sums.group_columns, sums.group_rows
    return done + way_back(group, plan.read.words(plan.read.output), profile)


def _axes_end(
    plan: Plan, profile: Profile, ready: Cycles, columns: list[int], operation: SumCycles
) -> float:
    """Return the least cycle at which the chains along the axes are done, in some columns.

    `ready`: (rows, columns) cycles at which each element has its own tile.
    """
    sums, rows = plan.sums, list(range(ready.shape[0]))
    places: dict[Axis, list[int]] = {"X": columns, "Y": rows}
    heads: dict[Axis, list[int]] = {"X": columns[-1:], "Y": list(sums.head_rows(len(rows)))}
    done, has_sum = ready, False
    for axis in sums.axes:
        begun = dict(zip(places[axis], done.T if axis == "X" else done, strict=True))
        line = LineSums(begun, set(begun) if has_sum else set(), np.maximum)
        for phase in sums.along(axis):
            line.add_up(phase.chains, operation, profile)
        ended = np.stack([line.done[head] for head in heads[axis]])
        done = ended.T if axis == "X" else ended
        has_sum = has_sum or heads[axis][0] in line.received
    return float(done.max())
