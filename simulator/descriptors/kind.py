"""The record of one kind of descriptor: how it is read, printed, checked and encoded.

The dataclasses themselves are in `isa/dsd.py`, because operands and codes name them. `table.py`
lists the kinds. What a profile allows is checked by topic: `check/register_check.py` (FIFOs'
registers), `compile/code/simd_modes.py`, `compile/code/priorities.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from tilewright.simulator.isa.dsd import Dsd
from tilewright.simulator.isa.operands import ResolvedOperand
from tilewright.simulator.program.program import ElementCode
from tilewright.simulator.text.tokens import Line

D = TypeVar("D", bound=Dsd)


class ExtraRegisters(NamedTuple):
    """How many registers a loaded descriptor takes beside its data-structure register.

    `extended`: 0 or 1; `stride`: one per stride that has to be stored.
    """

    extended: int
    stride: int


NO_EXTRA_REGISTERS = ExtraRegisters(0, 0)


@dataclass(frozen=True, slots=True)
class DescriptorKind(Generic[D]):
    """One kind of descriptor: how it is read, printed, checked and encoded.

    `record`: its dataclass; `word`: first word of its lines of text; `properties`: parsers of its
    settings by word; `parse`, `text`: read and print a line; `check(descriptor, code, place)`:
    raises ProgramError; `columns`: fills its columns of an operand's row in the engine's table;
    `extra_registers`: what it takes when loaded.
    """

    record: type[D]
    """The frozen dataclass of the descriptor."""
    word: str
    """The word that its lines of the text form begin with."""
    properties: Mapping[str, Callable[[Line], Any]]
    """The words of its properties, each with the parser of the value."""
    parse: Callable[[Line], D]
    """Reads the rest of a line."""
    text: Callable[[D], str]
    """Returns the line."""
    check: Callable[[D, ElementCode, str], None]
    """Refuses what the code does not have, and numbers out of range (descriptor, code, place)."""
    columns: Callable[[ResolvedOperand, list[int]], None]
    """Sets the columns of an operand's row (compile/columns.py, D_...) that this kind has."""
    extra_registers: Callable[[D], ExtraRegisters] = lambda _: NO_EXTRA_REGISTERS
    """Returns the registers that a loaded descriptor takes beside its own."""
