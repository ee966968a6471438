"""Instructions that few programs have: scalars, arguments of wavelets, FIFO lengths, registers."""

from __future__ import annotations

from tilewright.simulator.engine import layout as at
from tilewright.simulator.engine.fabric import schedule
from tilewright.simulator.engine.indirect import What
from tilewright.simulator.engine.jit import inner_kernel
from tilewright.simulator.engine.layout import Memory, Table, Word
from tilewright.simulator.engine.scalar import compute
from tilewright.simulator.engine.task import fail, start_of


@inner_kernel
def load_register(store: Table, e: int, row: int) -> None:
    """Load a descriptor into a register."""
    register = store[e + at.E_REGISTERS] + store[row + at.L_REGISTER] * at.R_WIDTH
    operand = store[row + at.L_ROW]
    position = start_of(store, e, operand)
    if position < 0:
        return
    store[register + at.R_ROW] = operand
    store[register + at.R_POSITION] = position
    for i in range(at.R_WIDTH - at.R_ASYNC):
        store[register + at.R_ASYNC + i] = store[row + at.L_SETTINGS + i]


@inner_kernel
def end_teardown(store: Table, e: int, pc: int) -> Word:
    """Let a color move again at the element's router; return the cycles of the instruction."""
    now = store[at.S_CYCLE]
    color, position = store[pc + 1], store[pc + 2]
    for state in range(store[at.S_STATES], store[at.S_STATES_END], at.X_WIDTH):
        if store[state + at.X_ELEMENT] != e or store[state + at.X_COLOR] != color:
            continue
        valid = position < 0 or store[state + at.X_VALID] >> max(position, 0) & 1
        if store[state + at.X_TORN] == 0 or not valid:
            break
        store[state + at.X_TORN] = 0
        if position >= 0:
            store[state + at.X_POSITION] = store[state + at.X_BEFORE] = position
        for i in range(5):
            if store[state + at.X_FIFOS + i] >= 0:
                schedule(store, store[state + at.X_FIFOS + i], now + 1)
        return store[at.K_CONTROL]
    fail(store, at.ERROR_NO_TEARDOWN, e, pc, color)
    return 0


@inner_kernel
def special_control(store: Table, memory: Memory, what: What) -> Word:
    """Do a scalar instruction, or one on arguments, FIFO lengths or registers.

    what = (element, address of the instruction, -, -). Returns its cycles.
    """
    e, pc, _, _ = what
    code = store[pc]
    if code == at.I_COMPUTE:
        compute(store, memory, e, store[pc + 1])
        return store[at.K_SCALAR]
    if code == at.I_SET_LENGTH:
        pool = store[e + at.E_POOLS] + store[pc + 1] * at.Q_WIDTH
        store[pool + store[pc + 2]] = store[pc + 3]
        return store[at.K_COUNTER]
    if code == at.I_LOAD_REGISTER:
        load_register(store, e, store[pc + 1])
        return store[at.K_DESCRIPTOR]
    if code == at.I_END_TEARDOWN:
        return end_teardown(store, e, pc)
    shift, bits = store[pc + 2], store[pc + 3]
    value = (store[e + at.E_ARGUMENT] >> shift) & ((1 << abs(bits)) - 1)
    if bits < 0 and value >> (-bits - 1):
        value -= 1 << -bits
    store[store[e + at.E_VARIABLES] + store[pc + 1]] = value
    return 0
