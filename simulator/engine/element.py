"""One element in one cycle: its main thread, then at most one element of one DSD operation.

The datapath serves one wavelet operation per cycle; ready microthreads take turns
(fabric-engine.md §2.2). An operation on memory alone keeps the main thread busy and leaves that
slot to the microthreads (wse.md §1.5: asynchronous data movement belongs to the fabric's time).
"""

from __future__ import annotations

from tilewright.simulator.engine import layout as at
from tilewright.simulator.engine.datapath import do_element
from tilewright.simulator.engine.fabric import await_space, has_space, head_ready, schedule
from tilewright.simulator.engine.jit import inline_kernel, kernel
from tilewright.simulator.engine.layout import Codes, Elements, Fabric
from tilewright.simulator.engine.task import advance_main, record
from tilewright.simulator.trace import BUSY, IDLE, WAIT_INPUT, WAIT_OUTPUT


@kernel
def queues_ready(
    fabric: Fabric, codes: Codes, elements: Elements, where: tuple[int, int], now: int
) -> int:
    """Return BUSY if the operation's next element can go now, else what it waits for.

    `where` is (element's agent, thread). The agent is woken when that changes.
    """
    agent, thread = where
    op = elements.thread[thread, at.T_OP]
    for which in range(3):
        row = codes.operation[op, at.O_OPERANDS + which]
        if row < 0 or codes.operand[row, at.D_KIND] == at.MEMORY:
            continue
        queue = elements.thread[thread, at.T_OPERANDS + which * at.T_OPERAND_WIDTH]
        if codes.operand[row, at.D_KIND] == at.FABRIC_OUT:
            if not has_space(fabric, queue, now):
                await_space(fabric, queue, agent, now)
                return WAIT_OUTPUT
            continue
        if fabric.fifo[queue, at.F_COUNT] == 0:
            return WAIT_INPUT
        ready = head_ready(fabric, queue)
        if ready > now:
            schedule(fabric, agent, ready)
            return WAIT_INPUT
    return BUSY


@kernel
def complete(fabric: Fabric, codes: Codes, elements: Elements, where: tuple[int, int]) -> None:
    """End an asynchronous operation: free its thread and queues, activate or unblock its task."""
    e, thread = where
    op = elements.thread[thread, at.T_OP]
    elements.thread[thread, at.T_STATE] = at.FREE
    elements.element[e, at.E_RUNNING] -= 1
    elements.element[e, at.E_QUEUES_BUSY] &= ~codes.operation[op, at.O_QUEUES]
    bit = 1 << codes.operation[op, at.O_ACTION_TASK]
    if codes.operation[op, at.O_ACTION] == at.ACTIVATE:
        elements.element[e, at.E_ACTIVE] |= bit
    elif codes.operation[op, at.O_ACTION] == at.UNBLOCK:
        elements.element[e, at.E_BLOCKED] &= ~bit


@kernel
def last_element(
    fabric: Fabric, codes: Codes, elements: Elements, where: tuple[int, int], now: int
) -> None:
    """Note the end of a fabric operation whose last element went in this cycle."""
    e, thread = where
    op = elements.thread[thread, at.T_OP]
    row = elements.element[e]
    elements.runs[row[at.E_RUNS] + op - row[at.E_OPS]] += codes.operation[op, at.O_EXTENT]
    end = max(now + 1, now + codes.cycles[at.K_COMPLETION])
    fabric.status[at.S_END] = max(fabric.status[at.S_END], end)
    start = elements.thread[thread, at.T_START]
    record(fabric, elements, (e, op, thread - row[at.E_THREADS], start, end))
    if codes.operation[op, at.O_ASYNC] == 1:
        elements.thread[thread, at.T_STATE] = at.COMPLETING
        elements.thread[thread, at.T_NEXT] = now + codes.cycles[at.K_COMPLETION]
        return
    row[at.E_STATE] = at.M_READY
    row[at.E_UNTIL] = elements.thread[thread, at.T_NEXT]
    complete(fabric, codes, elements, where)


@kernel
def fire(
    fabric: Fabric, codes: Codes, elements: Elements, where: tuple[int, int], now: int
) -> int:
    """Do the next element of a running thread if its queues allow; return the mood."""
    e, thread = where
    agent = fabric.fifo.shape[0] + e
    mood = queues_ready(fabric, codes, elements, (agent, thread), now)
    if mood != BUSY:
        return mood
    do_element(fabric, codes, elements, thread, now)
    table = elements.thread
    op = table[thread, at.T_OP]
    total = table[thread, at.T_FRACTION] + codes.operation[op, at.O_CYCLES]
    per = codes.operation[op, at.O_DENOMINATOR]
    table[thread, at.T_NEXT] = now + total // per
    table[thread, at.T_FRACTION] = total % per
    table[thread, at.T_LEFT] -= 1
    schedule(fabric, agent, table[thread, at.T_NEXT])
    elements.element[e, at.E_TURN] = thread - elements.element[e, at.E_THREADS]
    if table[thread, at.T_LEFT] == 0:
        last_element(fabric, codes, elements, where, now)
    return BUSY


@kernel
def run_threads(fabric: Fabric, codes: Codes, elements: Elements, e: int, now: int) -> int:
    """Serve the running threads in turn; return the element's mood."""
    agent = fabric.fifo.shape[0] + e
    first = elements.element[e, at.E_THREADS]
    count = elements.element[e, at.E_THREAD_COUNT]
    turn = elements.element[e, at.E_TURN]
    mood = IDLE
    fired = False
    for i in range(1, count + 1):
        thread = first + (turn + i) % count
        state = elements.thread[thread, at.T_STATE]
        if state == at.FREE:
            continue
        due = elements.thread[thread, at.T_NEXT]
        if due > now or (fired and state == at.RUNNING):
            schedule(fabric, agent, max(due, now + 1))
            mood = BUSY
            continue
        if state == at.RUNNING:
            found = fire(fabric, codes, elements, (e, thread), now)
            fired = found == BUSY
            mood = BUSY if fired or mood == BUSY else max(mood, found)
        state = elements.thread[thread, at.T_STATE]
        if state == at.COMPLETING:
            if elements.thread[thread, at.T_NEXT] <= now:
                complete(fabric, codes, elements, (e, thread))
            else:
                schedule(fabric, agent, elements.thread[thread, at.T_NEXT])
    return mood


@kernel
def visit_element(fabric: Fabric, codes: Codes, elements: Elements, e: int, now: int) -> None:
    """Account the time since the last visit, then run the element's main thread and threads."""
    row = elements.element[e]
    row[at.E_CYCLES + row[at.E_MOOD]] += now - row[at.E_SINCE]
    row[at.E_SINCE] = now
    advance_main(fabric, codes, elements, e, now)
    mood = IDLE
    if row[at.E_RUNNING] > 0:
        mood = run_threads(fabric, codes, elements, e, now)
        if row[at.E_STATE] != at.M_SYNC:
            advance_main(fabric, codes, elements, e, now)
    if row[at.E_STATE] in (at.M_READY, at.M_DISPATCH):
        schedule(fabric, fabric.fifo.shape[0] + e, row[at.E_UNTIL])
        mood = BUSY
    row[at.E_MOOD] = mood
