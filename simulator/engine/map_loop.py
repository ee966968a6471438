"""`@map`: a callback per element, whose arguments and result are elements of descriptors.

The main thread runs it as a loop: take a value of every input, run the callback's instructions,
give the result to the output. It ends when an operand has no elements left; what was taken
before that from the others is lost.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.jit import What, inner_kernel
from tilewright.simulator.engine.operations import fail, record
from tilewright.simulator.engine.special_operations import (
    put_special,
    queue_waits,
    save_positions,
    take_special,
)
from tilewright.simulator.engine.special_start import length_of, load_operand_rows
from tilewright.simulator.run.trace import BUSY


@inner_kernel
def thread_of(store: Table, e: int, op: int) -> Word:
    """Return the thread row of a map: the main thread's, or that of its further inputs."""
    return store[e + at.E_THREADS] + store[op + at.O_THREAD] * at.T_WIDTH


@inner_kernel
def map_start(store: Table, memory: Memory, e: int, op: int) -> None:
    """Load the operands of a map, or of two further inputs of it."""
    thread = thread_of(store, e, op)
    store[thread + at.T_OP] = op
    store[thread + at.T_SINGLE] = 1
    if not load_operand_rows(store, memory, (e, thread), op):
        return
    queues = store[thread + at.T_QUEUES]
    if store[e + at.E_QUEUES_BUSY] & queues:
        fail(store, at.ERROR_QUEUE_BUSY, e, op, store[e + at.E_QUEUES_BUSY] & queues)
        return
    for which in range(3):
        row = store[thread + at.T_ROWS + which]
        if row >= 0:
            length = length_of(store, thread, which)
            if length == at.ENDLESS and store[row + at.D_KIND] != at.MEMORY:
                length = -1  # counts nothing down
            store[thread + at.T_LENGTHS + which] = length
    if store[op + at.O_POINTER] == 1:
        store[thread + at.T_LENGTHS] = -1
    store[thread + at.T_STATE] = at.MAPPING
    store[thread + at.T_EXTENT] = 0
    store[thread + at.T_LEFT] = 0
    store[thread + at.T_START] = store[at.S_CYCLE]
    store[e + at.E_RUNNING] += 1
    store[e + at.E_QUEUES_BUSY] |= queues
    store[store[e + at.E_RUNS] + store[op + at.O_RUNS]] += 1


@inner_kernel
def operand_waits(store: Table, where: tuple[int, int, int], now: int) -> Word:
    """Return BUSY if an operand is ready, else what it waits for."""
    e, thread, which = where
    row = store[thread + at.T_ROWS + which]
    if store[row + at.D_KIND] not in (at.FABRIC_IN, at.FABRIC_OUT):
        return BUSY
    queue = store[thread + at.T_POSITIONS + which]
    return queue_waits(store, (e, row, queue), now)


@inner_kernel
def map_read(store: Table, memory: Memory, where: tuple[int, int], now: int) -> Word:
    """Take the callback's arguments; return BUSY, a WAIT_..., or -1 at the end of the map.

    A wait is repeated from the first argument that is not there yet (T_EXTENT counts them).
    where = (element, address of the map's row).
    """
    e, op = where
    thread = thread_of(store, e, op)
    for which in range(1, 3):
        if store[thread + at.T_ROWS + which] < 0 or store[thread + at.T_EXTENT] >= which:
            continue
        if store[thread + at.T_LENGTHS + which] == 0:
            return -1
        mood = operand_waits(store, (e, thread, which), now)
        if mood != BUSY:
            return mood
        bits = take_special(store, memory, (e, thread, which), now)
        if store[thread + at.T_LENGTHS + which] > 0:
            store[thread + at.T_LENGTHS + which] -= 1
        store[thread + at.T_EXTENT] = which
        size = store[op + at.O_MAP_BITS + which]
        bits &= (1 << abs(size)) - 1
        if size < 0 and bits >> (-size - 1):
            bits -= 1 << -size
        store[store[e + at.E_VARIABLES] + store[op + at.O_MAP + which]] = bits
    store[thread + at.T_EXTENT] = 0
    if store[thread + at.T_ROWS] >= 0 and store[thread + at.T_LENGTHS] == 0:
        return -1
    return BUSY


@inner_kernel
def map_write(store: Table, memory: Memory, e: int, now: int) -> Word:
    """Give the callback's result to the output; return BUSY or a WAIT_..."""
    thread = store[e + at.E_THREADS]
    op = store[thread + at.T_OP]
    store[store[e + at.E_RUNS] + store[op + at.O_NUMBER]] += 1
    if store[thread + at.T_ROWS] < 0:
        return BUSY
    mood = operand_waits(store, (e, thread, 0), now)
    if mood != BUSY:
        store[store[e + at.E_RUNS] + store[op + at.O_NUMBER]] -= 1
        return mood
    value = store[store[e + at.E_VARIABLES] + store[op + at.O_MAP]]
    bits = value & ((1 << abs(store[op + at.O_MAP_BITS])) - 1)
    if store[thread + at.T_LENGTHS] > 0:
        store[thread + at.T_LENGTHS] -= 1
    store[thread + at.T_LEFT] = store[thread + at.T_LENGTHS] + 1
    put_special(store, memory, (e, thread, 0), (bits, now))
    return BUSY


@inner_kernel
def map_end(store: Table, e: int, op: int, now: int) -> None:
    """Free what a map used."""
    thread = thread_of(store, e, op)
    save_positions(store, e, thread, 1)
    store[thread + at.T_STATE] = at.FREE
    store[e + at.E_RUNNING] -= 1
    store[e + at.E_QUEUES_BUSY] &= ~store[thread + at.T_QUEUES]
    if store[op + at.O_THREAD] == 0:
        record(store, e, op, store[thread + at.T_START], now + 1)


@inner_kernel
def map_step(store: Table, memory: Memory, what: What) -> Word:
    """Do the map instruction at the program counter; return 0 when it waits, else 1.

    what = (element, cycle, -, -).
    """
    e, now, _, _ = what
    pc = store[e + at.E_PC]
    store[e + at.E_PC] = pc + at.I_WIDTH
    store[e + at.E_STATE] = at.M_READY
    store[e + at.E_UNTIL] = now + store[at.K_SCALAR]
    op = store[pc + 1]
    first = store[op + at.O_THREAD] == 0
    if store[pc] == at.I_MAP_START:
        map_start(store, memory, e, op)
        store[e + at.E_UNTIL] = now + max(1, store[op + at.O_LOAD])
        return 1
    if store[pc] == at.I_MAP_END:
        map_end(store, e, op, now)
        store[e + at.E_UNTIL] = now + (store[at.K_SCALAR] if first else 0)
        return 1
    reads = store[pc] == at.I_MAP_READ
    mood = map_read(store, memory, (e, op), now) if reads else map_write(store, memory, e, now)
    if mood == -1 or (mood == BUSY and not reads):
        store[e + at.E_PC] = store[pc + 3]
    elif mood == BUSY:
        store[e + at.E_UNTIL] = now + (store[at.K_MAP] if first else 0)
    else:
        store[e + at.E_PC] = pc
        store[e + at.E_STATE] = at.M_MAP
        store[store[e + at.E_THREADS] + at.T_CYCLE_STATE] = mood
        return 0
    return 1
