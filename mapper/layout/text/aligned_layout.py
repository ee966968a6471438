"""The text `tensor<2x3x2x2x!tt.tile<…>, #tt.metal_layout<logical_shape = …>>` (layouts.md §8).

The aligned layout of 2025: the shape of the tensor is that of the device, grid then shard; the
logical shape, the alignments and the joined dimensions stand in the attribute. Reading checks that
the device shape follows from the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, get_args

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.collapse import Interval
from tilewright.mapper.layout.layout import Layout, Padding
from tilewright.mapper.layout.schemes.dim_alignments import aligned_collapse, aligned_layout
from tilewright.mapper.layout.text.type_scanner import SPACES, TypeScanner, by_x, stored_text
from tilewright.mapper.layout.tiling import Tiling

EXAMPLE: Final = (
    "tensor<2x3x1x1x!tt.tile<32x32, f32>, #tt.metal_layout<logical_shape = 64x96, "
    "dim_alignments = 32x32, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, "
    "undef, l1, sharded>>"
)
_PAIR: Final = re.compile(r"\s*\[\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*\]")
_SIDES: Final = re.compile(r"\s*(\d+(?:\s*x\s*\d+)*)")
_TYPE: Final = re.compile(r"\s*:\s*tensor\s*<\s*(\d+)\s*x\s*2\s*x\s*i64\s*>")


@dataclass(frozen=True, slots=True)
class AlignedTensor:
    """A device tensor with its aligned layout.

    `layout`: of the logical tensor; `alignments`: one per dimension; `intervals`: of joined
    dimensions, as written. Raises SpecError for a layout that these do not give.
    """

    layout: Layout
    alignments: tuple[int, ...]
    intervals: tuple[Interval, ...]

    def __post_init__(self) -> None:
        layout = self.layout
        tiling = Tiling(layout.tiling.sides, layout.tiling.element)
        said = aligned_layout(layout.shape, layout.grid, self.intervals, self.alignments, tiling)
        said = replace(said, memory=layout.memory, padding_value=layout.padding_value)
        if layout.memory not in SPACES or layout != said:
            raise SpecError(
                "an aligned text says shape, alignments, joined dimensions, grid, tile and memory "
                "only, which do not give this layout",
                value=(self.alignments, self.intervals),
                instead="aligned_layout(...)",
            )

    def __str__(self) -> str:
        """Return the text form on one line; reading it gives an equal value."""
        layout = self.layout
        pairs = ", ".join(f"[{begin}, {end}]" for begin, end in self.intervals)
        listed = f"[{pairs}]" if pairs else ""
        return (
            f"tensor<{by_x((*layout.grid, *layout.shard_tiles))}x{stored_text(layout.tiling)}, "
            f"#tt.metal_layout<logical_shape = {by_x(layout.shape)}, "
            f"dim_alignments = {by_x(self.alignments)}, collapsed_intervals = dense<{listed}> : "
            f"tensor<{len(self.intervals)}x2xi64>, {layout.padding_value}, {layout.memory}, "
            "sharded>>"
        )


def parse_aligned_tensor(text: str) -> AlignedTensor:
    """Read a device tensor type with an aligned layout; line breaks and spaces are free.

    The dialect may be called tt or ttcore; the value of padding may be left out (undef). Raises
    SpecError with the place for other text, for an interleaved tensor or an index map, and for a
    device shape that does not follow from the rest, with the shard that does.
    """
    return _AlignedScanner(text, EXAMPLE).tensor()


class _AlignedScanner(TypeScanner):
    """Reads the text of a tensor type with `dim_alignments`, such as EXAMPLE."""

    def tensor(self) -> AlignedTensor:
        self.word("tensor")
        self.sign("<")
        device, tiling = self.extents(), self.stored()
        self.sign(",")
        self.dialect("#", "metal_layout")
        self.sign("<")
        shape = self._field_numbers("logical_shape")
        self.sign(",")
        alignments = self._field_numbers("dim_alignments")
        if len(alignments) != len(shape):
            self.fail(f"{len(shape)} dimensions need as many alignments")
        self.sign(",")
        intervals = self._intervals()
        self.sign(",")
        before = self.at
        padding: Padding = "undef"
        has_padding = self.any_word() in get_args(Padding)
        self.at = before
        if has_padding:
            padding = self.padding()
            self.sign(",")
        memory = self.memory()
        self._sharded()
        for _ in range(2):
            self.sign(">")
        self.end()
        rank = len(aligned_collapse(shape, alignments, intervals).extents)
        grid, shard = device[:rank], device[rank:]
        layout = aligned_layout(shape, grid, intervals, alignments, tiling)
        if layout.shard_tiles != shard:
            raise SpecError(
                f"the device shape ends in the shard {by_x(shard)}, but logical shape, alignments "
                f"and the grid {by_x(grid)} give {by_x(layout.shard_tiles)}",
                value=by_x(device),
                instead=by_x((*grid, *layout.shard_tiles)),
            )
        layout = replace(layout, memory=memory, padding_value=padding)
        return AlignedTensor(layout, alignments, intervals)

    def _sharded(self) -> None:
        """Read `, sharded`, which may be left out."""
        if self.next_sign() != ",":
            return
        self.sign(",")
        start = self.at
        if self.one_of(("sharded", "interleaved"), "a memory layout") == "interleaved":
            self.at = start
            self.fail("an interleaved tensor is not read here (ShardedTensor.interleaved has it)")
        if self.next_sign() == ",":
            self.fail("an index map is not read here")

    def _field_numbers(self, name: str) -> tuple[int, ...]:
        self.word(name)
        self.sign("=")
        match = _SIDES.match(self.text, self.at)
        if match is None:
            self.fail(f"the numbers of {name} are missing: 64x96")
        self.at = match.end()
        return self.numbers(match.group(1))

    def _intervals(self) -> tuple[Interval, ...]:
        self.word("collapsed_intervals")
        self.sign("=")
        self.word("dense")
        self.sign("<")
        pairs: list[Interval] = []
        if self.next_sign() == "[":
            self.sign("[")
            pairs.append(self._pair())
            while self.next_sign() == ",":
                self.sign(",")
                pairs.append(self._pair())
            self.sign("]")
        self.sign(">")
        match = _TYPE.match(self.text, self.at)
        if match is None or match.group(1) != str(len(pairs)):
            self.fail(f"': tensor<{len(pairs)}x2xi64>' is missing")
        self.at = match.end()
        return tuple(pairs)

    def _pair(self) -> Interval:
        match = _PAIR.match(self.text, self.at)
        if match is None:
            self.fail("an interval is missing: [0, 1]")
        self.at = match.end()
        return int(match.group(1)), int(match.group(2))
