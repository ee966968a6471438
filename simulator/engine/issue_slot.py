"""Which thread of a processing element has the issue slot in a cycle, and the value that it does.

The datapath serves at most one wavelet operation per cycle: of the ready threads the one of the
highest priority, equal ones in turns (engines.md §1). The main thread has the slot while it is
busy; a word of a higher priority delays it by a cycle.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.fabric import await_space, has_space, head_ready, schedule
from tilewright.simulator.engine.jit import address, part_kernel, use
from tilewright.simulator.engine.operation_steps import complete, last_element
from tilewright.simulator.engine.values.datapath import do_element
from tilewright.simulator.run.trace import BUSY, IDLE, WAIT_INPUT, WAIT_OUTPUT


@part_kernel
def queues_ready(store: Table, element: int, thread: int, now: int) -> Word:
    """Say whether an operation can go on with its next values: BUSY, or what it waits for.

    WAIT_INPUT: an input queue has no ready wavelet; WAIT_OUTPUT: the output queue has no space. The
    queue makes the processing element be visited again when that changes.
    """
    thread = address(thread)
    op = address(store[thread + at.T_OP])
    for operand in range(3):
        row = store[op + at.O_OPERANDS + operand]
        if row < 0:
            continue
        row = address(row)
        if store[row + at.D_KIND] == at.MEMORY:
            continue
        queue = address(store[thread + at.T_POSITIONS + operand])
        if store[row + at.D_KIND] == at.FABRIC_OUT:
            if not has_space(store, queue, now):
                await_space(store, queue, element, now)
                return WAIT_OUTPUT
            continue
        if store[queue + at.F_COUNT] == 0:
            return WAIT_INPUT
        ready = head_ready(store, queue)
        if ready > now:
            schedule(store, element, ready)
            return WAIT_INPUT
    return BUSY


@part_kernel
def fire(store: Table, memory: Memory, element: int, thread: int, now: int) -> Word:
    """Do a running operation on one more value of each vector, if its queues are ready.

    element, thread: addresses of the processing element and of the thread; now: the cycle. Returns
    BUSY if it was done, else WAIT_INPUT or WAIT_OUTPUT. The following values are due after the
    operation's cycles per value, whose fractions are carried on.
    """
    if store[store[address(thread) + at.T_OP] + at.O_SPECIAL] == 1:
        return use(store, memory, at.FEATURE_SPECIAL, (element, thread, now, 0))
    cycle_state = queues_ready(store, element, thread, now)
    if cycle_state != BUSY:
        return cycle_state
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
    schedule(store, element, store[thread + at.T_NEXT])
    if store[thread + at.T_LEFT] == 0:
        last_element(store, element, thread, now)
    return BUSY


@part_kernel
def is_served(store: Table, thread: int, ranked: int, rank: int) -> Word:
    """Return whether the datapath may serve a thread in the turn of priority `rank`.

    thread: address of the thread, which is one operation in flight; ranked: whether the processing
    element has operations of several priorities; if not, every thread in use counts.
    """
    if store[thread + at.T_STATE] in (at.FREE, at.MAPPING, at.PAUSED):
        return False
    return not ranked or store[thread + at.T_PRIORITY] == rank


@part_kernel
def complete_when_due(store: Table, element: int, thread: int, now: int) -> None:
    """End a thread's operation if its completion is due; else visit the element when it is.

    It is due K_COMPLETION cycles, of the profile, after its last value. A thread that is not
    completing is left alone. element, thread: addresses of the processing element and of the
    thread; now: the cycle.
    """
    if store[thread + at.T_STATE] != at.COMPLETING:
        return
    if store[thread + at.T_NEXT] <= now:
        complete(store, element, thread)
    else:
        schedule(store, element, store[thread + at.T_NEXT])


@part_kernel
def holding_rank(store: Table, element: int, now: int) -> Word:
    """Return the priority of the main thread if it has the issue slot in cycle `now`, else -1.

    element: address of the processing element.
    """
    if store[element + at.E_STATE] < at.M_READY or store[element + at.E_UNTIL] <= now:
        return -1
    return store[element + at.E_MAIN_LEVEL]


@part_kernel
def run_threads(store: Table, memory: Memory, element: int, now: int) -> Word:
    """Let the datapath of a processing element serve at most one running thread in this cycle.

    Other threads whose operations are due to end are completed, and the element's next visit is
    scheduled. The highest priority goes first, equal ones in turn (engines.md §1). While the main
    thread has the issue slot, threads of lower priority wait, and a word of a higher one delays it.
    Returns the state in which the cycle counts: BUSY, WAIT_INPUT, WAIT_OUTPUT or IDLE.
    """
    element = address(element)
    first = store[element + at.E_THREADS]
    count = store[element + at.E_THREAD_COUNT]
    levels = store[element + at.E_LEVELS]
    ranked = levels & (levels - 1) != 0
    cycle_state = IDLE
    fired = False
    held = holding_rank(store, element, now)
    for step in range(at.LEVELS):
        rank = at.LEVELS - 1 - step
        if levels >> rank & 1 == 0:
            continue
        turn = store[element + at.E_TURN + rank]
        for i in range(1, count + 1):
            slot = turn + i if turn + i < count else turn + i - count
            thread = address(first + slot * at.T_WIDTH)
            if not is_served(store, thread, ranked, rank):
                continue
            running = store[thread + at.T_STATE] == at.RUNNING
            if running and store[thread + at.T_PRIORITY] < held:
                continue
            due = store[thread + at.T_NEXT]
            if due > now or (fired and running):
                schedule(store, element, max(due, now + 1))
                cycle_state = BUSY
                continue
            if running:
                outcome = fire(store, memory, element, thread, now)
                fired = outcome == BUSY
                if fired:
                    store[element + at.E_TURN + rank] = slot
                    store[element + at.E_UNTIL] += held >= 0
                cycle_state = BUSY if fired or cycle_state == BUSY else max(cycle_state, outcome)
            complete_when_due(store, element, thread, now)
    return cycle_state
