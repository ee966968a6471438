"""The instruction that sets the length of a FIFO for the operations that read or write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.instructions.kind import CheckContext, Encoder, Kind
from tilewright.simulator.isa.dsd import Fifo
from tilewright.simulator.isa.index_expression import Index, variable
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.instruction import Instruction
from tilewright.simulator.text.tokens import print_index, print_name


@dataclass(frozen=True, slots=True)
class SetLength(Instruction):
    """Set how many values an operation reads from a FIFO (`reads`), or writes to it.

    `fifo`: its name; `length`: number of values, 0 to 65535, or a counter that has it.
    """

    fifo: str
    reads: bool
    length: Index


def _text(instruction: SetLength) -> str:
    word = "read_length" if instruction.reads else "write_length"
    return f"{word} {print_name(instruction.fifo)} {print_index(instruction.length)}"


def _check(instruction: SetLength, context: CheckContext) -> None:
    if not isinstance(context.code.dsd(instruction.fifo), Fifo):
        raise ProgramError(f"{context.place}: no FIFO of this name", value=instruction.fifo)
    length = instruction.length
    if length.terms and length != variable(length.terms[0][0]):
        raise ProgramError(
            f"{context.place}: the length of a FIFO is a number or a counter",
            value=str(length),
            instead="a counter that is given this value before",
        )
    if not 0 <= length.constant <= 0xFFFF:
        raise ProgramError(f"{context.place}: a length is outside 0..65535", value=length.constant)


def _encode(instruction: SetLength, encoder: Encoder) -> None:
    names = [fifo.name for fifo in encoder.fifos]
    column = at.Q_READ_LENGTH if instruction.reads else at.Q_WRITE_LENGTH
    length = instruction.length.constant
    for counter, _ in instruction.length.terms:
        length = -1 - encoder.variable(counter)  # a negative one names its counter
    encoder.emit(at.I_SET_LENGTH, names.index(instruction.fifo), column, length)


SET_LENGTH: Final = Kind(
    record=SetLength,
    words={
        "read_length": lambda line, _: SetLength(line.name("a FIFO"), True, line.index()),
        "write_length": lambda line, _: SetLength(line.name("a FIFO"), False, line.index()),
    },
    text=_text,
    check=_check,
    encode=_encode,
)
