"""The instruction that sets the length of a FIFO for the operations that read or write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.instructions.kind import BodyParser, CheckContext, Encoder, Kind
from tilewright.simulator.isa.dsd import Fifo
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.instruction import Instruction
from tilewright.simulator.text.tokens import Line, print_name


@dataclass(frozen=True, slots=True)
class SetLength(Instruction):
    """Set how many elements operations move that read from a FIFO (`reads`) or write to it.

    `fifo`: its name; `length`: 0 to 65535 elements.
    """

    fifo: str
    reads: bool
    length: int


def _parse_read(line: Line, _: BodyParser) -> SetLength:
    return SetLength(line.name("a FIFO"), True, line.integer("the length"))


def _parse_write(line: Line, _: BodyParser) -> SetLength:
    return SetLength(line.name("a FIFO"), False, line.integer("the length"))


def _text(instruction: SetLength) -> str:
    word = "read_length" if instruction.reads else "write_length"
    return f"{word} {print_name(instruction.fifo)} {instruction.length}"


def _check(instruction: SetLength, context: CheckContext) -> None:
    if not isinstance(context.code.dsd(instruction.fifo), Fifo):
        raise ProgramError(f"{context.place}: no FIFO of this name", value=instruction.fifo)
    if not 0 <= instruction.length <= 0xFFFF:
        raise ProgramError(
            f"{context.place}: a length is outside 0..65535", value=instruction.length
        )


def _encode(instruction: SetLength, encoder: Encoder) -> None:
    names = [fifo.name for fifo in encoder.fifos]
    column = at.Q_READ_LENGTH if instruction.reads else at.Q_WRITE_LENGTH
    encoder.emit(at.I_SET_LENGTH, names.index(instruction.fifo), column, instruction.length)


SET_LENGTH: Final = Kind(
    record=SetLength,
    words={"read_length": _parse_read, "write_length": _parse_write},
    text=_text,
    check=_check,
    encode=_encode,
)
