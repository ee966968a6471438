"""Which positions of a cell's shard hold data, and which boxes are padding (layouts.md §6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.layout import Layout

Span = tuple[int, int]
MOST_SPANS = 100_000


@dataclass(frozen=True, slots=True)
class Box:
    """A box of positions in a shard: from `start` to before `end` along each group."""

    start: tuple[int, ...]
    end: tuple[int, ...]

    @property
    def volume(self) -> int:
        """Number of positions."""
        result = 1
        for first, last in zip(self.start, self.end, strict=True):
            result *= last - first
        return result


def valid_spans(layout: Layout, group: int, at: int) -> tuple[Span, ...]:
    """Return the offsets (from, to before) along a group that have data, in cells at one place.

    `at`: coordinate of the cells along the group. Holes of the collapse are left out. Raises
    SpecError for a layout with a dimension in two groups, or with more than 100,000 spans.
    """
    _check_separable(layout)
    spans: list[Span] = []
    data = _coordinate_spans(layout, group)
    for offset, start, length in layout.split.runs(group, at):
        for low, high in data:
            first, last = max(low, start), min(high, start + length)
            if first < last:
                spans.append((offset + first - start, offset + last - start))
    return tuple(_merged(sorted(spans)))


def padding_boxes(layout: Layout, cell: Sequence[int]) -> tuple[Box, ...]:
    """Return disjoint boxes of positions that a cell allocates without data: all its padding.

    The boxes of the first group span all of the others; those of the second lie where the first
    has data, and so on. Example: 53 × 63 on <3x2> with tiles of 32 × 32, cell (2, 1): rows 17 to 31
    of all columns, and column 31 of rows 0 to 16. Raises SpecError like `valid_spans`.
    """
    sides = layout.allocated_shape
    boxes: list[Box] = []
    before: list[tuple[Span, ...]] = []
    for group, (at, extent) in enumerate(zip(cell, sides, strict=True)):
        spans = valid_spans(layout, group, at)
        behind = [((0, side),) for side in sides[group + 1 :]]
        for gap in _gaps(spans, extent):
            boxes += _boxes([*before, (gap,), *behind])
        before.append(spans)
    return tuple(boxes)


def _check_separable(layout: Layout) -> None:
    if not layout.collapse.separable:
        raise SpecError(
            "padding of a layout with a dimension in two groups is no set of boxes",
            value=str(layout.collapse.affine),
            instead="padding(cell), which counts it",
        )


def _coordinate_spans(layout: Layout, group: int) -> list[Span]:
    """Return the coordinates of a group at which a tensor index lies, as (start, stop) spans.

    SpecError if they are more than MOST_SPANS.
    """
    spans: list[Span] = [(0, 1)]
    shape = layout.collapse.shape
    for number, factor in sorted(layout.collapse.rows[group], key=lambda term: term[1]):
        if shape[number] == 1:
            continue
        if len(spans) == 1 and spans[0] == (0, factor):
            spans = [(0, factor * shape[number])]
            continue
        if len(spans) * shape[number] > MOST_SPANS:
            raise SpecError(f"group {group} has more than {MOST_SPANS} holes", value=shape)
        spans = [
            (low + step * factor, high + step * factor)
            for step in range(shape[number])
            for low, high in spans
        ]
    return _merged(spans)


def _merged(spans: Sequence[Span]) -> list[Span]:
    result: list[Span] = []
    for low, high in spans:
        if result and result[-1][1] == low:
            result[-1] = (result[-1][0], high)
        else:
            result.append((low, high))
    return result


def _gaps(spans: Sequence[Span], extent: int) -> list[Span]:
    ends = [0, *(high for _, high in spans)]
    starts = [*(low for low, _ in spans), extent]
    return [(low, high) for low, high in zip(ends, starts, strict=True) if low < high]


def _boxes(axes: Sequence[Sequence[Span]]) -> list[Box]:
    boxes = [Box((), ())]
    for spans in axes:
        boxes = [Box((*box.start, low), (*box.end, high)) for box in boxes for low, high in spans]
    return boxes
