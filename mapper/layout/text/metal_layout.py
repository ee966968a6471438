"""The text `tensor<2x3xf32, #tt.metal_layout<map, oob, <grid>, memref<...>>>` (layouts.md §8).

Reading checks what the text says twice: the shape of the memref must follow from the map, the grid
and the tile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from tilewright.arch.errors import SpecError
from tilewright.arch.number_format import NumberFormat, number_format
from tilewright.mapper.layout.affine_map import AffineMap
from tilewright.mapper.layout.collapse import Collapse
from tilewright.mapper.layout.grid_split import GridSplit
from tilewright.mapper.layout.layout import Layout, MemorySpace
from tilewright.mapper.layout.text.type_scanner import SPACES, TypeScanner, by_x, stored_text
from tilewright.mapper.layout.tiling import Tiling

EXAMPLE: Final = (
    "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, "
    "memref<18x32xf32, #tt.memory_space<l1>>>>"
)
_GRID: Final = re.compile(r"\s*<\s*(\d+(?:\s*x\s*\d+)*)\s*>")
_PARENTHESES: Final = re.compile(r"\s*(\([^()]*\)\s*->\s*)")


@dataclass(frozen=True, slots=True)
class MetalTensor:
    """A tensor type with its layout: `element` is the logical type, which tiling leaves as it is.

    `layout.tiling.element` is the type that is stored. Raises SpecError for a layout that this text
    does not say, such as one with a map to other units, with an alignment, or with blocks.
    """

    layout: Layout
    element: NumberFormat

    def __post_init__(self) -> None:
        layout = self.layout
        if layout.memory not in SPACES or layout != _of_text(layout):
            raise SpecError(
                "a linear-map text says map, padding, grid, tile and memory only, which do not "
                "give this layout",
                value=str(layout.collapse.affine),
                instead="linear_map_layout(...)",
            )

    def __str__(self) -> str:
        """Return the text form on one line; reading it gives an equal value."""
        layout, tiling = self.layout, self.layout.tiling
        shard = f"{by_x(layout.shard_tiles)}x{stored_text(tiling)}"
        memref = f"memref<{shard}, #tt.memory_space<{layout.memory}>>"
        return (
            f"tensor<{by_x(layout.shape)}x{self.element.text}, #tt.metal_layout<"
            f"{layout.collapse.affine}, {layout.padding_value}, <{by_x(layout.grid)}>, {memref}>>"
        )


def parse_metal_tensor(text: str) -> MetalTensor:
    """Read a tensor type with a metal layout; line breaks and spaces are free.

    The dialect may be called tt or ttcore. Raises SpecError with the place for other text, for a
    map that is not linear or loses data, and for a memref that does not follow from the rest, with
    the shape that does.
    """
    return _MetalScanner(text, EXAMPLE).tensor()


def divided(collapse: Collapse, grid: tuple[int, ...], tiling: Tiling) -> Layout:
    """Return the layout of a collapsed tensor, each dimension in equal shares over a grid.

    The last share may be shorter: extents are divided by the cells and rounded up, as the text with
    a linear map means it.
    """
    return Layout.on_grid(collapse, GridSplit.ceil(collapse.extents, grid), tiling)


def _of_text(layout: Layout) -> Layout:
    """Return the layout that a reader gets from the text of `layout`.

    The text says the map, the grid, the tile, memory and padding; all else follows from them.
    """
    collapse = Collapse.linear(layout.shape, layout.collapse.affine)
    tiling = Tiling(layout.tiling.sides, layout.tiling.element)
    return replace(
        divided(collapse, layout.grid, tiling),
        memory=layout.memory,
        padding_value=layout.padding_value,
    )


class _MetalScanner(TypeScanner):
    """Reads the text of a tensor type with a linear map, such as EXAMPLE."""

    def tensor(self) -> MetalTensor:
        self.word("tensor")
        self.sign("<")
        shape = self.extents()
        element = number_format(self.any_word())
        self.sign(",")
        self.dialect("#", "metal_layout")
        self.sign("<")
        affine = self._affine(len(shape))
        self.sign(",")
        padding = self.padding()
        self.sign(",")
        grid = self._grid()
        self.sign(",")
        memref, tiling, memory = self._memref()
        for _ in range(2):
            self.sign(">")
        self.end()
        layout = replace(
            divided(Collapse.linear(shape, affine), grid, tiling),
            memory=memory,
            padding_value=padding,
        )
        if layout.shard_tiles != memref:
            raise SpecError(
                f"the memref has the shape {by_x(memref)}, but the map, the grid and the tile "
                f"give {by_x(layout.shard_tiles)}",
                value=by_x(memref),
                instead=by_x(layout.shard_tiles),
            )
        return MetalTensor(layout, element)

    def _memref(self) -> tuple[tuple[int, ...], Tiling, MemorySpace]:
        self.word("memref")
        self.sign("<")
        shape, tiling = self.extents(), self.stored()
        self.sign(",")
        self.dialect("#", "memory_space")
        self.sign("<")
        memory = self.memory()
        self.sign(">")
        self.sign(">")
        return shape, tiling, memory

    def _affine(self, rank: int) -> AffineMap:
        head = _PARENTHESES.match(self.text, self.at)
        if head is None:
            self.fail("the affine map is missing: (d0, d1) -> (d0, d1)")
        depth, place = 0, head.end()
        for place in range(head.end(), len(self.text)):
            depth += {"(": 1, ")": -1}.get(self.text[place], 0)
            if depth == 0:
                break
        piece = self.text[self.at : place + 1]
        self.at = place + 1
        return AffineMap.parse(piece, rank)

    def _grid(self) -> tuple[int, ...]:
        match = _GRID.match(self.text, self.at)
        if match is None:
            self.fail("the grid is missing: <3x2>")
        self.at = match.end()
        return self.numbers(match.group(1))
