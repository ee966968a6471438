"""The text form of operands: `column[k]{length 4}`, `x(k)`, `#0.5`, `=k`, `%dsr_src1 2`."""

from __future__ import annotations

from typing import Any, Final

from tilewright.simulator.isa.dsd import (
    FILES,
    NO_OFFSET,
    CounterValue,
    Element,
    Immediate,
    Index,
    Operand,
    Ref,
    Register,
)
from tilewright.simulator.text.tokens import Line, print_index, print_name, print_number

CHANGES: Final = ("of", "length", "stride")
"""Words of the changes that an operand makes to its descriptor."""


def parse_operand(line: Line) -> Operand:
    """Return a descriptor, an element, a number, a counter's value or a register."""
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
    offset = parse_bracket(line, "[", "]") if line.peek() == "[" else NO_OFFSET
    changes = _parse_changes(line)
    return Ref(name, offset, changes.get("length"), changes.get("stride"), changes.get("of"))


def _parse_changes(line: Line) -> dict[str, Any]:
    """Return the values of `{of v length n stride n}` by word."""
    changes: dict[str, Any] = {}
    if line.has("{"):
        while not line.has("}"):
            word = line.choose(CHANGES, "change of a descriptor")
            changes[word] = line.name("a buffer") if word == "of" else line.index()
    return changes


def parse_element(line: Line, buffer: str) -> Element:
    """Return the element of a buffer whose index stands next, in parentheses."""
    return Element(buffer, parse_bracket(line, "(", ")"))


def parse_bracket(line: Line, start: str, end: str) -> Index:
    """Return the expression between two brackets."""
    line.expect(start)
    index = line.index()
    line.expect(end)
    return index


def parse_register(line: Line) -> Register:
    """Return `%dsr_file number`, `%dsr_fifo_file number`."""
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
    """Return an operand as `parse_operand` reads it."""
    if isinstance(operand, Immediate):
        return f"#{print_number(operand.value)}"
    if isinstance(operand, Element):
        return element_text(operand)
    if isinstance(operand, CounterValue):
        return f"={print_index(operand.index)}"
    if isinstance(operand, Register):
        return f"%{operand}"
    offset = "" if operand.offset == NO_OFFSET else f"[{print_index(operand.offset)}]"
    return print_name(operand.dsd) + offset + _changes_text(operand)


def element_text(element: Element) -> str:
    """Return an element of a buffer."""
    return f"{print_name(element.buffer)}({print_index(element.index)})"


def _changes_text(operand: Ref) -> str:
    """Return what an operand changes of its descriptor, ` {of v length n}`; empty for nothing."""
    changes = [f"of {print_name(operand.base)}"] if operand.base is not None else []
    for word, index in (("length", operand.length), ("stride", operand.stride)):
        if index is not None:
            changes.append(f"{word} {print_index(index)}")
    return " {" + " ".join(changes) + "}" if changes else ""
