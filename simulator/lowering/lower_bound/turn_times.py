"""When all elements of a plan are done, followed turn by turn.

Elements that share a stream, or add up, wait for each other in every turn, and a turn that one of
them begins later is later for all (theory/grid.md §6).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.reductions import Axis
from tilewright.simulator.compile.columns import BANKS
from tilewright.simulator.lowering.element_program import JOIN, STEP
from tilewright.simulator.lowering.lower_bound.stream_cycles import words_end
from tilewright.simulator.lowering.lower_bound.stream_times import StreamTimes
from tilewright.simulator.lowering.lower_bound.sum_times import SumTimes
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyContext, TaskCycles
from tilewright.simulator.lowering.lower_bound.task_runs import alike_runs
from tilewright.simulator.lowering.lower_bound.task_script import Script, ScriptWriter, Transfer
from tilewright.simulator.lowering.plan import Plan
from tilewright.simulator.lowering.sums.sum_chains import operation_cycles
from tilewright.simulator.lowering.sums.sum_operations import sends_beside_work
from tilewright.simulator.lowering.sums.sum_roles import Role
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Task

Cycles = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
AXES: Final[tuple[Axis, Axis]] = ("X", "Y")
MOST_TURNS: Final = 1 << 10
MOST_STEPS: Final = 1 << 22
"""Turns, and turns of all elements together, that are followed at most."""


def turns_end(plan: Plan, profile: Profile) -> float:
    """Return a cycle at which no run of a plan's program has ended before, by all of its turns.

    0 where elements pass tiles round rings, or where there are too many turns.
    """
    read = plan.read
    turns = prod(loop.count for loop in read.time[: read.kernel])
    too_many = turns > MOST_TURNS or turns * read.rows * read.columns > MOST_STEPS
    if read.shifted or plan.sums.ring is not None or too_many:
        return 0.0
    return _TurnTimes(plan, profile).end()


class _Passed(NamedTuple):
    """What a script has passed: when its main thread is `done`, and its transfers beside it.

    `arrived`: when tiles have come, by transfer, and all of them together at last; `sent`: when
    sums are sent, None if none are sent beside the work.
    """

    done: Cycles
    arrived: list[Cycles]
    sent: Cycles | None


@dataclass(frozen=True, eq=False)
class _TurnTimes:
    plan: Plan
    profile: Profile

    def end(self) -> float:
        """Follow all elements; return when the last one is done."""
        begun = np.zeros((self.plan.read.rows, self.plan.read.columns))
        if "start" in self._tasks:
            done = self._overlapped(begun) - self.profile.task_end_cycles
        else:
            done = self._through(begun, self._writer.of(self._tasks["work"])).done
        return max(float(done.max()), self._left[-1])

    # -- what the elements run -------------------------------------------------------------

    @property
    def _role(self) -> Role:
        return self.plan.first_role

    @cached_property
    def _cycles(self) -> TaskCycles:
        """Those of an element that sends sums and receives none: others do no less."""
        return TaskCycles(self.plan.code(self._role), self.profile)

    @cached_property
    def _tasks(self) -> dict[str, Task]:
        return {task.name: task for task in self._cycles.code.tasks}

    @cached_property
    def _writer(self) -> ScriptWriter:
        return ScriptWriter(self._cycles, frozenset({*self._streams, self._send, self._share}))

    @cached_property
    def _streams(self) -> dict[str, StreamTimes]:
        """By the labels of the operations that receive them."""
        plan, profile = self.plan, self.profile
        return {f"receive {s.tensor.name}": StreamTimes(plan, s, profile) for s in plan.streams}

    @cached_property
    def _sums(self) -> SumTimes:
        return SumTimes(self.plan, self.profile)

    @cached_property
    def _left(self) -> list[float]:
        """When the last result of each tile has left the grid."""
        return [0.0]

    @property
    def _send(self) -> str:
        return f"send {self.plan.read.output.name}"

    @property
    def _share(self) -> str:
        return f"share {self.plan.read.output.name}"

    # -- one script ------------------------------------------------------------------------

    def _through(self, begun: Cycles, script: Script) -> _Passed:
        """Follow the elements through a script that their main threads begin."""
        done, arrived, sent = begun, list[Cycles](), None
        beside = [t.moving for t in script.transfers if t.label in self._streams and not t.waits]
        for transfer in script.transfers:
            if transfer.label == self._share:  # the sums end with it
                continue
            started = done + transfer.before
            done, ends = started, self._ends(started, transfer)
            if transfer.waits:
                done = ends
            elif transfer.label == self._send:
                sent = ends
            else:
                arrived.append(ends)
        if beside:  # their words take turns in the issue slot, and on links
            together = np.maximum(begun + sum(beside), self._links_end())
            arrived.append(together)
        return _Passed(done + script.after, arrived, sent)

    def _ends(self, started: Cycles, transfer: Transfer) -> Cycles:
        """Return when a transfer is over whose words elements can take or send from a time on."""
        if transfer.label == self._send:
            ends = self._sums.ends(started - operation_cycles(0, self.profile))
            self._left.append(self._sums.left(ends))
            return ends
        ends = self._streams[transfer.label].received(started, transfer.moving)
        return (
            np.maximum(ends, self._links_end()) if transfer.waits and self._shared_links else ends
        )

    def _links_end(self) -> Cycles:
        """Return when all words of the tiles so far have crossed the links that lead to elements.

        Streams along one axis share these.
        """
        ends = np.zeros((self.plan.read.rows, self.plan.read.columns))
        for streams, links in self._shared_links:
            words = sum((stream.words * crosses for stream, crosses in streams), start=0 * ends)
            ends = np.maximum(ends, words_end(words, links, self.profile))
        return ends

    @cached_property
    def _shared_links(self) -> list[tuple[list[tuple[StreamTimes, Mask]], Numbers]]:
        """The streams that share links along an axis, and to which elements their words come so.

        With the links of the shortest way to each of these.
        """
        shared = []
        for axis in AXES:
            streams = [(stream, stream.crosses(axis)) for stream in self._streams.values()]
            streams = [(stream, crosses) for stream, crosses in streams if crosses.any()]
            if len(streams) > 1:
                ways = [np.where(crosses, stream.links, 1 << 30) for stream, crosses in streams]
                shared.append((streams, np.minimum.reduce(ways)))
        return shared

    # -- tiles in two buffers --------------------------------------------------------------

    def _overlapped(self, begun: Cycles) -> Cycles:
        """Return when elements are done that receive the next tile during the work on one."""
        read = self.plan.read
        sends = sends_beside_work(read) and self._role.send is not None
        start = self._through(begun, self._writer.of(self._tasks["start"]))
        begun = self._joined(start)
        for step in range(read.time[0].count + sends):
            script = self._run(step)
            passed = self._through(begun + self.profile.task_switch_cycles, script)
            used = begun + script.slot + self.profile.task_switch_cycles - 1
            begun = self._joined(passed)
            if passed.sent is not None:
                used, begun = used + self._further_words, np.maximum(begun, passed.sent - 1)
            begun = np.maximum(begun, used)
        return begun

    def _joined(self, passed: _Passed) -> Cycles:
        """Return when the next run begins: behind the work, all tiles, and the tasks that wait.

        A task may begin in the cycle of the word that starts it.
        """
        begun = passed.done + self.profile.task_end_cycles
        begun += sum(self._joins) if passed.arrived else 0.0
        for number, ends in enumerate(passed.arrived):
            last = min(number, len(self._joins))  # all together: as late as the last one
            begun = np.maximum(begun, ends - 1 + sum(self._joins[max(0, last - 1) :]))
        return begun

    @cached_property
    def _joins(self) -> list[float]:
        """Cycles of the tasks that wait for transfers: number n for n + 1 and all before it."""
        tasks = (task for name, task in self._tasks.items() if name.startswith(JOIN))
        return [self._cycles.of_task(task).total for task in tasks]

    @cached_property
    def _further_words(self) -> Numbers:
        """Words of sums that elements add or pass on beside those that each one sends."""
        plan = self.plan
        tiles = [max(1, len(r.receives)) + r.stores + r.passed - 1 for r in plan.roles]
        return np.array(tiles)[plan.placement] * plan.read.words(plan.read.output)

    @cached_property
    def _known_runs(self) -> dict[tuple[int, ...], Script]:
        return {}

    def _run(self, step: int) -> Script:
        """Return the script of the run for a step."""
        count = self.plan.read.time[0].count
        key = step % BANKS, step < 1, step < count - 1, step < count
        if key not in self._known_runs:
            context = BodyContext({STEP: step}, runs=alike_runs(range(step, step + 1)))
            self._known_runs[key] = self._writer.of(self._tasks["work"], context)
        return self._known_runs[key]
