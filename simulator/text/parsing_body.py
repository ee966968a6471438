"""Bodies of tasks read from text: lines and depths; the kinds of instructions read the rest."""

from __future__ import annotations

from tilewright.simulator.instructions.kind import Body, Kind
from tilewright.simulator.instructions.table import kinds_by_word, kinds_without_word
from tilewright.simulator.program.instruction import Instruction
from tilewright.simulator.text.tokens import Line, Reader


def parse_body(reader: Reader, depth: int, place: str) -> Body:
    """Return the instructions of the next lines at a depth of indentation (two blanks each).

    `place` names the code and task in errors. Raises ProgramError with line and column.
    """
    words = kinds_by_word()
    lines = IndentedLines(reader, depth, place)
    instructions: list[Instruction] = []
    while (line := reader.at(depth)) is not None:
        start = reader.here()
        if line.peek() == "else" and line.peek(1) == "":
            raise line.fail("no `if` stands above", value="else", instead="`if k < 2` above it")
        kind = _kind_without_word(line)
        if kind is not None:
            assert kind.parse is not None
            instruction = kind.parse(line, lines)
        else:
            word = line.choose(tuple(words), "instruction")
            kind = words[word]
            instruction = kind.words[word](line, lines)
        instructions.append(reader.place(instruction, start))
        if not kind.has_bodies:
            line.end()
            reader.advance()
    return tuple(instructions)


def _kind_without_word(line: Line) -> Kind[Instruction] | None:
    """Return the kind whose lines begin with no word of its own, if this line is one."""
    for kind in kinds_without_word():
        if kind.begins is not None and kind.begins(line):
            return kind
    return None


class IndentedLines:
    """The lines of a task at one depth of indentation, for parsers of instructions with bodies."""

    def __init__(self, reader: Reader, depth: int, place: str) -> None:
        self._reader = reader
        self._depth = depth
        self._place = place

    def declare(self, part: str) -> None:
        """Note that errors which name this part of the task belong to the line that is read now."""
        self._reader.declare(f"{self._place}, {part}")

    def body(self, line: Line) -> Body:
        """End the line and return the instructions of the following lines, indented deeper.

        Raises ProgramError with line and column.
        """
        line.end()
        self._reader.advance()
        return parse_body(self._reader, self._depth + 1, self._place)

    def branch(self, word: str) -> Line | None:
        """Return the next line, behind `word`, if it begins with this word (`else`), else None."""
        line = self._reader.at(self._depth)
        return line if line is not None and line.has(word) else None
