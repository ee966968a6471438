"""The text form of operands: `column[k]{length 4}`, `x(k)`, `#0.5`, `=k`, `%dsr_src1 2`."""

from __future__ import annotations

from typing import Any, Final

from tilewright.simulator.isa.dsd import (
    FILES,
    CounterValue,
    Element,
    Immediate,
    Operand,
    Ref,
    Register,
)
from tilewright.simulator.isa.index_expression import NO_OFFSET, Index
from tilewright.simulator.text.tokens import Line, print_index, print_name, print_number

CHANGES: Final = ("of", "at", "length", "stride")
"""Words of the changes that an operand makes to its descriptor."""


def parse_operand(line: Line) -> Operand:
    """Return the operand that stands next on a line.

    `name[offset]{changes}` is a descriptor, `buffer(index)` an element, `#0.5` a number, `=k + 1` a
    value of counters, `%dsr_src1 2` a register. Raises ProgramError with the column.
    """
    if line.peek().startswith("#"):
        return Immediate(line.number())
    if line.has("="):
        return CounterValue(line.index())
    if line.peek().startswith("%"):
        return parse_register(line)
    if line.peek()[:1] in "-.0123456789":
        raise line.fail("here stands an operand", value=line.peek(), instead=f"#{line.peek()}")
    name = line.name("an operand")
    if line.peek() == "(":
        return parse_element(line, name)
    offset, counted = _parse_offset(line)
    changes = _parse_changes(line)
    return Ref(
        name,
        offset,
        changes.get("length"),
        changes.get("stride"),
        changes.get("of"),
        changes.get("at", ""),
        counted,
    )


def _parse_offset(line: Line) -> tuple[Index, str]:
    """Return the offset `[k]` or `[k as f32]` and the dtype that it counts, if they are there."""
    counted = ""
    if not line.has("["):
        return NO_OFFSET, counted
    offset = line.index()
    if line.has("as"):
        counted = line.name("a dtype")
    line.expect("]")
    return offset, counted


def _parse_changes(line: Line) -> dict[str, Any]:
    """Return the values of `{of v at p length n stride n}` by word."""
    changes: dict[str, Any] = {}
    if line.has("{"):
        while not line.has("}"):
            word = line.choose(CHANGES, "change of a descriptor")
            names = {"of": "a buffer", "at": "a counter"}
            changes[word] = line.name(names[word]) if word in names else line.index()
    return changes


def parse_element(line: Line, buffer: str) -> Element:
    """Return the element of a buffer whose index, `(expression)`, stands next on a line.

    Raises ProgramError with the column.
    """
    return Element(buffer, parse_bracket(line, "(", ")"))


def parse_bracket(line: Line, start: str, end: str) -> Index:
    """Return the affine expression that stands next on a line between two marks.

    `start`, `end`: the marks, such as [ and ]. Raises ProgramError with the column.
    """
    line.expect(start)
    index = line.index()
    line.expect(end)
    return index


def parse_register(line: Line) -> Register:
    """Return the register that stands next: `%dsr_src1 2`, or `%dsr_fifo_src1 2` with a FIFO.

    Raises ProgramError with the column.
    """
    column = line.column
    text = line.marked("%", "a register")
    fifo = text.startswith("dsr_fifo_")
    file = text.removeprefix("dsr_fifo_" if fifo else "dsr_")
    if not text.startswith("dsr_") or file not in FILES:
        raise line.fail(
            "unknown register file",
            column,
            value=text,
            instead="%dsr_dest, %dsr_src0, %dsr_src1, %dsr_fifo_dest or %dsr_fifo_src1",
        )
    return Register(file, line.integer("the register's number"), fifo)


def operand_text(operand: Operand) -> str:
    """Return an operand as it stands in a program's text: `column[k]`, `x(k)`, `#0.5`, `=k`.

    `parse_operand` reads it back.
    """
    if isinstance(operand, Immediate):
        return f"#{print_number(operand.value)}"
    if isinstance(operand, Element):
        return element_text(operand)
    if isinstance(operand, CounterValue):
        return f"={print_index(operand.index)}"
    if isinstance(operand, Register):
        return f"%{operand}"
    counted = f" as {operand.offset_type}" if operand.offset_type else ""
    offset = f"[{print_index(operand.offset)}{counted}]"
    if operand.offset == NO_OFFSET and not counted:
        offset = ""
    return print_name(operand.dsd) + offset + _changes_text(operand)


def element_text(element: Element) -> str:
    """Return an element of a buffer as text: `buffer(index)`."""
    return f"{print_name(element.buffer)}({print_index(element.index)})"


def _changes_text(operand: Ref) -> str:
    """Return what an operand changes of its descriptor, ` {of v length n}`; empty for nothing."""
    changes = [f"of {print_name(operand.base)}"] if operand.base is not None else []
    changes += [f"at {print_name(operand.pointer)}"] if operand.pointer else []
    for word, index in (("length", operand.length), ("stride", operand.stride)):
        if index is not None:
            changes.append(f"{word} {print_index(index)}")
    return " {" + " ".join(changes) + "}" if changes else ""
