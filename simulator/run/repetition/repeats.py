"""Simulate without values, and skip repetitions, such as the loops of tiles in a steady state.

The state is looked at whenever an element begins one of its operations again. If a state comes
three times, at equal distances, all goes on like that until a counter comes to a number that it is
compared with, or a stream ends; so many repetitions are skipped (theory/engines.md §12).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.compiled_program import CompiledProgram
from tilewright.simulator.compile.store_header import NEVER
from tilewright.simulator.run.repetition.machine_state import MachineState, Snapshot
from tilewright.simulator.run.repetition.repetition_limits import repetitions
from tilewright.simulator.run.run_data import step_to_end

Ids = npt.NDArray[np.int64]
Ask = Callable[[at.Table, int], None]

VISITS_BETWEEN: Final = 80
"""Visits of agents, per element, between two looks at an operation that begins.

They take about as long as a look.
"""
VISITS_BEFORE: Final = 800
"""Visits, per element, before looks at equal distances in time; more after looks in vain."""
MOST_WAITED: Final = 4
"""How many times more, at most."""
DISTANCE: Final = 120
"""Cycles between such looks: a multiple of the periods at which words come."""
LOOKS: Final = 3
"""Looks at equal distances: as many as show a repetition."""
MOST_CYCLES: Final = 8 * DISTANCE
"""Cycles after which it is asked at the latest what to do next."""
MOST_KEPT: Final = 1 << 22
"""Numbers in the states that are kept; at least KEPT states are."""
KEPT: Final = 24


@dataclass(frozen=True, slots=True)
class _Repetition:
    """What the machine did from state `before` on, in so many `cycles`, and how often again."""

    before: Snapshot
    cycles: int
    times: int


class RepeatingRun:
    """One run of a program without values, in which repetitions are skipped.

    `store`, `sram`: the engine's tables with the data, at cycle 0; changed by `run`. `left_out`:
    cycles that were skipped, not simulated.
    """

    def __init__(self, compiled: CompiledProgram, store: at.Table, sram: at.Memory) -> None:
        self.compiled, self.store, self.sram = compiled, store, sram
        self.left_out = 0
        self._limit = int(store[at.S_LIMIT])
        self._between = VISITS_BETWEEN * compiled.parts.element.rows
        self._before = VISITS_BEFORE * compiled.parts.element.rows
        self._chosen_at = self._between  # visits at which an operation is chosen anew
        self._series_at = self._before  # visits at which looks at equal distances begin
        self._waited = 1
        self._looks = 0  # of the series that goes on
        self._begun_at = 0  # visits when the operation began
        self._too_often: set[int] = set()

    @cached_property
    def state(self) -> MachineState:
        """Where the machine's state is in the store; made at the first use."""
        return MachineState(self.compiled, self.store)

    @cached_property
    def _seen(self) -> deque[Snapshot]:
        return deque(maxlen=self.state.kept(MOST_KEPT, KEPT))

    def run(self, ask: Ask | None = None, visits: int = NEVER) -> bool:
        """Run to the end, to an error, or to the limit of cycles; `store` is changed to that state.

        `ask`: called with the store and the cycle at least every 960 simulated cycles; it may raise
        to end the run. `visits`: of agents, after which it pauses: it returns False then, and goes
        on when it is called again.
        """
        store, limit = self.store, self._limit
        while store[at.S_VISITS] < visits:
            cycles = DISTANCE if self._looks else MOST_CYCLES
            store[at.S_LIMIT] = min(limit, int(store[at.S_CYCLE]) + cycles - 1)
            step_to_end(store, self.sram)
            at_limit = store[at.S_ERROR] == at.ERROR_LIMIT
            if at_limit and ask is not None:
                ask(store, int(store[at.S_CYCLE]))
            if at_limit and store[at.S_LIMIT] < limit:
                store[at.S_ERROR] = at.OK
                self._go_on()
            elif store[at.S_ERROR] != at.OK or not _goes_on(store):
                return True
            else:
                self._begun()
        return False

    def _go_on(self) -> None:
        """Do what is due after some simulation: look at the state, or choose an operation to watch.

        Looks come in series; a series without a repetition makes the pause before the next one
        longer.
        """
        visits = int(self.store[at.S_VISITS])
        if self._looks:
            self._looks += 1
            if self._look():
                self._looks, self._waited = 1, 1
            elif self._looks > LOOKS:
                self._looks = 0
                self._series_at = visits + self._waited * self._before
                self._waited = min(2 * self._waited, MOST_WAITED)
        elif visits >= self._series_at:
            self._looks = 1
        if visits >= self._chosen_at:
            self._watch(visits)
            is_watched = self.store[at.S_WATCH_LIMIT] < NEVER
            self._chosen_at = 2 * visits if is_watched else visits + self._between

    def _begun(self) -> None:
        """Look at the state, as the watched operation has begun again.

        If it begins too often to look each time, another operation is chosen.
        """
        store = self.store
        passed = int(store[at.S_VISITS]) - self._begun_at
        self._begun_at = int(store[at.S_VISITS])
        if 2 * passed < self._between:
            self._too_often.add(int(store[at.S_WATCHED]))
            self._watch(self._begun_at)
            return
        self._look()
        self._looks = 0
        store[at.S_WATCH_LIMIT] = store[store[at.S_WATCHED]] + 1

    def _watch(self, visits: int) -> None:
        """Choose the operation at whose next starts the state is looked at.

        It is the one of the last element that has begun most often, but not so often that looks
        would cost more than they save; there may be none. visits: of agents by the engine so far.
        """
        store, parts = self.store, self.compiled.parts
        element = int(parts.element.address(np.array([parts.element.rows - 1]))[0])
        layout = self.compiled.layouts[int(self.compiled.program.placement[-1, -1])]
        first = layout.first["operation"]
        operation = parts.operation.view(store)[first : first + len(layout.operations)]
        all_cells = store[element + at.E_RUNS] + operation[:, at.O_RUNS]
        cells = all_cells[[cell not in self._too_often for cell in all_cells.tolist()]]
        is_seldom = (store[cells] >= 2) & (store[cells] * self._between <= visits)
        store[at.S_WATCH_LIMIT] = NEVER
        if is_seldom.any():
            often = cells[is_seldom]
            store[at.S_WATCHED] = often[int(store[often].argmax())]
            store[at.S_WATCH_LIMIT] = store[store[at.S_WATCHED]] + 1

    def _look(self) -> bool:
        """Look at the state; if it came before, skip repetitions.

        Return whether any were skipped.
        """
        now = self.state.snapshot(self.store)
        seen = [snapshot for snapshot in self._seen if snapshot.key == now.key]
        going_on = [r for r in self._repetitions(now, seen) if r.times > 0]
        self._seen.append(now)
        if going_on:
            self._leave_out(now, max(going_on, key=lambda r: r.times * r.cycles))
        return bool(going_on)

    def _repetitions(self, now: Snapshot, seen: list[Snapshot]) -> list[_Repetition]:
        """Return the periods after which the state has come again twice, the last time now.

        seen: earlier states with the same key as `now`.
        """
        by_cycle = {snapshot.cycle: snapshot for snapshot in seen}
        repetitions_seen = []
        for before in reversed(seen):
            cycles = now.cycle - before.cycle
            first = by_cycle.get(before.cycle - cycles)
            if first is not None:
                times = repetitions(self.state, self.store, (first, before, now))
                repetitions_seen.append(_Repetition(before, cycles, times))
        return repetitions_seen

    def _leave_out(self, now: Snapshot, repetition: _Repetition) -> None:
        """Move the state on by some repetitions, as if they had been simulated."""
        store, state, times = self.store, self.state, repetition.times
        before, shift = repetition.before, times * repetition.cycles
        entry, cycles, _ = state.words(store)
        store[entry[cycles >= now.cycle]] += shift
        later = state.times[store[state.times] >= now.cycle]
        store[later] += shift
        parts = state.parts
        for table, name in (
            (parts.variable, "counters"),
            (parts.sets, "sets"),
            (parts.runs, "runs"),
        ):
            change = getattr(now, name) - getattr(before, name)
            store[table.start : table.end] += times * change
        store[state.places] += times * (now.places - before.places)
        store[state.threads + at.T_LEFT] += times * (now.left - before.left)
        store[state.routers + at.X_COUNT] += times * (now.filters - before.filters)
        change = times * (now.stocks - before.stocks)
        self._fill_exits(now, repetition)
        store[state.ports + at.F_COUNT] += change
        entering = state.sources.size
        store[state.sources + at.F_HEAD] -= change[:entering]
        served = state.shared[now.popped > before.popped]
        store[served + at.F_POPPED] += shift
        state.count_pops(store, times * (now.pops - before.pops))
        store[at.S_END] += times * (now.end - before.end)
        self.left_out += shift
        self._schedule(now.cycle + shift)

    def _fill_exits(self, now: Snapshot, repetition: _Repetition) -> None:
        """Write when the words came outside that leave by slow ports in the periods left out."""
        network, fifo = self.compiled.network, self.compiled.parts.fifo
        change = now.stocks - repetition.before.stocks
        sent = dict(zip(self.state.ports.tolist(), change.tolist(), strict=True))
        for fifos, interval in zip(network.edge_outputs, network.exit_intervals, strict=True):
            for address in fifo.address(fifos).tolist() if interval > 1 else ():
                self._repeat_arrivals(address, sent[address], repetition)

    def _repeat_arrivals(self, sink: int, words: int, repetition: _Repetition) -> None:
        """Write the arrivals of so many words at an edge output in each period left out."""
        store = self.store
        behind = int(store[sink + at.F_RING]) + 2 * int(store[sink + at.F_COUNT])
        last = store[behind - 2 * words : behind : 2]
        period = 1 + np.arange(repetition.times)[:, None]
        arrivals = (last + period * repetition.cycles).ravel()
        store[behind : behind + 2 * arrivals.size : 2] = arrivals

    def _schedule(self, cycle: int) -> None:
        """Fill the time wheel anew, at the beginning of a cycle, for all agents that are due."""
        from tilewright.simulator.engine.engine_entries import schedule_all

        store = self.store
        agents = self.state.agents[store[self.state.agents + at.A_WHEN] >= cycle]
        cycles = store[agents + at.A_WHEN].copy()
        store[at.WHEEL_AT : at.WHEEL_AT + at.WHEEL] = -1
        store[[at.S_AGENTS, at.S_LISTED, at.S_LISTED + 1]] = 0
        store[agents + at.A_WHEN] = -1
        store[at.S_CYCLE] = cycle - 1  # those due at once are behind it
        schedule_all(store, agents, cycles)
        store[at.S_CYCLE] = cycle


def _goes_on(store: at.Table) -> bool:
    """Return whether some agent is due."""
    return bool(store[[at.S_AGENTS, at.S_LISTED, at.S_LISTED + 1]].any())
