"""Buffers that are used around their end: circular buffers, and FIFOs between operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.simd_modes import MODES
from tilewright.simulator.descriptors.kind import DescriptorKind, ExtraRegisters
from tilewright.simulator.isa.dsd import FIFO_ACTIONS, Circbuf, Fifo
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.operands import ResolvedOperand
from tilewright.simulator.isa.resolving import buffer_of
from tilewright.simulator.program.program import ElementCode
from tilewright.simulator.text.tokens import Line, Properties, print_name, print_settings

CIRCBUF_PROPERTIES: Final[Properties] = {"extent": Line.integer, "wraparound": Line.integer}
FIFO_PROPERTIES: Final[Properties] = {
    "empty": Line.name,
    "full": Line.name,
    "activate_pop": Line.name,
    "activate_push": Line.name,
    "priority": Line.name,
    "simd": Line.name,
    "dest": Line.integer,
    "src": Line.integer,
    "xdsr": Line.integer,
}
_FIELDS: Final = {"empty": "empty_action", "full": "full_action"}
"""Fields of `Fifo` whose words are shorter."""


def _parse_circbuf(line: Line) -> Circbuf:
    names = line.name("the descriptor's name"), line.name("a buffer's name")
    return Circbuf(*names, **line.settings(CIRCBUF_PROPERTIES, "property of circbuf", ("extent",)))


def _parse_fifo(line: Line) -> Fifo:
    names = line.name("the descriptor's name"), line.name("a buffer's name")
    given = line.settings(FIFO_PROPERTIES, "property of a FIFO")
    return Fifo(*names, **{_FIELDS.get(word, word): value for word, value in given.items()})


def _circbuf_text(dsd: Circbuf) -> str:
    end = "" if dsd.wraparound is None else f" wraparound {dsd.wraparound}"
    return f"circbuf {print_name(dsd.name)} {print_name(dsd.buffer)} extent {dsd.extent}{end}"


def _fifo_text(dsd: Fifo) -> str:
    text = f"fifo {print_name(dsd.name)} {print_name(dsd.buffer)}"
    text += f" empty {dsd.empty_action} full {dsd.full_action}"
    text += print_settings(dsd, ("activate_pop", "activate_push", "priority", "simd"))
    numbers = (("dest", dsd.dest), ("src", dsd.src), ("xdsr", dsd.xdsr))
    return text + "".join(f" {word} {number}" for word, number in numbers if number is not None)


def _check_circbuf(dsd: Circbuf, code: ElementCode, place: str) -> None:
    buffer = buffer_of(code, dsd.buffer, place)
    if not 0 <= dsd.extent <= 0xFFFF:
        raise ProgramError(f"{place}: an extent is outside 0..65535", value=dsd.extent)
    if dsd.wraparound is not None and not 1 <= dsd.wraparound < buffer.elements:
        raise ProgramError(
            f"{place}: the wraparound must be less than the {buffer.elements} elements of "
            f"buffer {buffer.name}",
            value=dsd.wraparound,
            instead="at least 1, or no wraparound, which means the whole buffer",
        )


def _check_local_tasks(code: ElementCode, names: Sequence[str | None], place: str) -> None:
    """Refuse names that no local task of the code has; None stands for no task."""
    local_tasks = {task.name for task in code.tasks if task.is_local}
    for name in names:
        if name is not None and name not in local_tasks:
            raise ProgramError(f"{place}: no local task of this name", value=name)


def _check_fifo(dsd: Fifo, code: ElementCode, place: str) -> None:
    buffer_of(code, dsd.buffer, place)
    for action in (dsd.empty_action, dsd.full_action):
        if action not in FIFO_ACTIONS:
            raise ProgramError(
                f"{place}: unknown action", value=action, instead=", ".join(FIFO_ACTIONS)
            )
    _check_local_tasks(code, (dsd.activate_pop, dsd.activate_push), place)
    users = [d.name for d in code.dsds if isinstance(d, Fifo) and d.buffer == dsd.buffer]
    if len(users) > 1:
        raise ProgramError(f"{place}: buffer {dsd.buffer} belongs to two FIFOs", value=users)


def _circbuf_columns(operand: ResolvedOperand, row: list[int]) -> None:
    row[at.D_WRAP] = operand.wraparound * row[at.D_WIDE]


def _fifo_columns(operand: ResolvedOperand, row: list[int]) -> None:
    """Set the SIMD mode in the row of an operand that is a FIFO; changes `row`.

    The encoder of the code sets the FIFO's number.
    """
    assert isinstance(operand.dsd, Fifo)
    row[at.D_SIMD] = MODES.get(operand.dsd.simd, at.SIMD_NONE)


CIRCBUF: Final = DescriptorKind(
    record=Circbuf,
    word="circbuf",
    properties=CIRCBUF_PROPERTIES,
    parse=_parse_circbuf,
    text=_circbuf_text,
    check=_check_circbuf,
    columns=_circbuf_columns,
    extra_registers=lambda _: ExtraRegisters(1, 0),
)
FIFO: Final = DescriptorKind(
    record=Fifo,
    word="fifo",
    properties=FIFO_PROPERTIES,
    parse=_parse_fifo,
    text=_fifo_text,
    check=_check_fifo,
    columns=_fifo_columns,
)
