"""The graph of waits as an SVG: boxes one below the other, and lines in lanes at their right.

What is waited for stands in the box of who waits, so no label meets another; a line leaves at its
row, goes along the lane of its target and ends there. Lanes whose spans do not meet share a place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, NamedTuple

LEFT, WIDE, GAP, ROW, PAD = 10, 500, 18, 15, 6
"""Pixels: the boxes' left side and width, between boxes, a line of text, inside a box."""
LANE: Final = 16
LETTERS: Final = 74
"""Letters of a line in a box."""
COLORS: Final = ("#b5483a", "#2f6f9f", "#3d7d3a", "#8a5ea8", "#9a6a12", "#3b7f80")
STYLE: Final = (
    "text{font:12px sans-serif}.label{fill:#555;font-size:11px}"
    "rect{fill:#eef3fb;stroke:#4a6fa5}path{fill:none;stroke-width:1.5}"
)


@dataclass(frozen=True, slots=True)
class _PictureBox:
    """A node: its lines, where it stands, and the height of each of its waits' rows."""

    title: tuple[str, ...]
    waits: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...]
    """(lines of the label, targets) per row."""
    top: int

    @property
    def height(self) -> int:
        return 2 * PAD + ROW * (len(self.title) + sum(len(lines) for lines, _ in self.waits))

    @property
    def entry(self) -> int:
        """Where lines arrive: the middle of the first line."""
        return self.top + PAD + ROW // 2

    def exits(self) -> list[int]:
        """Return where the line of each row leaves."""
        heights, row = [], len(self.title)
        for lines, _ in self.waits:
            heights.append(self.top + PAD + ROW * row + ROW // 2)
            row += len(lines)
        return heights


class _LaneSpan(NamedTuple):
    """The heights, in pixels, between which a lane is taken."""

    low: int
    high: int


def picture(nodes: Sequence[str], edges: Sequence[tuple[int, int, str]]) -> str:
    """Return a graph as an SVG picture; `edges` are (from, to, label) by number of the node."""
    boxes = _boxes(nodes, edges)
    lanes = _lanes(boxes)
    width = LEFT + WIDE + LANE * (max(lanes.values(), default=0) + 2)
    height = max((box.top + box.height for box in boxes), default=0) + GAP
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}">'
        ),
        f"<style>{STYLE}</style>",
        '<rect x="0" y="0" width="100%" height="100%" style="fill:#fff;stroke:none"/>',
    ]
    for box in boxes:
        parts += _lines(box)
    for box in boxes:
        for (_, targets), y in zip(box.waits, box.exits(), strict=True):
            parts += [_way(y, boxes[target].entry, lanes[target]) for target in targets]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _boxes(nodes: Sequence[str], edges: Sequence[tuple[int, int, str]]) -> list[_PictureBox]:
    """Return a box per node; waits with one label share a row."""
    waits: list[dict[str, list[int]]] = [{} for _ in nodes]
    for source, target, label in edges:
        waits[source].setdefault(label, []).append(target)
    boxes: list[_PictureBox] = []
    top = GAP
    for node, node_waits in zip(nodes, waits, strict=True):
        rows = tuple(
            (wrapped(label, LETTERS), tuple(targets)) for label, targets in node_waits.items()
        )
        boxes.append(_PictureBox(wrapped(node, LETTERS - 4), rows, top))
        top += boxes[-1].height + GAP
    return boxes


def _lanes(boxes: Sequence[_PictureBox]) -> dict[int, int]:
    """Return the lane of every node that is waited for: short spans first, the innermost free."""
    spans = _spans(boxes)
    lanes: dict[int, int] = {}
    spans_in_lane: list[list[_LaneSpan]] = []
    for target in sorted(spans, key=lambda n: (spans[n].high - spans[n].low, n)):
        lane = _free_lane(spans_in_lane, spans[target])
        if lane == len(spans_in_lane):
            spans_in_lane.append([])
        spans_in_lane[lane].append(spans[target])
        lanes[target] = lane
    return lanes


def _spans(boxes: Sequence[_PictureBox]) -> dict[int, _LaneSpan]:
    """Return the heights between which the lines to each node that is waited for run."""
    spans: dict[int, _LaneSpan] = {}
    for box in boxes:
        for (_, targets), y in zip(box.waits, box.exits(), strict=True):
            for target in targets:
                low, high = spans.get(target, (boxes[target].entry,) * 2)
                spans[target] = _LaneSpan(min(low, y), max(high, y))
    return spans


def _free_lane(lanes: Sequence[Sequence[_LaneSpan]], span: _LaneSpan) -> int:
    """Return the first lane in which a span overlaps no other one, or the next new lane."""
    for number, spans in enumerate(lanes):
        if all(span.high < low or high < span.low for low, high in spans):
            return number
    return len(lanes)


def _lines(box: _PictureBox) -> list[str]:
    """Return a box with its text."""
    parts = [f'<rect x="{LEFT}" y="{box.top}" width="{WIDE}" height="{box.height}" rx="4"/>']
    texts = [("", line) for line in box.title]
    texts += [(' class="label"', f"→ {line}") for lines, _ in box.waits for line in lines]
    for row, (style, text) in enumerate(texts):
        y = box.top + PAD + ROW * row + 12
        parts.append(f'<text{style} x="{LEFT + 8}" y="{y}">{escape(text)}</text>')
    return parts


def _way(start: int, end: int, lane: int) -> str:
    """Return the line from a row along a lane to a node, with its arrow."""
    side, x = LEFT + WIDE, LEFT + WIDE + LANE * (lane + 1)
    color = COLORS[lane % len(COLORS)]
    return f'<path stroke="{color}" d="M{side},{start}H{x}V{end}H{side}m7,-4l-7,4l7,4"/>'


def wrapped(text: str, width: int) -> tuple[str, ...]:
    """Return a text as lines of fewer letters than `width`; a longer word has its own line."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return tuple(lines)
