"""Rare instructions: scalars, wavelet arguments, FIFO lengths, registers; routers, queues, threads.

`special_control` holds the first group. `change_fabric` holds instructions that change what
surrounds an element; it is compiled only for programs that have them.
"""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.fabric import schedule
from tilewright.simulator.engine.jit import FeatureArguments, inner_kernel, part_kernel, use
from tilewright.simulator.engine.operation_steps import fail, start_of
from tilewright.simulator.engine.values.scalar import compute


@inner_kernel
def load_register(store: Table, element: int, row: int) -> None:
    """Load a descriptor into a data-structure register of a processing element.

    row: address of the load, which says which register gets which descriptor, with the settings of
    the load. Extended and stride registers that it names belong to the register from now on.
    """
    register = store[element + at.E_REGISTERS] + store[row + at.L_REGISTER] * at.R_WIDTH
    operand = store[row + at.L_ROW]
    position = start_of(store, element, operand)
    if position < 0:
        return
    store[register + at.R_ROW] = operand
    store[register + at.R_POSITION] = position
    store[register + at.R_RING_OFFSET] = 0
    for i in range(at.R_WIDTH - at.R_ASYNC):
        store[register + at.R_ASYNC + i] = store[row + at.L_SETTINGS + i]
    for i in range(at.R_WIDTH - at.R_EXTRAS):
        extra = store[register + at.R_EXTRAS + i] - 1
        if extra >= 0:
            owner = store[element + at.E_REGISTERS] + extra * at.R_WIDTH
            store[owner + at.R_ROW] = store[row + at.L_REGISTER] + 1


@part_kernel
def set_fifo_length(store: Table, element: int, pc: int) -> None:
    """Set the read or write length of a FIFO in memory to a number, or to the value of a counter.

    pc: address of the instruction, whose length is -1 - number of the counter. A counter that is no
    u16 is an error of the run.
    """
    length = store[pc + 3]
    if length < 0:
        length = store[store[element + at.E_VARIABLES] - 1 - length]
        if length < 0 or length > 0xFFFF:
            fail(store, at.ERROR_FIFO_LENGTH, element, pc, length)
            return
    pool = store[element + at.E_POOLS] + store[pc + 1] * at.Q_WIDTH
    store[pool + store[pc + 2]] = length


@inner_kernel
def special_control(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:
    """Do an instruction on scalars, wavelet arguments, FIFO lengths, registers or the fabric.

    `arguments` are (address of the element, of the instruction, 0, 0). Returns its cycles.
    """
    element, pc, _, _ = arguments
    code = store[pc]
    if code == at.I_COMPUTE:
        if store[element + at.E_RUNNING] > 0 and store[at.S_FEATURES + at.FEATURE_SCALAR_RACES]:
            use(store, memory, at.FEATURE_SCALAR_RACES, (element, store[pc + 1], 0, 0))
        if store[at.S_WRITTEN] != 0:
            use(store, memory, at.FEATURE_SCALAR_UNWRITTEN, (element, store[pc + 1], 0, 0))
        return compute(store, memory, element, store[pc + 1])
    if code == at.I_SET_LENGTH:
        set_fifo_length(store, element, pc)
        return store[at.K_COUNTER]
    if code == at.I_LOAD_REGISTER:
        load_register(store, element, store[pc + 1])
        return store[at.K_DESCRIPTOR]
    if code >= at.I_END_TEARDOWN:
        return use(store, memory, at.FEATURE_FABRIC, arguments)
    shift, bits = store[pc + 2], store[pc + 3]
    value = (store[element + at.E_ARGUMENT] >> shift) & ((1 << abs(bits)) - 1)
    if bits < 0 and value >> (-bits - 1):
        value -= 1 << -bits
    store[store[element + at.E_VARIABLES] + store[pc + 1]] = value
    return 0


@inner_kernel
def torn_state(store: Table, element: int, pc: int) -> Word:
    """Return the address of the router's state of an instruction's color, which must be torn down.

    A teardown stops a color at a router, to be configured anew. -1, and an error of the run, if the
    color is not torn down there. pc: address of the instruction.
    """
    state = store[element + at.E_ROUTER]
    while state > 0 and store[state + at.X_COLOR] != store[pc + 1]:
        state = store[state + at.X_NEXT]
    if state > 0 and store[state + at.X_TORN] == 1:
        return state
    fail(store, at.ERROR_NO_TEARDOWN, element, pc, store[pc + 1])
    return -1


@inner_kernel
def end_teardown(store: Table, element: int, pc: int) -> Word:
    """Let a torn-down color flow again at the element's router; return the instruction's cycles.

    The instruction may set the switch position; one that the route does not have is an error.
    """
    now, position = store[at.S_CYCLE], store[pc + 2]
    state = torn_state(store, element, pc)
    if state < 0:
        return 0
    if position >= 0 and store[state + at.X_VALID] >> position & 1 == 0:
        fail(store, at.ERROR_POSITION, element, pc, position)
        return 0
    store[state + at.X_TORN] = 0
    if position >= 0:
        store[state + at.X_POSITION] = store[state + at.X_BEFORE] = position
    for i in range(5):
        if store[state + at.X_FIFOS + i] >= 0:
            schedule(store, store[state + at.X_FIFOS + i], now + 1)
    return store[at.K_CONTROL]


@inner_kernel
def reconfigure(store: Table, element: int, pc: int) -> Word:
    """Give a torn-down color another route, switch and filter; return the instruction's cycles.

    A torn-down color is stopped at the router until it is configured anew. element, pc: addresses
    of the processing element and of the instruction. A color that is not torn down is an error of
    the run.
    """
    state = torn_state(store, element, pc)
    if state < 0:
        return 0
    change = store[state + at.X_CHANGES] + store[pc + 2] * at.C_WIDTH
    for column in range(at.X_POSITION, at.C_MASKS):
        if column < at.X_FIFOS or column >= at.X_FILTER:
            store[state + column] = store[change + column]
    for group in range(5):
        fifo = store[state + at.X_FIFOS + group]
        if fifo < 0:
            continue
        way = store[fifo + at.F_WAY]
        for position in range(4):
            mask = store[change + at.C_MASKS + 4 * group + position]
            for rank in range(5):
                copy_of = store[way + at.W_COPIES] >> 4 * rank & 15
                if copy_of > 0 and mask >> (copy_of - 1) & 1:
                    mask |= 1 << rank
            store[way + at.W_MASKS + position] = mask
    return store[at.K_CONTROL]


@inner_kernel
def bind_queue(store: Table, element: int, pc: int) -> Word:
    """Bind a queue of a processing element to another color; return the instruction's cycles.

    element, pc: addresses of the processing element and of the instruction. A queue that holds
    words, or that an operation uses, is an error of the run.
    """
    slot, row = store[pc + 1], store[element + at.E_BOUND] + store[pc + 2] * at.B_WIDTH
    before, after = store[element + at.E_QUEUES + slot], store[row + at.B_FIFO]
    words = store[before + at.F_COUNT]
    if words > 0 or store[element + at.E_QUEUES_BUSY] >> slot & 1:
        fail(store, at.ERROR_BIND, element, slot, words)
        return 0
    store[element + at.E_QUEUES + slot] = after
    if slot < at.OUTPUT_SLOT:  # words of a color without a queue stay in the router
        store[before + at.F_CAP] = 0
        store[after + at.F_CAP] = store[row + at.B_CAP]
        if store[after + at.F_WAITER] >= 0:
            schedule(store, store[after + at.F_WAITER], store[at.S_CYCLE] + 1)
            store[after + at.F_WAITER] = -1
    return store[at.K_CONTROL]


@inner_kernel
def pause(store: Table, element: int, pc: int) -> Word:
    """Block or unblock a microthread of a processing element; return the instruction's cycles.

    A running operation pauses, and goes on in the next cycle when it is unblocked. element, pc:
    addresses of the processing element and of the instruction.
    """
    thread = store[element + at.E_THREADS] + store[pc + 1] * at.T_WIDTH
    blocks = store[pc + 2]
    store[thread + at.T_BLOCKED] = blocks
    if store[thread + at.T_STATE] == (at.RUNNING if blocks else at.PAUSED):
        store[thread + at.T_STATE] = at.PAUSED if blocks else at.RUNNING
        schedule(store, element, store[at.S_CYCLE] + 1)
    return store[at.K_CONTROL]


@inner_kernel
def change_fabric(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:  # noqa: ARG001
    """Do an instruction on routers, queues or microthreads; return its cycles.

    It ends a teardown, reconfigures a color, binds a queue, pauses a microthread, or lets a task
    wait until a queue is empty. `arguments` are (address of the processing element, of the
    instruction, 0, 0).
    """
    element, pc, _, _ = arguments
    code = store[pc]
    if code == at.I_END_TEARDOWN:
        return end_teardown(store, element, pc)
    if code == at.I_RECONFIGURE:
        return reconfigure(store, element, pc)
    if code == at.I_BIND:
        return bind_queue(store, element, pc)
    if code == at.I_PAUSE:
        return pause(store, element, pc)
    store[element + at.E_LISTEN] |= 1 << (at.FLUSHED + store[pc + 1])
    return store[at.K_CONTROL]
