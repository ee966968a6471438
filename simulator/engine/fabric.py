"""Queues, routers and the time wheel: one wavelet per link and cycle, back-pressure by space.

Every decision in cycle t looks only at the state at the start of the cycle: an entry pushed in t
moves in t+1 at the earliest, and a slot freed in t is free from t+1 on (`F_POPPED`). So the
order in which the agents of a cycle are visited does not matter (fabric-engine.md §2.2).
"""

from __future__ import annotations

from tilewright.simulator.engine.jit import inline_kernel, kernel
from tilewright.simulator.engine.layout import (
    A_NEXT,
    A_PREVIOUS,
    A_WHEN,
    ERROR_TWO_ARRIVALS,
    F_CAP,
    F_COLOR,
    F_COUNT,
    F_HEAD,
    F_LATENCY,
    F_LINK,
    F_NEXT,
    F_POPPED,
    F_POPS,
    F_PUSHED,
    F_RING,
    F_SHARED,
    F_SUCCESSORS,
    F_USER,
    F_WAITER,
    OK,
    S_AGENTS,
    S_ERROR,
    S_ERROR_ELEMENT,
    S_ERROR_ROW,
    Fabric,
    Table,
)


@inline_kernel
def unlink(fabric: Fabric, agent: int) -> None:
    """Take an agent out of the wheel."""
    table = fabric.agent
    after = table[agent, A_NEXT]
    before = table[agent, A_PREVIOUS]
    if after >= 0:
        table[after, A_PREVIOUS] = before
    if before >= 0:
        table[before, A_NEXT] = after
    else:
        fabric.wheel[table[agent, A_WHEN] & (fabric.wheel.size - 1)] = after
    table[agent, A_WHEN] = -1
    fabric.status[S_AGENTS] -= 1


@inline_kernel
def schedule(fabric: Fabric, agent: int, when: int) -> None:
    """Visit an agent at a cycle, or earlier if it is already due earlier."""
    table = fabric.agent
    due = table[agent, A_WHEN]
    if due >= 0:
        if due <= when:
            return
        unlink(fabric, agent)
    slot = when & (fabric.wheel.size - 1)
    first = fabric.wheel[slot]
    table[agent, A_WHEN] = when
    table[agent, A_NEXT] = first
    table[agent, A_PREVIOUS] = -1
    if first >= 0:
        table[first, A_PREVIOUS] = agent
    fabric.wheel[slot] = agent
    fabric.status[S_AGENTS] += 1


@inline_kernel
def has_space(fabric: Fabric, queue: int, now: int) -> bool:
    """Return whether a queue could take an entry at the start of this cycle."""
    fifo = fabric.fifo
    freed = 1 if fifo[queue, F_POPPED] == now else 0
    return fifo[queue, F_COUNT] + freed < fifo[queue, F_CAP]


@inline_kernel
def await_space(fabric: Fabric, queue: int, agent: int, now: int) -> None:
    """Wake an agent when the full queue has space again."""
    fifo = fabric.fifo
    other = fifo[queue, F_WAITER]
    if fifo[queue, F_POPPED] == now or (other >= 0 and other != agent):
        schedule(fabric, agent, now + 1)
    else:
        fifo[queue, F_WAITER] = agent


@inline_kernel
def push(fabric: Fabric, queue: int, payload: int, now: int) -> None:
    """Append a payload; the queue has space."""
    fifo = fabric.fifo
    count = fifo[queue, F_COUNT]
    tail = fifo[queue, F_HEAD] + count
    if tail >= fifo[queue, F_CAP]:
        tail -= fifo[queue, F_CAP]
    entry = fifo[queue, F_RING] + tail
    ready = now + fifo[queue, F_LATENCY]
    fabric.ring[entry, 0] = ready
    fabric.ring[entry, 1] = payload
    fifo[queue, F_COUNT] = count + 1
    if count == 0 and fifo[queue, F_USER] >= 0:
        schedule(fabric, fifo[queue, F_USER], ready)


@inline_kernel
def pop(fabric: Fabric, queue: int, now: int) -> int:
    """Take the head's payload and wake who waits for space."""
    fifo = fabric.fifo
    head = fifo[queue, F_HEAD]
    payload = fabric.ring[fifo[queue, F_RING] + head, 1]
    head += 1
    fifo[queue, F_HEAD] = 0 if head == fifo[queue, F_CAP] else head
    fifo[queue, F_COUNT] -= 1
    fifo[queue, F_POPPED] = now
    fifo[queue, F_POPS] += 1
    waiter = fifo[queue, F_WAITER]
    if waiter >= 0:
        fifo[queue, F_WAITER] = -1
        schedule(fabric, waiter, now + 1)
    return payload


@inline_kernel
def head_ready(fabric: Fabric, queue: int) -> int:
    """Return the cycle from which the head may move."""
    fifo = fabric.fifo
    return fabric.ring[fifo[queue, F_RING] + fifo[queue, F_HEAD], 0]


@kernel
def move(fabric: Fabric, queue: int, now: int) -> None:
    """Move the head to all successors at once; they all have space."""
    fifo = fabric.fifo
    payload = pop(fabric, queue, now)
    for i in range(fifo[queue, F_SUCCESSORS]):
        target = fifo[queue, F_NEXT + i]
        if fifo[target, F_PUSHED] == now and fabric.status[S_ERROR] == OK:
            fabric.status[S_ERROR] = ERROR_TWO_ARRIVALS
            fabric.status[S_ERROR_ELEMENT] = queue
            fabric.status[S_ERROR_ROW] = target
        fifo[target, F_PUSHED] = now
        push(fabric, target, payload, now)
    if fifo[queue, F_COUNT] > 0:
        schedule(fabric, queue, max(now + 1, head_ready(fabric, queue)))


@inline_kernel
def leads(fabric: Fabric, queue: int, link: int, now: int) -> bool:
    """Return whether a bid of the queue is the best on a link in this cycle so far.

    The queue that was served longest ago wins, then the lower color: the queue of an element
    that is best over all wins all its links, so a multicast cannot starve.
    """
    if fabric.bid[link, 0] != now:
        return True
    fifo = fabric.fifo
    other = fabric.bid[link, 1]
    mine = fifo[queue, F_POPPED]
    theirs = fifo[other, F_POPPED]
    return mine < theirs or (mine == theirs and fifo[queue, F_COLOR] < fifo[other, F_COLOR])


@kernel
def visit_queue(fabric: Fabric, queue: int, now: int) -> bool:
    """Move the head if it may move now; return True if it has bid for a shared link instead."""
    fifo = fabric.fifo
    if fifo[queue, F_COUNT] == 0:
        return False
    ready = head_ready(fabric, queue)
    if ready > now:
        schedule(fabric, queue, ready)
        return False
    for i in range(fifo[queue, F_SUCCESSORS]):
        target = fifo[queue, F_NEXT + i]
        if not has_space(fabric, target, now):
            await_space(fabric, target, queue, now)
            return False
    if fifo[queue, F_SHARED] == 0:
        move(fabric, queue, now)
        return False
    for i in range(fifo[queue, F_SUCCESSORS]):
        link = fifo[queue, F_LINK + i]
        if leads(fabric, queue, link, now):
            fabric.bid[link, 0] = now
            fabric.bid[link, 1] = queue
    return True


@kernel
def settle_bid(fabric: Fabric, queue: int, now: int) -> None:
    """Move a queue that won all its links in this cycle; the others try again."""
    fifo = fabric.fifo
    for i in range(fifo[queue, F_SUCCESSORS]):
        link = fifo[queue, F_LINK + i]
        if fabric.bid[link, 1] != queue:
            schedule(fabric, queue, now + 1)
            return
    move(fabric, queue, now)


@kernel
def schedule_all(fabric: Fabric, agents: Table, cycles: Table) -> None:
    """Schedule many agents, each at its cycle."""
    for i in range(agents.size):
        schedule(fabric, agents[i], cycles[i])
