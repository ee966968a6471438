"""Values of special operations: taken from wavelets, FIFOs, circular buffers, and put there."""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.fabric import pop, push
from tilewright.simulator.engine.jit import inner_kernel
from tilewright.simulator.engine.operation_steps import fail
from tilewright.simulator.engine.values.datapath import start_walk, step_position
from tilewright.simulator.engine.values.memory_words import read_word, write_word
from tilewright.simulator.engine.values.places import OperandPlace, ThreadPlace


@inner_kernel
def fifo_push(store: Table, memory: Memory, element: int, fifo: int, bits: int) -> None:
    """Append a value to a FIFO in a processing element's memory, which must have space.

    element, fifo: addresses; bits: of the value. Activates the FIFO's task that waits for enough
    values, once they are there.
    """
    tail = store[fifo + at.Q_HEAD] + store[fifo + at.Q_COUNT]
    if tail >= store[fifo + at.Q_CAP]:
        tail -= store[fifo + at.Q_CAP]
    wide = store[fifo + at.Q_WIDE]
    write_word(memory, store[fifo + at.Q_BASE] + tail * wide, wide, bits)
    store[fifo + at.Q_COUNT] += 1
    needed = store[fifo + at.Q_EMPTY]
    if needed > 0 and store[fifo + at.Q_COUNT] >= needed:
        store[fifo + at.Q_EMPTY] = 0
        if store[fifo + at.Q_PUSH_TASK] >= 0:
            store[element + at.E_ACTIVE] |= 1 << store[fifo + at.Q_PUSH_TASK]


@inner_kernel
def fifo_pop(store: Table, memory: Memory, element: int, fifo: int) -> Word:
    """Take the oldest value of a FIFO in a processing element's memory; return its bits.

    It must not be empty. Activates the FIFO's task that waits for space, once there is enough.
    """
    wide = store[fifo + at.Q_WIDE]
    head = store[fifo + at.Q_HEAD]
    bits = read_word(memory, store[fifo + at.Q_BASE] + head * wide, wide)
    store[fifo + at.Q_HEAD] = head + 1 if head + 1 < store[fifo + at.Q_CAP] else 0
    store[fifo + at.Q_COUNT] -= 1
    needed = store[fifo + at.Q_FULL]
    if needed > 0 and store[fifo + at.Q_CAP] - store[fifo + at.Q_COUNT] >= needed:
        store[fifo + at.Q_FULL] = 0
        if store[fifo + at.Q_POP_TASK] >= 0:
            store[element + at.E_ACTIVE] |= 1 << store[fifo + at.Q_POP_TASK]
    return bits


@inner_kernel
def step_special(store: Table, thread: int, operand: int) -> None:
    """Move a memory operand of a thread to its next value; a circular buffer wraps around.

    thread: its address; operand: 0 is the destination, 1 and 2 are the sources.
    """
    row = store[thread + at.T_ROWS + operand]
    column = thread + at.T_POSITIONS + operand
    if store[row + at.D_STRIDE_ROW] >= 0:
        store[column] += store[thread + at.T_STRIDE + operand]
        return
    step_position(store, column, row)
    wrap = store[row + at.D_WRAP]
    if wrap > 0:
        # a one-dimensional operand uses no counters: the first one keeps the ring offset
        ring_offset = column + at.COUNTERS
        store[ring_offset] += store[row + at.D_STRIDE]
        if store[ring_offset] >= wrap:
            store[column] -= wrap
            store[ring_offset] -= wrap


@inner_kernel
def marked(payload: int) -> Word:
    """Return a wavelet's lower 30 bits; the two upper bits are set for a control wavelet.

    So a program can see, in a 32-bit value, which wavelets were control ones.
    """
    return (payload & 0x3FFFFFFF) | (0xC0000000 if payload & at.IS_CONTROL else 0)


@inner_kernel
def take_special(store: Table, memory: Memory, place: OperandPlace, now: int) -> Word:
    """Take the next value of a source: of a queue, a FIFO in memory, or memory; return its bits.

    place: addresses of element and thread, and which operand; now: the cycle. The value must be
    there.
    """
    element, thread, operand = place
    row = store[thread + at.T_ROWS + operand]
    position = store[thread + at.T_POSITIONS + operand]
    kind = store[row + at.D_KIND]
    if kind == at.FABRIC_IN:
        payload = pop(store, position, now)
        if store[row + at.D_FLAGS] & at.TRANSFORMS:
            if payload >> 30 & 0xFFFF:  # commands of a control wavelet too
                fail(
                    store, at.ERROR_TOP_BITS, element, store[thread + at.T_OP], payload & 0xFFFFFFFF
                )
            return marked(payload)
        return payload & 0xFFFFFFFF
    store[row + at.D_READS] += 1
    if kind == at.POOL:
        return fifo_pop(store, memory, element, position)
    bits = read_word(memory, position, store[row + at.D_WIDE])
    step_special(store, thread, operand)
    return bits


@inner_kernel
def wavelet_of(store: Table, thread: int, bits: int) -> Word:
    """Return the wavelet that a thread's output sends for a value.

    By the output's descriptor it carries an index in its upper 16 bits, is a control wavelet, or
    makes the first router advance its switch (the last value only). thread: address; bits: of the
    value.
    """
    flags = store[store[thread + at.T_ROWS] + at.D_FLAGS]
    if flags & at.INDEXED:
        bits = (bits & 0xFFFF) | (store[thread + at.T_INDEX] & 0xFFFF) << 16
    if flags & at.SENDS_CONTROL:
        bits |= at.IS_CONTROL
    elif flags & at.TRANSFORMS:
        control = bits >> 30 & 3 == 3
        bits = bits & 0x3FFFFFFF | (at.IS_CONTROL if control else 0)
    if flags & at.ADVANCES and store[thread + at.T_LEFT] == 1:
        bits |= at.LAST_ADVANCES
    return bits


@inner_kernel
def put_special(store: Table, memory: Memory, place: ThreadPlace, bits: int, now: int) -> None:
    """Give a value to a thread's destination: send it, push it to a FIFO, or write it to memory.

    place: addresses of element and thread; bits: of the value; now: the cycle. The queue or FIFO
    must have space.
    """
    element, thread = place
    row = store[thread + at.T_ROWS]
    position = store[thread + at.T_POSITIONS]
    kind = store[row + at.D_KIND]
    if kind == at.FABRIC_OUT:
        if store[row + at.D_FLAGS] & at.TRANSFORMS and bits >> 30 & 3 in (1, 2):
            fail(store, at.ERROR_TOP_BITS, element, store[thread + at.T_OP], bits & 0xFFFFFFFF)
        push(store, position, wavelet_of(store, thread, bits), now)
        return
    store[row + at.D_WRITES] += 1
    if kind == at.POOL:
        fifo_push(store, memory, element, position, bits)
    else:
        write_word(memory, position, store[row + at.D_WIDE], bits)
        step_special(store, thread, 0)


@inner_kernel
def clear_source(store: Table, memory: Memory, thread: int) -> None:
    """Set to zero the memory vector of one source of an operation, if its output asks for it.

    The output's descriptor names the source by its field `zero`. thread: address.
    """
    operand = store[store[thread + at.T_OP] + at.O_ZERO]
    row = store[thread + at.T_ROWS + operand]
    if operand == 0 or row < 0 or store[row + at.D_KIND] != at.MEMORY:
        return
    column = thread + at.T_POSITIONS + operand
    start_walk(store, column, store[thread + at.T_ORIGIN + operand])
    store[column + at.COUNTERS] = store[thread + at.T_RING_OFFSET + operand]
    store[row + at.D_WRITES] += store[thread + at.T_EXTENT]
    for _ in range(store[thread + at.T_EXTENT]):
        write_word(memory, store[column], store[row + at.D_WIDE], 0)
        step_special(store, thread, operand)


@inner_kernel
def add_carry(store: Table, thread: int, a: int, b: int) -> Word:
    """Return the lower 16 bits of a + b + the carry of the last values; keep the new carry.

    thread: address of the thread, which keeps it; an operation starts with carry 0.
    """
    total = (a & 0xFFFF) + (b & 0xFFFF) + store[thread + at.T_CARRY]
    store[thread + at.T_CARRY] = total >> 16
    return total & 0xFFFF


@inner_kernel
def drop_wavelet(store: Table, element: int, thread: int, now: int) -> None:
    """Remove a wavelet from an operation's input queue; only control wavelets count.

    The operation drops wavelets until as many control wavelets have come as its length says.
    """
    payload = pop(store, store[thread + at.T_POSITIONS + 1], now)
    if payload & at.IS_CONTROL:
        op = store[thread + at.T_OP]
        store[store[element + at.E_RUNS] + store[op + at.O_NUMBER]] += 1
        store[thread + at.T_LEFT] -= 1
