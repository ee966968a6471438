"""A lower bound of the cycles of a plan, without an execution (theory/grid.md §6).

The bound is the longest of these: an element's own work; the words of a border stream and the work
behind the last of them; and behind either, for an element that begins a reduction, the way of its
sum through all chains and out of the grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from tilewright.mapper.grid.host_streams import HostStream, place_in_period
from tilewright.mapper.grid.reductions import Phase
from tilewright.simulator.build.program_builder import CodeBuilder
from tilewright.simulator.lowering.element_program import STEP, write_element
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.lowering.sum_roles import Role
from tilewright.simulator.lowering.task_cycles import BodyCycles, TaskCycles
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import ElementCode, Task

ROUNDING = 1e-6
"""More than sums of cycles in floating point differ from exact ones."""


def lower_bound(plan: Plan, profile: Profile) -> int:
    """Return cycles that no execution of a plan's program on a machine goes below."""
    longest = 0.0
    work_of: dict[Role, BodyCycles] = {}
    for place in ((0, 0), (plan.read.rows - 1, plan.read.columns - 1)):
        role = plan.roles[plan.placement[place]]
        if role not in work_of:
            work_of[role] = _work(plan, profile, role)
        work = work_of[role]
        streams = (_behind_stream(plan, profile, s, place, work) for s in plan.streams)
        ready = max(work.total, *streams, 0)
        longest = max(longest, ready)
        if plan.sums.shared:
            longest = max(longest, _shared(plan, profile, role, ready, work))
        else:
            longest = max(longest, ready + _way_out(plan, profile, role))
    return ceil(longest - ROUNDING)


def element_code(plan: Plan, role: Role) -> ElementCode:
    """Return the code of the elements of one role."""
    read, code = plan.read, CodeBuilder(role.name)
    for tensor in read.tensors:
        shape = (tensor.buffers, tensor.values)
        code.buffer(
            tensor.name, read.dtype_of(tensor.name), shape, plan.addresses.first_word[tensor.name]
        )
    write_element(code, plan.kernel, role)
    return code.build()


def _work(plan: Plan, profile: Profile, role: Role) -> BodyCycles:
    """Return the cycles of an element of a role, without waiting."""
    code = element_code(plan, role)
    cycles, tasks = TaskCycles(code, profile), {task.name: task for task in code.tasks}
    if "start" not in tasks:
        return cycles.of("work", tasks["work"].body)
    return _overlapped_work(plan, cycles, tasks, role)


def _overlapped_work(
    plan: Plan, cycles: TaskCycles, tasks: Mapping[str, Task], role: Role
) -> BodyCycles:
    """Return the cycles of an element with two buffers: a start, then a run for each tile.

    Behind the last tile of a stream stand at least the work on that tile and the last send.
    """
    read, work = plan.read, tasks["work"].body
    steps = read.time[0].count
    sends = bool(read.output.depth) and role.send is not None
    runs = steps + sends
    result = cycles.of("start", tasks["start"].body)
    shown = sorted({0, 1, steps - 1, runs - 1} & set(range(runs)))
    last = BodyCycles()
    for number, step in enumerate(shown):
        after = shown[number + 1] if number + 1 < len(shown) else runs
        run = cycles.of("work", work, {STEP: step})
        result.add(run, after - step)
        if step >= steps - 1:
            last.pass_cycles(run.total)
    if sends:
        further = [name for name in tasks if name.startswith("send")]
        for name in further:
            result.add(cycles.of(name, tasks[name].body), steps)
        words = read.output.values * (max(1, len(role.receives)) + role.passed)
        last.pass_cycles(float(words))
    result.total = max(result.total, result.datapath)
    for tensor in read.streams:
        if tensor.depth:
            result.since[f"receive {tensor.name}"] = last.total
    return result


def _behind_stream(
    plan: Plan, profile: Profile, stream: HostStream, place: tuple[int, int], work: BodyCycles
) -> float:
    """Return when an element (row, column) is done that takes its last word of a stream."""
    read = plan.read
    tiles = int(place_in_period(read, stream)[place]) + 1
    words = ((stream.periods - 1) * stream.tiles + tiles) * stream.values
    row, column = place
    links = {"rows": column, "columns": row, "whole": row + column}[stream.lines]
    way = links * profile.hop_cycles + profile.arrival_to_execute_cycles
    behind = work.since.get(f"receive {stream.tensor.name}", 0.0)
    return words * float(profile.cycles_per_wavelet) + way + behind


def _shared(plan: Plan, profile: Profile, role: Role, ready: float, work: BodyCycles) -> float:
    """Return when the first element of a group has the finished tile, from when one is ready.

    `ready`: when the element of a role is done by itself, with the receive or send of the tile.
    """
    sums = plan.sums
    each = profile.dispatch_to_link_cycles + profile.arrival_to_execute_cycles
    links = sums.group_columns - 1 + sums.group_rows - 1
    back = float(each + links * profile.hop_cycles)
    if role.share == "send":
        return ready + back
    if role.receives:
        return ready
    sent = ready - work.since.get(f"send {plan.read.output.name}", 0.0)
    words = (plan.read.output.values - 1) * float(profile.cycles_per_wavelet)
    return sent + _way_out(plan, profile, role) + back + words


@dataclass(frozen=True, slots=True)
class _Way:
    """Links of chains and links between neighbours on the way of a partial sum."""

    sends: int
    hops: int


def _way_out(plan: Plan, profile: Profile, role: Role) -> float:
    """Return the cycles from the end of an element's work until its sum has left the grid."""
    if role.send is None or role.receives or role.passes:
        return 0.0
    way = _way(plan.sums.phases)
    each = profile.dispatch_to_link_cycles + profile.arrival_to_execute_cycles
    return float(way.sends * each + way.hops * profile.hop_cycles)


def _way(phases: tuple[Phase, ...]) -> _Way:
    """Follow the sum of the first element through all chains."""
    sends = hops = 0
    place = {"X": 0, "Y": 0}
    for phase in phases:
        for chain in phase.chains:
            if place[phase.axis] in chain.positions:
                behind = chain.positions[chain.positions.index(place[phase.axis]) :]
                sends += len(behind) - 1
                hops += behind[-1] - behind[0]
                place[phase.axis] = behind[-1]
                break
    return _Way(sends, hops)
