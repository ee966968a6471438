"""The cycle loop of the reference engine: visit the agents that are due, then decide the bids.

An agent is a queue of the fabric or an element. A cycle has two phases: every due agent is visited
once, in any order, and either moves or bids for a link; then the best bid of each link moves.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.element import visit_element
from tilewright.simulator.engine.fabric import add_to_wheel, settle_bid, visit_queue
from tilewright.simulator.engine.fetching import fetch_ahead
from tilewright.simulator.engine.jit import address, inner_kernel, part_kernel, use
from tilewright.simulator.engine.operation_steps import fail


@part_kernel
def collect(store: Table, now: int) -> Word:
    """Complete the list of agents (FIFOs and elements) that are due in cycle `now`.

    Those of the time wheel are added to those listed in the cycle before. Returns their number.
    """
    count = store[at.S_LISTED + (now & 1)]
    store[at.S_LISTED + (now & 1)] = 0
    slot = at.WHEEL_AT + (now & (at.WHEEL - 1))
    agent = store[slot]
    store[slot] = -1
    batch = address(store[at.S_LISTS + (now & 1)])
    while agent >= 0:
        agent = address(agent)
        after = store[agent + at.A_NEXT]
        store[at.S_AGENTS] -= 1
        if store[agent + at.A_WHEN] == now:
            store[batch + count] = agent
            count += 1
        else:
            add_to_wheel(store, agent, store[agent + at.A_WHEN])
        agent = after
    return count


@part_kernel
def sort_rows(store: Table, first: int, count: int) -> None:
    """Sort `count` numbers of the store from address `first` on, in place (Shell sort).

    The numbers are the agents (FIFOs and processing elements) to visit in a cycle.
    """
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            number = store[first + i]
            j = i
            while j >= gap and store[first + j - gap] > number:
                store[first + j] = store[first + j - gap]
                j -= gap
            store[first + j] = number
        gap //= 2


@part_kernel
def shuffle(store: Table, count: int) -> None:
    """Permute the agents (FIFOs and processing elements) of a cycle, by the seed in the store.

    Results must not depend on the order of visits, which tests check so. A negative seed sorts
    them, so that the first of several errors of a cycle is always the same.
    """
    batch = store[at.S_LISTS + (store[at.S_CYCLE] & 1)]
    state = store[at.S_SHUFFLE]
    if state < 0:
        sort_rows(store, batch, count)
        return
    for i in range(count - 1, 0, -1):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        j = (state >> 8) % (i + 1)
        agent = store[batch + i]
        store[batch + i] = store[batch + j]
        store[batch + j] = agent
    store[at.S_SHUFFLE] = state


@part_kernel
def visit_all(store: Table, memory: Memory, count: int) -> None:
    """Visit the `count` agents that are due in this cycle, then decide the bids for links.

    Agents are FIFOs and elements; each moves, or bids for a link that others use, too.
    """
    now = store[at.S_CYCLE]
    batch = address(store[at.S_LISTS + (now & 1)])
    elements = store[at.S_ELEMENTS]
    bids = 0
    for i in range(count):
        fetch_ahead(store, batch, i, count)
        agent = address(store[batch + i])
        if agent >= elements:
            visit_element(store, memory, agent, now)
        elif store[agent + at.F_SHARED] < at.STEERED:
            if visit_queue(store, agent, now):
                store[batch + bids] = agent
                bids += 1
        elif use(store, memory, at.FEATURE_WAY, (agent, now, 0, 0)):
            store[batch + bids] = agent
            bids += 1
    for i in range(bids):
        agent = address(store[batch + i])
        if store[agent + at.F_SHARED] < at.STEERED:
            settle_bid(store, agent, now)
        else:
            use(store, memory, at.FEATURE_SETTLE_WAY, (agent, now, 0, 0))


@part_kernel
def pending(store: Table) -> Word:
    """Return how many agents (FIFOs and elements) are due in any cycle; 0: nothing can move."""
    return store[at.S_AGENTS] + store[at.S_LISTED] + store[at.S_LISTED + 1]


@inner_kernel
def run(store: Table, memory: Memory) -> None:
    """Step cycles until no agent is due, an error occurs, or the timeline is full.

    store: the engine's int64 array, changed; memory: 32-bit words of all elements, changed.
    `S_ERROR` of the store says how it ended; after EVENTS_FULL, make space for events and call
    again. It also returns when the word at S_WATCHED has come to S_WATCH_LIMIT.
    """
    watched = address(store[at.S_WATCHED])
    limit = store[at.S_WATCH_LIMIT]
    while pending(store) > 0 and store[at.S_ERROR] == at.OK and store[watched] < limit:
        now = store[at.S_CYCLE]
        if now > store[at.S_LIMIT]:
            fail(store, at.ERROR_LIMIT, -1, -1, now)
            return
        count = 0
        if store[at.S_LISTED + (now & 1)] > 0 or store[at.WHEEL_AT + (now & (at.WHEEL - 1))] >= 0:
            free_words = store.size - store[at.S_EVENT] - store[at.S_EVENTS] * at.V_WIDTH
            if store[at.S_RECORD] == 1 and free_words < store[at.S_MARGIN] * at.V_WIDTH:
                store[at.S_ERROR] = at.EVENTS_FULL
                return
            count = collect(store, now)
        if count > 0:
            store[at.S_VISITS] += count
            if store[at.S_SHUFFLE] != 0:
                shuffle(store, count)
            visit_all(store, memory, count)
            if store[at.S_ERROR] != at.OK:
                return
        store[at.S_CYCLE] = now + 1
