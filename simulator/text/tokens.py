"""The words of the text form: lines, tokens with their columns, names, numbers, indices."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from tilewright.arch.errors import Where
from tilewright.simulator.isa.index_expression import Index
from tilewright.simulator.isa.machine_errors import ProgramError, close_names

P = TypeVar("P")
MAX_TEXT: Final = 1 << 24
"""Characters of a program's text."""
MAX_LINE: Final = 1 << 16
MAX_DEPTH: Final = 64
"""Bodies inside bodies."""
MAX_DIGITS: Final = 24
PLAIN: Final = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
TOKEN: Final = re.compile(
    r"""(?P<comment>//.*|\#(?=\s|\Z).*)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<number>\#[^\s,()\[\]]+)
      | (?P<integer>-?\d+)
      | (?P<name>[@%]?[A-Za-z_]\w*)
      | (?P<mark>[\[\](){}:,=+*<.@-])
      | (?P<space>\s+)""",
    re.ASCII | re.VERBOSE,
)


def print_name(name: str) -> str:
    """Return a name as it stands in a program's text: quoted unless it is an identifier."""
    return name if PLAIN.match(name) else json.dumps(name)


def print_number(value: float | int) -> str:
    """Return a number as text; floats keep a point, an exponent, `inf` or `nan`."""
    return repr(float(value)) if isinstance(value, float) else str(int(value))


def print_index(index: Index) -> str:
    """Return an affine expression of counters as text: `2*k + j + -1`."""
    parts = [
        f"{value}*{print_name(name)}" if value != 1 else print_name(name)
        for name, value in index.terms
    ]
    if index.constant or not parts:
        parts.append(str(index.constant))
    return " + ".join(parts)


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a line of a program's text.

    `kind`: name, integer, number, string or mark; `text`: as written; `column`: where it starts,
    from 1.
    """

    kind: str
    text: str
    column: int


class Line:
    """The words of one line of a program's text, taken from left to right.

    `number`: of the line from 1; `depth`: its indentation in steps of two blanks. Every failure is
    a ProgramError that names file, line and column.
    """

    def __init__(self, file: str, number: int, text: str) -> None:
        self.file = file
        self.row = number
        self.depth = 0
        if len(text) > MAX_LINE:
            raise self.fail("the line is too long", 1, value=len(text), instead=str(MAX_LINE))
        indent = len(text) - len(text.lstrip(" "))
        if text[indent : indent + 1] == "\t":
            raise self.fail(
                "a tab in the indentation", indent + 1, value="\t", instead="two blanks per step"
            )
        if indent % 2:
            raise self.fail("indentation goes in steps of two blanks", indent + 1, value=indent)
        self.depth = indent // 2
        self._tokens = self._split(text)
        self._next = 0
        self._length = len(text)

    def _split(self, text: str) -> list[Token]:
        tokens, position = [], 0
        while position < len(text):
            match = TOKEN.match(text, position)
            if match is None:
                raise self.fail(
                    "this is no word of the program's text",
                    position + 1,
                    value=text[position : position + 12],
                    instead="a name with other characters stands in double quotes",
                )
            if match.lastgroup not in ("space", "comment"):
                tokens.append(Token(str(match.lastgroup), match.group(), position + 1))
            position = match.end()
        return tokens

    def fail(
        self, problem: str, column: int | None = None, *, value: object, instead: str | None = None
    ) -> ProgramError:
        """Return (not raise) an error at a column, by default that of the next word.

        `value`: what was found; `instead`: what to write.
        """
        shown_column = self.column if column is None else column
        where = Where(self.file, self.row, shown_column)
        return ProgramError(problem, where=where, value=value, instead=instead)

    @property
    def column(self) -> int:
        """The column of the next word, from 1; behind the last word, the end of the line."""
        return self._tokens[self._next].column if self.more else self._length + 1

    @property
    def more(self) -> bool:
        """Whether words are left."""
        return self._next < len(self._tokens)

    def peek(self, ahead: int = 0) -> str:
        """Return the next word, or the one `ahead` words later, without taking it.

        Empty behind the end of the line.
        """
        position = self._next + ahead
        return self._tokens[position].text if position < len(self._tokens) else ""

    def take(self, kind: str, meaning: str) -> str:
        """Take and return the next word of the line, which must be of a kind.

        `kind`: name, integer, number, string or mark; `meaning`: what is expected, in words. Raises
        ProgramError, with the column, for another kind.
        """
        if not self.more or self._tokens[self._next].kind != kind:
            raise self.fail(f"here stands {meaning}", value=self.peek())
        self._next += 1
        return self._tokens[self._next - 1].text

    def has(self, text: str) -> bool:
        """Take the next word of the line if it is `text`; return whether it was."""
        is_next = self.more and self.peek() == text
        self._next += is_next
        return is_next

    def expect(self, text: str) -> None:
        """Take the next word of the line, which must be `text`; ProgramError otherwise."""
        if not self.has(text):
            raise self.fail(f"`{text}` is missing", value=self.peek(), instead=f"`{text}` here")

    def choose(self, words: Sequence[str], meaning: str) -> str:
        """Take and return the next word; ProgramError, with close words, if it is none of these.

        `meaning`: what the words are, for the message.
        """
        word = self.peek()
        if word not in words:
            raise self.fail(f"unknown {meaning}", value=word, instead=close_names(word, words))
        self._next += 1
        return word

    def end(self) -> None:
        """Check that all words of the line are taken; ProgramError otherwise."""
        if self.more:
            raise self.fail("the line goes on where it should end", value=self.peek())

    def name(self, meaning: str = "a name") -> str:
        """Take and return the next word, a name, bare or in quotes; ProgramError for another one.

        `meaning`: what is expected, in words.
        """
        if self.more and self._tokens[self._next].kind == "string":
            return self._string()
        word = self.take("name", meaning)
        if word[0] in "@%":
            self._next -= 1
            raise self.fail(f"here stands {meaning}", value=word)
        return word

    def _string(self) -> str:
        token = self._tokens[self._next]
        try:
            name = json.loads(token.text)
        except json.JSONDecodeError:
            raise self.fail("the quoted name does not hold", value=token.text) from None
        self._next += 1
        return str(name)

    def marked(self, mark: str, meaning: str) -> str:
        """Take and return the name behind a mark, `@` or `%`; ProgramError for another word."""
        if not self.peek().startswith(mark):
            raise self.fail(f"here stands {meaning}", value=self.peek(), instead=f"{mark}name")
        return self.take("name", meaning)[1:]

    def integer(self, meaning: str = "a whole number") -> int:
        """Take and return a whole number; ProgramError for another word."""
        column = self.column
        text = self.take("integer", meaning)
        if len(text) > MAX_DIGITS:
            raise self.fail("a number is too long", column, value=text)
        if self.peek() == "." and self.column == column + len(text):
            raise self.fail(
                f"here stands {meaning}", column, value=f"{text}.{self.peek(1)}", instead=text
            )
        return int(text)

    def number(self) -> int | float:
        """Take and return the number of a word `#3`, `#-0.5` or `#inf`; ProgramError otherwise."""
        column = self.column
        text = self.take("number", "#number")[1:]
        try:
            if len(text) > 4 * MAX_DIGITS:
                raise ValueError
            number = int(text) if re.fullmatch(r"-?\d+", text, re.ASCII) else float(text)
            if isinstance(number, float) and math.isinf(number) and "inf" not in text.lower():
                raise ValueError
            return number
        except ValueError:
            raise self.fail(
                "this is no number", column, value=text, instead="as in #3, #-0.5, #1e-3, #inf"
            ) from None

    def integers(self) -> tuple[int, ...]:
        """Take and return whole numbers in brackets, `[1, 2, 3]`; ProgramError otherwise."""
        self.expect("[")
        integers = [self.integer()]
        while self.has(","):
            integers.append(self.integer())
        self.expect("]")
        return tuple(integers)

    def settings(
        self, parsers: Mapping[str, Callable[[Line], Any]], meaning: str, needed: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Take and return the properties that a line ends with, by word.

        `parsers`: reads the value behind each word; `needed`: words that must be there; `meaning`:
        what they are, for messages. Raises ProgramError for an unknown, repeated or missing one.
        """
        values: dict[str, Any] = {}
        while self.more:
            column = self.column
            key = self.choose(tuple(parsers), meaning)
            if key in values:
                raise self.fail(f"{meaning} given twice", column, value=key)
            values[key] = parsers[key](self)
        for key in needed:
            if key not in values:
                raise self.fail(
                    f"a {meaning} is missing", value="", instead=f"`{key}` with its value"
                )
        return values

    def span(self) -> tuple[int, int]:
        """Take and return the two numbers of `first:last`; ProgramError otherwise."""
        first = self.integer()
        self.expect(":")
        return first, self.integer()

    def index(self) -> Index:
        """Take and return an affine expression of counters, `2*k - 1`; ProgramError otherwise."""
        constant, terms, sign = 0, [], -1 if self.has("-") else 1
        while True:
            name, number = self._term()
            if name is None:
                constant += sign * number
            else:
                terms.append((name, sign * number))
            sign = -1 if self.has("-") else 1
            is_negative = self.more and self.peek()[0] == "-"
            if sign > 0 and not is_negative and not self.has("+"):
                return Index(constant, tuple(terms))

    def _term(self) -> tuple[str | None, int]:
        """Take `2*k`, `k` or `2`: the counter, None for none, and the number."""
        if not (self.more and self._tokens[self._next].kind == "integer"):
            return self.name("a counter or a whole number"), 1
        number = self.integer()
        return self.name("a counter") if self.has("*") else None, number


Properties = dict[str, Callable[[Line], Any]]
"""Words of properties, each with the parser of its value."""


def flag(_: Line) -> bool:
    """Return True: it parses a property that has no value and is set by its mere word."""
    return True


def print_settings(part: object, names: Sequence[str]) -> str:
    """Return the properties of a record that are set, as text: ` priority high`.

    `names`: the fields to print, which are also the words.
    """
    values = ((name, getattr(part, name)) for name in names)
    return "".join(f" {name} {print_name(value)}" for name, value in values if value)


class Reader:
    """The lines of a program's text that are neither empty nor comments, one at a time.

    A comment goes from `//`, from `#` with a blank behind it, or from `#` as the first character of
    a line to the line's end. The reader remembers the line of every declaration, for errors that
    are found later. Raises ProgramError for what is no text, or a text that is too long.
    """

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        if not isinstance(text, str):
            raise ProgramError(
                "the program is no text", where=Where(file), value=type(text).__name__
            )
        if len(text) > MAX_TEXT:
            raise ProgramError(
                "the text of the program is too long",
                where=Where(file),
                value=len(text),
                instead=f"at most {MAX_TEXT} characters",
            )
        self._lines = enumerate(text.split("\n"), 1)
        self._declared: dict[str, Where] = {}
        self._parts: dict[int, Where] = {}
        """By the identity of the program's parts, which the program keeps."""
        self.line: Line | None = None
        self.advance()

    def advance(self) -> None:
        """Go to the next line that is neither empty nor a comment; `line` is None at the end."""
        for number, text in self._lines:
            bare = text.strip()
            if bare and not bare.startswith(("//", "#")):
                self.line = Line(self.file, number, text.rstrip())
                return
        self.line = None

    def at(self, depth: int) -> Line | None:
        """Return the present line if its indentation has this depth, None if it has less.

        Raises ProgramError if it has more.
        """
        line = self.line
        if line is None or line.depth < depth:
            return None
        if line.depth > depth or depth > MAX_DEPTH:
            most = min(depth, MAX_DEPTH)
            raise line.fail(
                "the line is indented too far", 1, value=line.depth, instead=f"at most {most}"
            )
        return line

    def declare(self, description: str) -> None:
        """Note that errors whose message begins with these words belong to the present line."""
        self._declared.setdefault(description, self.here())

    def here(self) -> Where:
        """Return the place where the present line begins."""
        assert self.line is not None
        return Where(self.file, self.line.row, 2 * self.line.depth + 1)

    def place(self, part: P, where: Where) -> P:
        """Note where a part of the program stands in the text, for errors; return the part."""
        self._parts[id(part)] = where
        return part

    def place_of(self, message: str, part: object = None) -> Where:
        """Return where a part of the program stands, for an error.

        Without a known part, the declaration that `message` begins with; else the file alone.
        """
        exact = self._parts.get(id(part)) if part is not None else None
        if exact is not None:
            return exact
        names = [name for name in self._declared if message.startswith(name)]
        return self._declared[max(names, key=len)] if names else Where(self.file)
