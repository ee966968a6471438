"""Data-structure registers of a code: their numbers, what is loaded into them, their rates.

An operation on a register takes its rate, its queues and its microthread from the descriptors that
the code loads into the register. Where several descriptors are loaded, the operation has a row for
each combination (`held_operations`), and the engine takes the one that fits at its start.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.queue_slots import slot_of_descriptor
from tilewright.simulator.instructions.kind import Encoder
from tilewright.simulator.instructions.register_load import extra_registers, load_row
from tilewright.simulator.isa.dsd import (
    FILES,
    Circbuf,
    Dsd,
    Fabin,
    Fabout,
    Fifo,
    Mem1d,
    Mem4d,
    Ref,
    Register,
)
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation
from tilewright.simulator.isa.resolving import resolve_operand
from tilewright.simulator.program.code_parts import all_loads, loaded_descriptors
from tilewright.simulator.program.instruction import LoadRegister
from tilewright.simulator.program.program import ElementCode

MAX_COMBINATIONS: Final = 1024
"""Combinations of loads that one operation's registers may hold."""
RATE_COLUMNS: Final = (
    at.O_GROUP,
    at.O_CYCLES,
    at.O_FREE,
    at.O_DENOMINATOR,
    at.O_BANKS,
    at.O_ROW,
    at.O_SIMD,
)
"""The columns of an operation's row that follow from what its registers hold."""
HeldLoads = tuple[LoadRegister | None, ...]
"""The load that each operand's register holds; None for an operand that is no register."""


class RegisterRows:
    """Number the data-structure registers of one code and make their rows for the engine.

    A data-structure register of an element holds a descriptor (of a memory vector, queue or FIFO)
    that an instruction loaded. Registers are numbered in the order in which they are asked for.
    encoder: appends the rows of operands and loads.
    """

    def __init__(self, code: ElementCode, encoder: Encoder) -> None:
        self._code = code
        self._encoder = encoder
        self._numbers: dict[Register, int] = {}
        self._operands: dict[int, int] = {}
        """By the identity of a load, the row of the operand that it loads."""

    def number(self, register: Register) -> int:
        """Return the number of a register in this code; a new register gets the next number."""
        key = Register(register.file, register.id)
        return self._numbers.setdefault(key, len(self._numbers))

    def names(self) -> tuple[str, ...]:
        """Return the names of the registers that have a number, in the order of the numbers.

        A data-structure register holds a descriptor; its name is that of the program's text.
        """
        return tuple(str(register) for register in self._numbers)

    def loaded_operand(self, load: LoadRegister) -> int:
        """Return the operand row of the descriptor that a load puts into its register.

        The row is appended at the first call for this load. Raises ProgramError if the descriptor
        or its offset is not valid.
        """
        place = f"code {self._code.name}, load of {load.register}"
        operand = resolve_operand(self._code, Ref(load.dsd, load.offset), place)
        if id(load) not in self._operands:
            self._operands[id(load)] = self._encoder.operand(operand)
        return self._operands[id(load)]

    def held_operands(self, loads: HeldLoads) -> list[int]:
        """Return the operand rows of the descriptors that three registers hold.

        The registers are those of an operation's destination and two sources. loads: for each of
        them the load that filled it, None for an operand that is no register. That gives -1, and so
        does an operand that is not there. Each load must have its row already.
        """
        rows = [-1 if load is None else self._operands[id(load)] for load in loads]
        return rows + [-1] * (3 - len(rows))

    def rows(self) -> tuple[tuple[int, ...], ...]:
        """Return (load row, owner) per register by number: its state before the program starts.

        load row: the row of the load that fills it before the start, -1 for none. owner: 1 + the
        number of the register whose load uses this one as an extended or stride register (further
        words of its descriptor), 0 for none. Raises ProgramError for a load that is not valid.
        """
        first_loads = {}
        for load in self._code.loads:
            row = load_row(load, self._encoder)
            first_loads[self.number(load.register)] = row
        for fifo in self._encoder.fifos:
            if fifo.dest is not None:
                first_loads.update(self._fifo_loads(fifo, fifo.dest))
        owners = {
            extra - 1: self.number(load.register) + 1
            for load in self._code.loads
            for extra in extra_registers(load, self._encoder)
        }
        numbers = range(len(self._numbers))
        return tuple((first_loads.get(number, -1), owners.get(number, 0)) for number in numbers)

    def _fifo_loads(self, fifo: Fifo, number: int) -> dict[int, int]:
        """Return the load rows of the registers that a FIFO has for the whole program."""
        place = f"code {self._code.name}, DSD {fifo.name}"
        operand = self._encoder.operand(resolve_operand(self._code, Ref(fifo.name), place))
        registers = (self.number(Register("dest", number)), self.number(Register("src1", number)))
        settings = [0, at.NO_ACTION, -1, at.CONTROL_IS_DATA, -1, 0, 0, 0, 0, 0, 0]
        return {
            register: self._encoder.append_load([register, operand, *settings])
            for register in registers
        }


def as_loaded(code: ElementCode, resolved: ResolvedOperation) -> ResolvedOperation:
    """Replace the registers of an operation by descriptors that the code loads into them.

    If a register is loaded several times, its first load of a queue is taken, else its first load;
    a register that is never loaded stays. So the result has the rate and the queues of the
    operation's first run. An operation without registers is returned as it is.
    """
    if not resolved.has_register:
        return resolved
    dest, *sources = (_as_first_load(code, operand) for operand in resolved.operands)
    return replace(resolved, dest=dest, sources=tuple(sources))


def _as_first_load(code: ElementCode, operand: ResolvedOperand) -> ResolvedOperand:
    loaded = loaded_descriptors(code, operand.register)
    fabric = [dsd for dsd in loaded if isinstance(dsd, Fabin | Fabout)]
    descriptor = next(iter((*fabric, *loaded)), None)
    return operand if descriptor is None else _holding(code, operand, descriptor)


def held_operations(
    code: ElementCode, resolved: ResolvedOperation, place: str
) -> Iterator[tuple[ResolvedOperation, HeldLoads]]:
    """Yield an operation once for each combination of descriptors that its registers may hold.

    place: names the operation in an error. Each item is (the operation with these descriptors, the
    loads by operand, None where there is no register). Raises ProgramError for more than 1024
    combinations.
    """
    choices = [_loads(code, operand) for operand in resolved.operands[:3]]
    combinations = prod(map(len, choices))
    if combinations > MAX_COMBINATIONS:
        raise ProgramError(
            f"{place}: its registers are loaded with more than {MAX_COMBINATIONS} combinations of "
            "descriptors",
            value=combinations,
            instead="registers of its own",
        )
    for loads in product(*choices):
        operands = [
            operand if load is None else _holding(code, operand, code.dsd(load.dsd))
            for operand, load in zip(resolved.operands[:3], loads, strict=True)
        ]
        sources = (*operands[1:], *resolved.operands[3:])
        yield replace(resolved, dest=operands[0], sources=sources), loads


def _holding(code: ElementCode, operand: ResolvedOperand, dsd: Dsd | None) -> ResolvedOperand:
    """Return the operand that a register is while it holds a descriptor."""
    buffer = code.buffer(dsd.buffer) if isinstance(dsd, Mem1d | Mem4d | Circbuf) else None
    return replace(operand, dsd=dsd, buffer=buffer)


def _loads(code: ElementCode, operand: ResolvedOperand) -> list[LoadRegister | None]:
    loads: list[LoadRegister | None] = []
    if operand.register is not None:
        loads += _loads_of(code, operand.register)
    return loads or [None]


def _loads_of(code: ElementCode, register: Register) -> list[LoadRegister]:
    key = register.file, register.id
    return [load for load in all_loads(code) if (load.register.file, load.register.id) == key]


def loads_asynchronous(code: ElementCode, resolved: ResolvedOperation) -> bool:
    """Return whether any load of a register of the operation makes it asynchronous.

    A data-structure register holds a descriptor that the code loads; an asynchronous operation runs
    on a microthread beside the main thread.
    """
    registers = [operand.register for operand in resolved.operands if operand.register]
    return any(load.asynchronous for register in registers for load in _loads_of(code, register))


def loaded_slots(code: ElementCode, resolved: ResolvedOperation) -> set[int]:
    """Return the slots of the queues that the registers of an operation may hold.

    A data-structure register holds a descriptor, of a queue or of memory, that the code loads.
    Slots 0 to 7 are input queues, 8 to 15 output queues. Empty for an operation without registers.
    """
    slots = (
        slot_of_descriptor(dsd)
        for operand in resolved.operands
        for dsd in loaded_descriptors(code, operand.register)
    )
    return {slot for slot in slots if slot is not None}


def microthread_of(code: ElementCode, resolved: ResolvedOperation) -> int | None:
    """Return the microthread id that an operation gives, else that of a register's load, else None.

    Of several registers dest counts before src0 before src1 (wafer.md §4.3). None leaves the choice
    to the queue of the first fabric operand.
    """
    if resolved.source.microthread is not None:
        return resolved.source.microthread
    registers = [operand.register for operand in resolved.operands if operand.register is not None]
    for register in sorted(registers, key=lambda register: FILES.index(register.file)):
        for load in _loads_of(code, register):
            if load.microthread is not None:
                return load.microthread
    return None
