"""The text `tensor<2x3xf32, #tt.metal_layout<map, oob, <grid>, memref<...>>>` (layouts.md §8).

Reading checks what the text says twice: the shape of the memref must follow from the map, the grid
and the tile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, NoReturn, get_args

from tilewright.arch.errors import SpecError
from tilewright.arch.number_format import NumberFormat, number_format
from tilewright.mapper.layout.affine_map import AffineMap
from tilewright.mapper.layout.collapse import Collapse
from tilewright.mapper.layout.grid_split import GridSplit
from tilewright.mapper.layout.layout import Layout, MemorySpace, Padding
from tilewright.mapper.layout.tiling import Tiling

EXAMPLE: Final = (
    "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, "
    "memref<18x32xf32, #tt.memory_space<l1>>>>"
)
_LONGEST: Final = 8000
_SHAPE: Final = re.compile(r"\s*((?:\d+\s*x\s*)*)")
_WORD: Final = re.compile(r"\s*([A-Za-z_]\w*)")
_GRID: Final = re.compile(r"\s*<\s*(\d+(?:\s*x\s*\d+)*)\s*>")
_PARENTHESES: Final = re.compile(r"\s*(\([^()]*\)\s*->\s*)")
_MOST_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class MetalTensor:
    """A tensor type with its layout: `element` is the logical type, which tiling leaves as it is.

    `layout.tiling.element` is the type that is stored.
    """

    layout: Layout
    element: NumberFormat

    def __str__(self) -> str:
        """Return the text form on one line; reading it gives an equal value."""
        layout, tiling = self.layout, self.layout.tiling
        stored = tiling.element.text
        if tiling.sides:
            stored = f"!tt.tile<{_by_x(tiling.sides)}, {stored}>"
        memref = f"memref<{_by_x(layout.shard_tiles)}x{stored}, #tt.memory_space<{layout.memory}>>"
        return (
            f"tensor<{_by_x(layout.shape)}x{self.element.text}, #tt.metal_layout<"
            f"{layout.collapse.affine}, {layout.padding_value}, <{_by_x(layout.grid)}>, {memref}>>"
        )


def parse_metal_tensor(text: str) -> MetalTensor:
    """Read a tensor type with a metal layout; line breaks and spaces are free.

    The dialect may be called tt or ttcore. Raises SpecError with the place for other text, for a
    map that is not linear or loses data, and for a memref that does not follow from the rest, with
    the shape that does.
    """
    if len(text) > _LONGEST:
        raise SpecError(f"a tensor type of more than {_LONGEST} characters", instead=EXAMPLE)
    return _Scanner(text).tensor()


class _Scanner:
    """A cursor over the text; each method reads one piece or raises."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def tensor(self) -> MetalTensor:
        self._word("tensor")
        self._sign("<")
        shape = self._extents()
        element = number_format(self._any_word())
        self._sign(",")
        self._dialect("#", "metal_layout")
        self._sign("<")
        affine = self._affine(len(shape))
        self._sign(",")
        padding = self._one_of(get_args(Padding), "a value of padding")
        self._sign(",")
        grid = self._grid()
        self._sign(",")
        memref, tiling, memory = self._memref()
        for _ in range(2):
            self._sign(">")
        if self.text[self.at :].strip():
            self._fail("text after the end of the tensor type")
        collapse = Collapse.linear(shape, affine)
        layout = Layout.on_grid(
            collapse, GridSplit.ceil(collapse.extents, grid), tiling, memory=_space(memory)
        )
        layout = replace(layout, padding_value=_padding(padding))
        if layout.shard_tiles != memref:
            raise SpecError(
                f"the memref has the shape {_by_x(memref)}, but the map, the grid and the tile "
                f"give {_by_x(layout.shard_tiles)}",
                value=_by_x(memref),
                instead=_by_x(layout.shard_tiles),
            )
        return MetalTensor(layout, element)

    def _memref(self) -> tuple[tuple[int, ...], Tiling, str]:
        self._word("memref")
        self._sign("<")
        shape = self._extents()
        sides: tuple[int, ...] = ()
        if self._next() == "!":
            self._dialect("!", "tile")
            self._sign("<")
            sides = self._sides()
            self._sign(",")
            stored = number_format(self._any_word())
            self._sign(">")
        else:
            stored = number_format(self._any_word())
        self._sign(",")
        self._dialect("#", "memory_space")
        self._sign("<")
        memory = self._one_of(("system", "mmio", "dram", "l1"), "a memory space")
        self._sign(">")
        self._sign(">")
        return shape, Tiling(sides, stored), memory

    def _affine(self, rank: int) -> AffineMap:
        head = _PARENTHESES.match(self.text, self.at)
        if head is None:
            self._fail("the affine map is missing: (d0, d1) -> (d0, d1)")
        depth, place = 0, head.end()
        for place in range(head.end(), len(self.text)):
            depth += {"(": 1, ")": -1}.get(self.text[place], 0)
            if depth == 0:
                break
        piece = self.text[self.at : place + 1]
        self.at = place + 1
        return AffineMap.parse(piece, rank)

    def _extents(self) -> tuple[int, ...]:
        found = _SHAPE.match(self.text, self.at)
        if found is None or not found.group(1):
            self._fail("extents are missing: 53x63xf32")
        self.at = found.end()
        return self._numbers(found.group(1).rstrip()[:-1])

    def _sides(self) -> tuple[int, ...]:
        found = re.compile(r"\s*(\d+\s*x\s*\d+)").match(self.text, self.at)
        if found is None:
            self._fail("the sides of the tile are missing: 32x32")
        self.at = found.end()
        return self._numbers(found.group(1))

    def _grid(self) -> tuple[int, ...]:
        found = _GRID.match(self.text, self.at)
        if found is None:
            self._fail("the grid is missing: <3x2>")
        self.at = found.end()
        return self._numbers(found.group(1))

    def _numbers(self, text: str) -> tuple[int, ...]:
        parts = [part.strip() for part in text.split("x")]
        if any(len(part) > _MOST_DIGITS for part in parts):
            self._fail("a number is too long")
        return tuple(map(int, parts))

    def _any_word(self) -> str:
        found = _WORD.match(self.text, self.at)
        if found is None:
            self._fail("a word is missing")
        self.at = found.end()
        return found.group(1)

    def _word(self, wanted: str) -> None:
        found = _WORD.match(self.text, self.at)
        if found is None or found.group(1) != wanted:
            self._fail(f"{wanted!r} is missing")
        self.at = found.end()

    def _one_of(self, words: tuple[str, ...], what: str) -> str:
        start = self.at
        word = self._any_word()
        if word not in words:
            self.at = start
            self._fail(f"{what} is one of {', '.join(words)}, not {word!r}")
        return word

    def _dialect(self, mark: str, name: str) -> None:
        found = re.compile(rf"\s*{re.escape(mark)}(?:tt|ttcore)\.{name}\b").match(
            self.text, self.at
        )
        if found is None:
            self._fail(f"'{mark}tt.{name}' is missing")
        self.at = found.end()

    def _sign(self, wanted: str) -> None:
        if self._next() != wanted:
            self._fail(f"{wanted!r} is missing")
        self.at = self.text.index(wanted, self.at) + 1

    def _next(self) -> str:
        return self.text[self.at :].lstrip()[:1]

    def _fail(self, what: str) -> NoReturn:
        place = len(self.text) - len(self.text[self.at :].lstrip())
        raise SpecError(
            f"{what}, at character {place + 1} of the tensor type",
            value=self.text[place : place + 40],
            instead=EXAMPLE,
        )


def _space(name: str) -> MemorySpace:
    return next(space for space in get_args(MemorySpace) if space == name)


def _padding(name: str) -> Padding:
    return next(value for value in get_args(Padding) if value == name)


def _by_x(numbers: tuple[int, ...]) -> str:
    return "x".join(map(str, numbers))
