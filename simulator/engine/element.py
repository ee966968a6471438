"""One element in one cycle: its main thread, then at most one element of one DSD operation.

The datapath serves one wavelet operation per cycle; ready microthreads take turns
(engines.md §1). An operation on memory alone keeps the main thread busy and leaves that
slot to the microthreads (wafer.md §4.1: asynchronous data movement belongs to the fabric's time).
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.datapath import do_element
from tilewright.simulator.engine.fabric import await_space, has_space, head_ready, schedule
from tilewright.simulator.engine.finish import complete, last_element
from tilewright.simulator.engine.indirect import use
from tilewright.simulator.engine.jit import address, part_kernel
from tilewright.simulator.engine.main_thread import advance_main
from tilewright.simulator.run.trace import BUSY, IDLE, WAIT_INPUT, WAIT_OUTPUT


@part_kernel
def queues_ready(store: Table, e: int, thread: int, now: int) -> Word:
    """Return BUSY if the operation's next element can go now, else what it waits for.

    The element is woken when that changes.
    """
    thread = address(thread)
    op = address(store[thread + at.T_OP])
    for which in range(3):
        row = store[op + at.O_OPERANDS + which]
        if row < 0:
            continue
        row = address(row)
        if store[row + at.D_KIND] == at.MEMORY:
            continue
        queue = address(store[thread + at.T_POSITIONS + which])
        if store[row + at.D_KIND] == at.FABRIC_OUT:
            if not has_space(store, queue, now):
                await_space(store, queue, e, now)
                return WAIT_OUTPUT
            continue
        if store[queue + at.F_COUNT] == 0:
            return WAIT_INPUT
        ready = head_ready(store, queue)
        if ready > now:
            schedule(store, e, ready)
            return WAIT_INPUT
    return BUSY


@part_kernel
def fire(store: Table, memory: Memory, e: int, thread: int, now: int) -> Word:
    """Do the next element of a running thread if its queues allow; return the mood."""
    if store[store[address(thread) + at.T_OP] + at.O_SPECIAL] == 1:
        return use(store, memory, at.FEATURE_SPECIAL, (e, thread, now, 0))
    mood = queues_ready(store, e, thread, now)
    if mood != BUSY:
        return mood
    do_element(store, memory, thread, now)
    thread = address(thread)
    op = address(store[thread + at.T_OP])
    pace = store[op + at.O_CYCLES]
    per = store[op + at.O_DENOMINATOR]
    if per != 1:
        pace += store[thread + at.T_FRACTION]
        store[thread + at.T_FRACTION] = pace % per
        pace //= per
    store[thread + at.T_NEXT] = now + pace
    store[thread + at.T_LEFT] -= 1
    schedule(store, e, store[thread + at.T_NEXT])
    if store[thread + at.T_LEFT] == 0:
        last_element(store, e, thread, now)
    return BUSY


@part_kernel
def run_threads(store: Table, memory: Memory, e: int, now: int) -> Word:
    """Serve the running threads by priority, those of one priority in turn; return the mood."""
    e = address(e)
    first = store[e + at.E_THREADS]
    count = store[e + at.E_THREAD_COUNT]
    levels = store[e + at.E_LEVELS]
    ranked = levels & (levels - 1) != 0
    mood = IDLE
    fired = False
    for step in range(at.LEVELS):
        rank = at.LEVELS - 1 - step
        if levels >> rank & 1 == 0:
            continue
        turn = store[e + at.E_TURN + rank]
        for i in range(1, count + 1):
            slot = turn + i if turn + i < count else turn + i - count
            thread = address(first + slot * at.T_WIDTH)
            state = store[thread + at.T_STATE]
            if state in (at.FREE, at.MAPPING, at.PAUSED) or (
                ranked and store[thread + at.T_PRIORITY] != rank
            ):
                continue
            due = store[thread + at.T_NEXT]
            if due > now or (fired and state == at.RUNNING):
                schedule(store, e, max(due, now + 1))
                mood = BUSY
                continue
            if state == at.RUNNING:
                found = fire(store, memory, e, thread, now)
                fired = found == BUSY
                if fired:
                    store[e + at.E_TURN + rank] = slot
                mood = BUSY if fired or mood == BUSY else max(mood, found)
            state = store[thread + at.T_STATE]
            if state == at.COMPLETING:
                if store[thread + at.T_NEXT] <= now:
                    complete(store, e, thread)
                else:
                    schedule(store, e, store[thread + at.T_NEXT])
    return mood


@part_kernel
def visit_element(store: Table, memory: Memory, e: int, now: int) -> None:
    """Account the time since the last visit, then run the element's main thread and threads."""
    e = address(e)
    store[e + at.E_CYCLES + store[e + at.E_CYCLE_STATE]] += now - store[e + at.E_SINCE]
    store[e + at.E_SINCE] = now
    if store[e + at.E_STATE] != at.M_SYNC:
        advance_main(store, memory, e, now)
    mood = IDLE
    if store[e + at.E_RUNNING] > 0:
        mood = run_threads(store, memory, e, now)
        if store[e + at.E_STATE] != at.M_SYNC:
            advance_main(store, memory, e, now)
    if store[e + at.E_STATE] == at.M_MAP:
        mood = (
            max(mood, store[store[e + at.E_THREADS] + at.T_CYCLE_STATE]) if mood != BUSY else BUSY
        )
    if store[e + at.E_STATE] in (at.M_READY, at.M_DISPATCH):
        schedule(store, e, store[e + at.E_UNTIL])
        mood = BUSY
    store[e + at.E_CYCLE_STATE] = mood
