"""Instructions that few programs have: scalars, arguments of wavelets, FIFO lengths, registers."""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.indirect import What, use
from tilewright.simulator.engine.jit import inner_kernel
from tilewright.simulator.engine.scalar import compute
from tilewright.simulator.engine.shared_state import start_of


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
    store[register + at.R_RING_OFFSET] = 0
    for i in range(at.R_WIDTH - at.R_ASYNC):
        store[register + at.R_ASYNC + i] = store[row + at.L_SETTINGS + i]
    for i in range(at.R_WIDTH - at.R_EXTRAS):
        extra = store[register + at.R_EXTRAS + i] - 1
        if extra >= 0:
            owner = store[e + at.E_REGISTERS] + extra * at.R_WIDTH
            store[owner + at.R_ROW] = store[row + at.L_REGISTER] + 1


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
    if code >= at.I_END_TEARDOWN:
        return use(store, memory, at.FEATURE_FABRIC, what)
    shift, bits = store[pc + 2], store[pc + 3]
    value = (store[e + at.E_ARGUMENT] >> shift) & ((1 << abs(bits)) - 1)
    if bits < 0 and value >> (-bits - 1):
        value -= 1 << -bits
    store[store[e + at.E_VARIABLES] + store[pc + 1]] = value
    return 0
