"""Queues, routers, links with their arbiter, the time wheel; a full queue blocks its sender.

Every decision in cycle t reads only the state at the start of the cycle: an entry pushed in t
moves in t+1 at the earliest, and a slot freed in t is free from t+1 on (`F_CREDIT`). So the
order in which the agents of a cycle are visited does not matter (engines.md §1).
"""

from __future__ import annotations

from tilewright.simulator.compile.columns import (
    A_NEXT,
    A_PREVIOUS,
    A_WHEN,
    ERROR_TWO_ARRIVALS,
    F_CAP,
    F_COLOR,
    F_COUNT,
    F_CREDIT,
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
    F_WAITED,
    F_WAITER,
    F_WAKE,
    OK,
    S_AGENTS,
    S_CYCLE,
    S_ERROR,
    S_ERROR_ELEMENT,
    S_ERROR_ROW,
    S_LISTED,
    S_LISTS,
    S_QUEUES,
    WHEEL,
    WHEEL_AT,
    Table,
    Word,
)
from tilewright.simulator.engine.jit import address, inline_kernel, inner_kernel, part_kernel


@inner_kernel
def remove_from_wheel(store: Table, agent: int) -> None:
    """Take an agent (a FIFO or an element, by its address) out of the time wheel.

    The wheel lists the agents due in later cycles, by cycle modulo 1024.
    """
    after = store[agent + A_NEXT]
    before = store[agent + A_PREVIOUS]
    if after >= 0:
        store[address(after) + A_PREVIOUS] = before
    if before >= 0:
        store[address(before) + A_NEXT] = after
    else:
        store[WHEEL_AT + (store[agent + A_WHEN] & (WHEEL - 1))] = after
    store[S_AGENTS] -= 1


@inner_kernel
def add_to_wheel(store: Table, agent: int, when: int) -> None:
    """Put an agent (a FIFO or an element, by its address) into the time wheel at cycle `when`.

    The wheel lists the agents due in later cycles, by cycle modulo 1024.
    """
    slot = WHEEL_AT + (when & (WHEEL - 1))
    first = store[slot]
    store[agent + A_NEXT] = first
    store[agent + A_PREVIOUS] = -1
    if first >= 0:
        store[address(first) + A_PREVIOUS] = agent
    store[slot] = agent
    store[S_AGENTS] += 1


@inline_kernel
def schedule(store: Table, agent: int, when: int) -> None:
    """Visit an agent (a FIFO or an element) in cycle `when`, unless it is due earlier already.

    when: later than the current cycle. The agents of the next cycle, nearly all, are in a list; the
    others are in the time wheel.
    """
    agent = address(agent)
    now = store[S_CYCLE]
    due = store[agent + A_WHEN]
    if due > now:
        if due <= when:
            return
        remove_from_wheel(store, agent)
    store[agent + A_WHEN] = when
    if when == now + 1:
        odd = when & 1
        listed = store[S_LISTED + odd]
        store[address(store[S_LISTS + odd] + listed)] = agent
        store[S_LISTED + odd] = listed + 1
    else:
        add_to_wheel(store, agent, when)


@inline_kernel
def tail_of(store: Table, queue: int) -> Word:
    """Return the address of the place in a FIFO where the next wavelet goes; it is not full.

    The place still holds the cycle in which it was freed. queue: address of the FIFO.
    """
    tail = store[queue + F_HEAD] + store[queue + F_COUNT]
    if tail >= store[queue + F_CAP]:
        tail -= store[queue + F_CAP]
    return address(store[queue + F_RING] + 2 * tail)


@part_kernel
def has_space(store: Table, queue: int, now: int) -> Word:
    """Return whether a FIFO could take a wavelet at the start of cycle `now`.

    A place that a wavelet leaves in cycle t can be taken from cycle t + credit on (credit is 1 for
    a plain queue). queue: address of the FIFO.
    """
    queue = address(queue)
    if store[queue + F_COUNT] == store[queue + F_CAP]:
        return False
    return store[tail_of(store, queue)] + store[queue + F_CREDIT] <= now


@inline_kernel
def await_space(store: Table, queue: int, agent: int, now: int) -> None:
    """Let an agent be visited again in the first cycle in which a FIFO without space may have some.

    An agent is a FIFO or an element, by its address. now: the cycle.
    """
    waiter = store[queue + F_WAITER]
    if store[queue + F_COUNT] < store[queue + F_CAP]:
        schedule(store, agent, store[tail_of(store, queue)] + store[queue + F_CREDIT])
    elif waiter >= 0 and waiter != agent:
        schedule(store, agent, now + 1)
    else:
        store[queue + F_WAITER] = agent


@inline_kernel
def push(store: Table, queue: int, payload: int, now: int) -> None:
    """Append a wavelet to a FIFO, which must have space; it is ready after the FIFO's latency.

    Whoever takes from the FIFO (a FIFO or a processing element) is visited then. payload: the
    wavelet's bits; now: the cycle.
    """
    queue = address(queue)
    count = store[queue + F_COUNT]
    entry = tail_of(store, queue)
    ready = now + store[queue + F_LATENCY]
    store[entry] = ready
    store[entry + 1] = payload
    store[queue + F_COUNT] = count + 1
    if count < store[queue + F_WAKE]:
        schedule(store, store[queue + F_USER], ready)


@inline_kernel
def pop(store: Table, queue: int, now: int) -> Word:
    """Take the wavelet at the head of a FIFO; return its bits.

    The agent (FIFO or processing element) that waits for space is visited when the place is free
    again. queue: address of the FIFO; now: the cycle.
    """
    queue = address(queue)
    head = store[queue + F_HEAD]
    entry = address(store[queue + F_RING] + 2 * head)
    payload = store[entry + 1]
    if store[S_QUEUES] == 1:
        store[queue + F_WAITED] += now - store[entry] + store[queue + F_LATENCY]
    store[entry] = now
    head += 1
    store[queue + F_HEAD] = 0 if head == store[queue + F_CAP] else head
    store[queue + F_COUNT] -= 1
    store[queue + F_POPPED] = now
    store[queue + F_POPS] += 1
    waiter = store[queue + F_WAITER]
    if waiter >= 0:
        store[queue + F_WAITER] = -1
        schedule(store, waiter, now + store[queue + F_CREDIT])
    return payload


@part_kernel
def head_ready(store: Table, queue: int) -> Word:
    """Return the cycle from which the head of a FIFO may move; the FIFO must not be empty.

    It is the cycle in which the wavelet came plus the FIFO's latency. queue: address of the FIFO.
    """
    queue = address(queue)
    return store[address(store[queue + F_RING] + 2 * store[queue + F_HEAD])]


@inline_kernel
def move(store: Table, queue: int, now: int) -> None:
    """Move the wavelet at the head of a FIFO to all FIFOs that it feeds, in one cycle.

    All of them must have space. Two wavelets that come to one FIFO in the same cycle are an error
    of the run. queue: address of the FIFO; now: the cycle.
    """
    queue = address(queue)
    payload = pop(store, queue, now)
    for i in range(store[queue + F_SUCCESSORS]):
        target = address(store[queue + F_NEXT + i])
        if store[target + F_PUSHED] == now and store[S_ERROR] == OK:
            store[S_ERROR] = ERROR_TWO_ARRIVALS
            store[S_ERROR_ELEMENT] = queue
            store[S_ERROR_ROW] = target
        store[target + F_PUSHED] = now
        push(store, target, payload, now)
    if store[queue + F_COUNT] > 0:
        schedule(store, queue, max(now + 1, head_ready(store, queue)))


@inline_kernel
def leads(store: Table, queue: int, link: int, now: int) -> Word:
    """Return whether a FIFO's bid for a link is the best in cycle `now` so far.

    The one served longest ago wins, then the lower color, then the lower address. The best FIFO of
    all wins all its links, so a multicast cannot starve.
    """
    if store[link] != now:
        return True
    best = store[link + 1]
    served, best_served = store[queue + F_POPPED], store[best + F_POPPED]
    if served != best_served:
        return served < best_served
    color, best_color = store[queue + F_COLOR], store[best + F_COLOR]
    return color < best_color or (color == best_color and queue < best)


@inline_kernel
def visit_queue(store: Table, queue: int, now: int) -> Word:
    """Move the head of a FIFO if it is ready and there is space; return True if it bids instead.

    It bids if one of its links is used by other FIFOs, too; the best bid moves later in the cycle
    (`settle_bid`). A FIFO that cannot move is visited again when it may. queue: its address.
    """
    queue = address(queue)
    if store[queue + F_COUNT] == 0:
        return False
    ready = head_ready(store, queue)
    if ready > now:
        schedule(store, queue, ready)
        return False
    for i in range(store[queue + F_SUCCESSORS]):
        target = address(store[queue + F_NEXT + i])
        if not has_space(store, target, now):
            await_space(store, target, queue, now)
            return False
    if store[queue + F_SHARED] == 0:
        move(store, queue, now)
        return False
    for i in range(store[queue + F_SUCCESSORS]):
        link = store[queue + F_LINK + i]
        if leads(store, queue, link, now):
            store[link] = now
            store[link + 1] = queue
    return True


@part_kernel
def settle_bid(store: Table, queue: int, now: int) -> None:
    """Move the head of a FIFO that won all its links in cycle `now`; else visit it again.

    A FIFO bids where other FIFOs use its links, too; the best bid of a link wins in each cycle.
    """
    for i in range(store[queue + F_SUCCESSORS]):
        link = store[queue + F_LINK + i]
        if store[link + 1] != queue:
            schedule(store, queue, now + 1)
            return
    move(store, queue, now)


@inner_kernel
def schedule_all(store: Table, agents: Table, cycles: Table) -> None:
    """Visit each of some agents (FIFOs or processing elements) in a cycle of its own.

    agents: addresses in the store; cycles: as many, the cycle of each.
    """
    for i in range(agents.size):
        schedule(store, agents[i], cycles[i])
