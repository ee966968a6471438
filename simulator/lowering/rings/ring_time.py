"""Cycles that a product by shifts takes at most, on rings of any length (theory/grid.md §11).

With the lower bound this says how long a grid takes that is too large to run.
"""

from __future__ import annotations

from math import ceil

from tilewright.simulator.instructions.control_flow import If, Loop
from tilewright.simulator.instructions.element_map import Map
from tilewright.simulator.instructions.scalar_operation import Compute
from tilewright.simulator.isa.operands import ResolvedOperation
from tilewright.simulator.lowering.cycle_bound import alike_runs
from tilewright.simulator.lowering.element_program import JOIN, STEP
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.lowering.task_cycles import BodyContext, BodyCycles, TaskCycles
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.instruction import DsdOperation, Instruction
from tilewright.simulator.program.program import Task


def most_cycles(plan: Plan, profile: Profile) -> int | None:
    """Return cycles that no run of a plan whose tiles shift goes above; None if none are known.

    They are known where nothing enters, leaves, or is added over elements, each ring has links of
    its own, and the work on a tile takes longer than its way to the next element.
    """
    read = plan.read
    axes = [tensor.shift for tensor in read.shifted]
    alone = not read.streams and not plan.sums.phases and plan.sums.exit == "none"
    if not axes or len(set(axes)) < len(axes) or not alone:
        return None
    code = plan.code(plan.roles[0])  # the others differ in colors only
    cycles, tasks = _MostCycles(code, profile), {task.name: task for task in code.tasks}
    runs = _runs(plan, cycles, tasks["work"])
    if min(run.total for run, _ in runs[:-1]) < _transfers(plan, profile, runs[0][0]):
        return None
    turns = read.time[0].count - 1
    joins = sum(cycles.of_task(t).total for name, t in tasks.items() if name.startswith(JOIN))
    begun = cycles.of_task(tasks["start"]).total
    work = sum(run.total * number for run, number in runs)
    return ceil(begun + work + turns * (joins + _words(plan)))


def _runs(plan: Plan, cycles: TaskCycles, work: Task) -> list[tuple[BodyCycles, int]]:
    """Return the cycles of the first turn, of those behind it together, and of the last one."""
    steps = plan.read.time[0].count
    parts = [range(1), range(1, steps - 1), range(steps - 1, steps)]
    return [
        (cycles.of_task(work, {STEP: part.start}, alike_runs(part)), len(part))
        for part in parts
        if part
    ]


def _words(plan: Plan) -> int:
    """Return the words that an element sends and receives in a turn."""
    return 2 * sum(tensor.values for tensor in plan.read.shifted)


def _transfers(plan: Plan, profile: Profile, run: BodyCycles) -> float:
    """Return cycles from the start of a turn until all tiles have come and gone, at most.

    `run`: of the first turn. Transfers begin with its first instructions, each delayed by words. An
    element serves its threads in turn, so a word waits for at most one of each other thread, at
    both ends of its way; with so few places in the queues words go no faster than their credits.
    """
    threads = 2 * len(plan.read.shifted)
    latency = profile.dispatch_to_link_cycles + profile.arrival_to_execute_cycles
    latency += 2 * (profile.hop_cycles + 1)
    begun = run.until["receive " + plan.read.shifted[-1].name]
    slowest = 0.0
    for number, tensor in enumerate(plan.read.shifted):
        places = min(
            profile.output_queue_words[2 * number], profile.input_queue_words[2 * number + 1]
        )
        pace = max(threads, ceil((latency + 2 * threads) / places)) * profile.cycles_per_wavelet
        slowest = max(slowest, float((tensor.values + 1) * pace))
    return begun + _words(plan) + slowest + latency + 2 * threads


class _MostCycles(TaskCycles):
    """Counts cycles that the main thread needs at most, without waiting and words."""

    __slots__ = ()

    def _append(
        self, result: BodyCycles, task: str, instruction: Instruction, context: BodyContext
    ) -> None:
        super()._append(result, task, instruction, context)
        if not isinstance(instruction, DsdOperation | Compute | Map | Loop | If):
            either = self.profile.counter_cycles, self.profile.task_control_cycles
            result.keep_busy(max(either) - min(either))

    def _operation(
        self, result: BodyCycles, resolved: ResolvedOperation, context: BodyContext
    ) -> None:
        super()._operation(result, resolved, context)
        if resolved.source.asynchronous:
            result.until[resolved.source.label] = result.total

    def _unknown_meetings(self, groups: int) -> int:
        return groups

    def _map(self, result: BodyCycles, task: str, instruction: Map, context: BodyContext) -> None:
        """Append a map with its end (engines.md §10)."""
        super()._map(result, task, instruction, context)
        more = len(instruction.operands) > 1
        step = self.profile.map_step_cycles if more else 0
        result.keep_busy(2 * self.profile.scalar_operation_cycles + step)

    def _branch(self, result: BodyCycles, task: str, test: If, context: BodyContext) -> None:
        """Append a branch, the longer way where it is not known.

        The first way ends with a jump over the second one, if there is one.
        """
        profile = self.profile
        jump = profile.branch_taken_cycles if test.otherwise else 0
        if test.variable in context.known:
            is_first = context.known[test.variable] < test.below
            super()._branch(result, task, test, context)
            result.keep_busy(jump if is_first else 0)
            return
        ways = []
        for body, cycles in (
            (test.then, profile.branch_not_taken_cycles + jump),
            (test.otherwise, profile.branch_taken_cycles),
        ):
            way = self._body(task, body, context.without(test.variable))
            way.keep_busy(cycles)
            ways.append(way)
        result.add(max(ways, key=lambda way: way.total))
