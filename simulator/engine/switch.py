"""Router buffers with switches and filters, and the commands of control wavelets.

A control wavelet is routed with the position that it finds; the position changes behind it, from
the next cycle on (wafer.md §5.3, topics 06 and 07).
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.fabric import (
    await_space,
    has_space,
    head_ready,
    leads,
    pop,
    push,
    schedule,
)
from tilewright.simulator.engine.jit import FeatureArguments, address, inner_kernel


@inner_kernel
def position_at(store: Table, state: int, now: int) -> Word:
    """Return the position (0 to 3) of a router's switch in cycle `now`.

    state: address of the state of the router for one color. A change holds from the next cycle on.
    """
    if now >= store[state + at.X_SINCE]:
        return store[state + at.X_POSITION]
    return store[state + at.X_BEFORE]


@inner_kernel
def next_count(store: Table, state: int) -> Word:
    """Return the count that a router's counter filter compares for the next wavelet.

    state: address of the state of the router for one color. An inclusive filter compares the
    wavelets counted so far, any other this number plus 1.
    """
    limit = store[state + at.X_LIMIT + store[state + at.X_TURN]]
    count = store[state + at.X_COUNT]
    if store[state + at.X_INCLUSIVE] == 1:
        return count if count <= limit else 0
    return count + 1


@inner_kernel
def rejects(store: Table, state: int, payload: int) -> Word:
    """Return whether a router's filter keeps a wavelet from the element.

    state: address of the state of the router for one color; payload: the wavelet's bits. A range
    filter looks at its index, a counter filter at how many have come.
    """
    kind = store[state + at.X_FILTER]
    if kind == at.NO_FILTER or store[state + at.X_TURN] == at.DISABLED:
        return False
    control = payload & at.IS_CONTROL != 0
    if kind == at.RANGE:
        index = (payload >> at.ENTRY_AT) & 0xFFFF
        inside = store[state + at.X_LOW] <= index <= store[state + at.X_HIGH]
        return not control and not inside
    if store[state + at.X_CONTROL_ONLY] == 1:
        return not control or next_count(store, state) != store[state + at.X_MOST]
    mask = at.COUNTS_CONTROL if control else at.COUNTS_DATA
    if store[state + at.X_COUNTS] & mask == 0:
        return False
    return next_count(store, state) > store[state + at.X_MOST]


@inner_kernel
def count_wavelet(store: Table, state: int, payload: int) -> None:
    """Count a wavelet that moves in a router's counter filter; at its limit the counter restarts.

    A sparse counter goes to its second limit, if any, and then stops to filter.
    """
    kind = store[state + at.X_FILTER]
    mask = at.COUNTS_CONTROL if payload & at.IS_CONTROL else at.COUNTS_DATA
    if kind in (at.NO_FILTER, at.RANGE) or store[state + at.X_COUNTS] & mask == 0:
        return
    if store[state + at.X_TURN] == at.DISABLED:
        return
    shown = next_count(store, state)
    limit = store[state + at.X_LIMIT + store[state + at.X_TURN]]
    inclusive = store[state + at.X_INCLUSIVE]
    store[state + at.X_COUNT] = shown + inclusive
    if shown >= limit:
        store[state + at.X_COUNT] = 0
        if kind == at.SPARSE_COUNTER:
            has_second = store[state + at.X_TURN] == 0 and store[state + at.X_LIMIT + 1] > 0
            store[state + at.X_TURN] = 1 if has_second else at.DISABLED


@inner_kernel
def targets_of(store: Table, queue: int, now: int) -> Word:
    """Return where the head of a steered router buffer goes now: a bit per FIFO that it feeds.

    -1: it waits, since the switch position does not take from this side, or the color is torn down.
    0: it is dropped, since it would go to the element only, and a filter or its own command keeps
    it from there. queue: address of the buffer's FIFO.
    """
    way = address(store[queue + at.F_WAY])
    state = address(store[way + at.W_STATE])
    mask = store[way + at.W_MASKS + position_at(store, state, now)]
    if mask & at.ACCEPTS == 0 or store[state + at.X_TORN] == 1:
        return -1
    mask &= ~at.ACCEPTS
    ramp = store[way + at.W_RAMP]
    if mask & ramp:
        payload = store[address(store[queue + at.F_RING] + 2 * store[queue + at.F_HEAD] + 1)]
        ignored = payload >> (at.COMMAND_AT) & at.IGNORE_CE and payload & at.IS_CONTROL
        if ignored or rejects(store, state, payload):
            mask &= ~ramp
    return mask


@inner_kernel
def turn_switch(store: Table, state: int, command: int, now: int) -> Word:
    """Move a router's switch by a command; return whether its position changed.

    command: SWITCH_ADVANCE (to the next valid position; from the last one back to 0 in a ring) or
    SWITCH_RESET (to 0). It holds from the next cycle on, when waiting buffers are visited.
    """
    before = position_at(store, state, now)
    valid = store[state + at.X_VALID]
    if command == at.SWITCH_RESET:
        after = 0
    elif valid >> (before + 1) & 1:
        after = before + 1
    else:
        after = 0 if store[state + at.X_RING] == 1 else before
    store[state + at.X_BEFORE] = before
    store[state + at.X_POSITION] = after
    store[state + at.X_SINCE] = now + 1
    for i in range(5):
        fifo = store[state + at.X_FIFOS + i]
        if fifo >= 0:
            schedule(store, fifo, now + 1)
    return after != before


@inner_kernel
def do_command(store: Table, state: int, payload: int, now: int) -> Word:
    """Do the first command of a control wavelet at a router; return the wavelet to send on.

    The commands advance or reset the switch, or tear the color down. By the router's pop mode the
    command is removed from the wavelet, so that the next router does the next one (wafer.md §5.3).
    """
    command = (payload >> at.COMMAND_AT) & 3
    advances = False
    if command in (at.SWITCH_ADVANCE, at.SWITCH_RESET):
        advances = turn_switch(store, state, command, now) and command == at.SWITCH_ADVANCE
    elif command == at.TEARDOWN:
        store[state + at.X_TORN] = 1
        if store[state + at.X_HANDLER] >= 0:
            element = store[state + at.X_ELEMENT]
            store[element + at.E_ACTIVE] |= 1 << store[state + at.X_HANDLER]
            schedule(store, element, now + 1)
    mode = store[state + at.X_POP]
    popped = mode == at.ALWAYS_POP
    popped = popped or (mode == at.POP_ON_ADVANCE and advances)
    popped = popped or (mode == at.POP_ON_ADVANCE_NOP and (advances or command == at.NOP))
    if not popped:
        return payload
    remaining = (payload & at.COMMANDS) >> at.COMMAND_BITS
    return (payload & ~at.COMMANDS) | (remaining & at.COMMANDS)


@inner_kernel
def move_way(store: Table, queue: int, now: int) -> None:
    """Move the head of a steered router buffer to its targets; then let it turn switch and filter.

    Two words that arrive at one FIFO in the same cycle are an error of the run.
    """
    queue = address(queue)
    way = address(store[queue + at.F_WAY])
    state = address(store[way + at.W_STATE])
    targets = store[way + at.W_TARGETS]
    position = position_at(store, state, now)
    payload = pop(store, queue, now)
    if store[way + at.W_MASKS + position] & store[way + at.W_RAMP]:
        count_wavelet(store, state, payload)
    sent = payload & ~at.LAST_ADVANCES
    if payload & at.LAST_ADVANCES:
        turn_switch(store, state, at.SWITCH_ADVANCE, now)
    if payload & at.IS_CONTROL:
        sent = do_command(store, state, sent, now)
    for i in range(store[queue + at.F_SUCCESSORS]):
        if targets >> i & 1 == 0:
            continue
        target = address(store[queue + at.F_NEXT + i])
        if store[target + at.F_PUSHED] == now and store[at.S_ERROR] == at.OK:
            store[at.S_ERROR] = at.ERROR_TWO_ARRIVALS
            store[at.S_ERROR_ELEMENT] = queue
            store[at.S_ERROR_ROW] = target
        store[target + at.F_PUSHED] = now
        store[way + at.W_SENT + i] += 1
        push(store, target, sent, now)
    if store[queue + at.F_COUNT] > 0:
        schedule(store, queue, max(now + 1, head_ready(store, queue)))


@inner_kernel
def visit_way(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:  # noqa: ARG001
    """Move the head of a steered router buffer if it can move; return 1 if it bids for links.

    Steered: a switch, filter or command decides where it goes. It bids if a link is used by other
    FIFOs, too. `arguments` are (address of the FIFO, cycle, 0, 0).
    """
    queue, now = address(arguments[0]), arguments[1]
    if store[queue + at.F_COUNT] == 0:
        return 0
    ready = head_ready(store, queue)
    if ready > now:
        schedule(store, queue, ready)
        return 0
    targets = targets_of(store, queue, now)
    if targets < 0:
        return 0
    for i in range(store[queue + at.F_SUCCESSORS]):
        target = address(store[queue + at.F_NEXT + i])
        if targets >> i & 1 and not has_space(store, target, now):
            await_space(store, target, queue, now)
            return 0
    store[address(store[queue + at.F_WAY]) + at.W_TARGETS] = targets
    if store[queue + at.F_SHARED] & at.SHARES == 0:
        move_way(store, queue, now)
        return 0
    for i in range(store[queue + at.F_SUCCESSORS]):
        link = store[queue + at.F_LINK + i]
        if targets >> i & 1 and leads(store, queue, link, now):
            store[link] = now
            store[link + 1] = queue
    return 1


@inner_kernel
def settle_way(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:  # noqa: ARG001
    """Move the head of a steered router buffer that won all its links; else let it bid again.

    Steered: a switch, filter or command decides where it goes. `arguments` are (address of the
    FIFO, cycle, 0, 0). Returns 0.
    """
    queue, now, _, _ = arguments
    targets = store[address(store[queue + at.F_WAY]) + at.W_TARGETS]
    for i in range(store[queue + at.F_SUCCESSORS]):
        link = store[queue + at.F_LINK + i]
        if targets >> i & 1 and store[link + 1] != queue:
            schedule(store, queue, now + 1)
            return 0
    move_way(store, queue, now)
    return 0
