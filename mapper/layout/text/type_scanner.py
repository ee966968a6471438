"""A cursor over the text of a tensor type: each method reads a piece or raises (layouts.md §8)."""

from __future__ import annotations

import re
from typing import Final, NoReturn, get_args

from tilewright.arch.errors import SpecError
from tilewright.arch.number_format import number_format
from tilewright.mapper.layout.layout import MemorySpace, Padding
from tilewright.mapper.layout.tiling import Tiling

LONGEST: Final = 8000
_SHAPE: Final = re.compile(r"\s*((?:\d+\s*x\s*)*)")
_WORD: Final = re.compile(r"\s*([A-Za-z_]\w*)")
_MOST_DIGITS: Final = 18
SPACES: Final = ("system", "mmio", "dram", "l1")
"""Memory spaces that the text forms name."""


class TypeScanner:
    """Reads the text of a tensor type from left to right; each method reads one piece.

    `example`: a correct text, for messages. Raises SpecError for a text of more than 8,000
    characters, and from each method for text that is not what it reads, with its place.
    """

    def __init__(self, text: str, example: str) -> None:
        if len(text) > LONGEST:
            raise SpecError(f"a tensor type of more than {LONGEST} characters", instead=example)
        self.text, self.example, self.at = text, example, 0

    def stored(self) -> Tiling:
        """Read what is stored: `!tt.tile<32x32, f32>`, or an element type."""
        if self.next_sign() != "!":
            return Tiling((), number_format(self.any_word()))
        self.dialect("!", "tile")
        self.sign("<")
        sides = self.sides()
        self.sign(",")
        element = number_format(self.any_word())
        self.sign(">")
        return Tiling(sides, element)

    def padding(self) -> Padding:
        """Read the value of padding."""
        name = self.one_of(get_args(Padding), "a value of padding")
        return next(value for value in get_args(Padding) if value == name)

    def memory(self) -> MemorySpace:
        """Read the name of a memory space."""
        name = self.one_of(SPACES, "a memory space")
        return next(space for space in get_args(MemorySpace) if space == name)

    def end(self) -> None:
        """Read the end of the text."""
        if self.text[self.at :].strip():
            self.fail("text after the end of the tensor type")

    def extents(self) -> tuple[int, ...]:
        """Read `53x63x`, the extents before an element type."""
        match = _SHAPE.match(self.text, self.at)
        if match is None or not match.group(1):
            self.fail("extents are missing: 53x63xf32")
        self.at = match.end()
        return self.numbers(match.group(1).rstrip()[:-1])

    def sides(self) -> tuple[int, ...]:
        """Read `32x32`."""
        match = re.compile(r"\s*(\d+(?:\s*x\s*\d+)*)").match(self.text, self.at)
        if match is None:
            self.fail("the sides of the tile are missing: 32x32")
        self.at = match.end()
        return self.numbers(match.group(1))

    def numbers(self, text: str) -> tuple[int, ...]:
        """Return the numbers of a text such as `3x2`."""
        parts = [part.strip() for part in text.split("x")]
        if any(len(part) > _MOST_DIGITS for part in parts):
            self.fail("a number is too long")
        return tuple(map(int, parts))

    def any_word(self) -> str:
        """Read and return a word."""
        match = _WORD.match(self.text, self.at)
        if match is None:
            self.fail("a word is missing")
        self.at = match.end()
        return match.group(1)

    def word(self, wanted: str) -> None:
        """Read the word `wanted`; fail at any other text."""
        match = _WORD.match(self.text, self.at)
        if match is None or match.group(1) != wanted:
            self.fail(f"{wanted!r} is missing")
        self.at = match.end()

    def one_of(self, words: tuple[str, ...], what: str) -> str:
        """Read one of some words; `what`: what they are."""
        start = self.at
        word = self.any_word()
        if word not in words:
            self.at = start
            self.fail(f"{what} is one of {', '.join(words)}, not {word!r}")
        return word

    def dialect(self, mark: str, name: str) -> None:
        """Read a name of the dialect, tt or ttcore, behind its mark (`#` or `!`)."""
        match = re.compile(rf"\s*{re.escape(mark)}(?:tt|ttcore)\.{name}\b").match(
            self.text, self.at
        )
        if match is None:
            self.fail(f"'{mark}tt.{name}' is missing")
        self.at = match.end()

    def sign(self, wanted: str) -> None:
        """Read the sign `wanted`, such as `,` or `<`; fail at any other text."""
        if self.next_sign() != wanted:
            self.fail(f"{wanted!r} is missing")
        self.at = self.text.index(wanted, self.at) + 1

    def next_sign(self) -> str:
        """Return the next sign, without reading it; empty at the end."""
        return self.text[self.at :].lstrip()[:1]

    def fail(self, what: str) -> NoReturn:
        """Raise SpecError at the cursor."""
        place = len(self.text) - len(self.text[self.at :].lstrip())
        raise SpecError(
            f"{what}, at character {place + 1} of the tensor type",
            value=self.text[place : place + 40],
            instead=self.example,
        )


def by_x(numbers: tuple[int, ...]) -> str:
    """Return `3x2` for (3, 2)."""
    return "x".join(map(str, numbers))


def stored_text(tiling: Tiling) -> str:
    """Return the text of what is stored: a tile, or an element type."""
    if not tiling.sides:
        return tiling.element.text
    return f"!tt.tile<{by_x(tiling.sides)}, {tiling.element.text}>"
