"""Packed buffers as SVG: addresses upwards, steps to the right, a box each (layouts.md §11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final, Protocol

from tilewright.mapper.layout.packing.buffer_request import BufferRequest

_HEIGHT: Final = 240.0
_COLUMN: Final = 150.0
_LEFT: Final = 76.0  # for addresses alone
_LETTER: Final = 6.0
_MOST_LETTERS: Final = 24  # of the names of thin buffers
_TOP: Final = 30.0
_ROW: Final = 13.0  # between labels of addresses
_COLORS: Final = ("#9ec5e8", "#f3c48b", "#b7d8a8", "#d9b8e0", "#f0a9a0", "#c9cdd3")
_STYLE: Final = """<style>
svg { --ink: #1c2127; --muted: #57606a; --room: #f3f4f6; }
text { fill: var(--ink); } .muted { fill: var(--muted); }
.in { fill: #1c2127; stroke-width: 4; paint-order: stroke; }
.edge { stroke: var(--muted); } .room { fill: var(--room); }
@media (prefers-color-scheme: dark) { svg { --ink: #e8e6e1; --muted: #98a1ab; --room: #222830; } }
</style>"""


class DrawnBuffer(Protocol):
    """A buffer with the bytes that it takes, `address` to `end` - 1."""

    @property
    def request(self) -> BufferRequest:
        """Name, size, and when it is alive."""
        ...

    @property
    def address(self) -> int:
        """First byte."""
        ...

    @property
    def end(self) -> int:
        """First byte behind it."""
        ...


class DrawnMemory(Protocol):
    """What a picture of a memory needs: its buffers, its bytes, and the most bytes used at once."""

    @property
    def buffers(self) -> Sequence[DrawnBuffer]:
        """The buffers, in any order."""
        ...

    @property
    def capacity(self) -> int:
        """Bytes of the memory."""
        ...

    @property
    def used(self) -> int:
        """Most bytes that are used."""
        ...


def memory_picture(packed: DrawnMemory) -> str:
    """Return an SVG document of the buffers of a memory: where each lies, and when it is alive.

    From left to right are the steps of the program, upwards are addresses in bytes. A buffer of
    several tiles has a line between them. packed: the buffers with their addresses and steps.
    """
    steps = max((buffer.request.last for buffer in packed.buffers), default=0) + 1
    column = _COLUMN if steps <= 6 else 6 * _COLUMN / steps
    labels, used = _labels(packed), f"{packed.used:,} of {packed.capacity:,} bytes"
    left = max(_LEFT, 16 + _LETTER * max(map(len, labels.values()), default=0))
    width, height = left + column * steps + 10, _HEIGHT + _TOP + 24
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" '
            'font-family="system-ui, sans-serif" font-size="11">'
        ),
        _STYLE,
        f"<title>{len(packed.buffers)} buffers, {used}</title>",
        f'<text x="4" y="16">{used}</text>',
        (
            f'<rect x="{left:g}" y="{_TOP:g}" width="{column * steps:g}" height="{_HEIGHT:g}" '
            'class="room edge"/>'
        ),
    ]
    for number, buffer in enumerate(packed.buffers):
        color = _COLORS[number % len(_COLORS)]
        lines += _box(buffer, packed.capacity, left, column, color)
    lines += _addresses(labels, packed.capacity, left)
    lines += [
        f'<text x="{left + column * (step + 0.5):g}" y="{_TOP + _HEIGHT + 16:g}" '
        f'text-anchor="middle" class="muted">step {step}</text>'
        for step in range(steps if steps <= 12 else 0)
    ]
    return "\n".join([*lines, "</svg>"])


def _box(buffer: DrawnBuffer, capacity: int, left: float, column: float, color: str) -> list[str]:
    request, scale = buffer.request, _HEIGHT / capacity
    x = left + column * request.first
    y = _TOP + _HEIGHT - buffer.end * scale
    size = (column * (request.last - request.first + 1), request.bytes * scale)
    name = escape(request.name)
    tiles = f"{request.depth} × {request.tile_bytes} bytes at {buffer.address}"
    lines = [
        f"<g><title>{name}: {tiles}, steps {request.first} to {request.last}</title>",
        (
            f'<rect x="{x:g}" y="{y:g}" width="{size[0]:g}" height="{size[1]:g}" fill="{color}" '
            'class="edge"/>'
        ),
    ]
    for tile in range(1, min(request.depth, 64)):
        edge = _TOP + _HEIGHT - (buffer.address + tile * request.stride) * scale
        lines.append(
            f'<line x1="{x:g}" x2="{x + size[0]:g}" y1="{edge:g}" y2="{edge:g}" '
            'class="edge" stroke-dasharray="3 3"/>'
        )
    if size[1] >= 12:
        place = f'x="{x + 5:g}" y="{y + size[1] / 2 + 4:g}"'
        lines.append(f'<text class="in" stroke="{color}" {place}>{name}</text>')
    return [*lines, "</g>"]


def _labels(packed: DrawnMemory) -> dict[int, str]:
    """Return the label of each first address: with names of buffers that are too thin for one."""
    thin: dict[int, list[str]] = {}
    for buffer in packed.buffers:
        names = thin.setdefault(buffer.address, [])
        if buffer.request.bytes * _HEIGHT / packed.capacity < 12:
            names.append(buffer.request.name)
    texts = {address: ", ".join(names)[:_MOST_LETTERS] for address, names in thin.items()}
    return {
        address: f"{texts[address]} at {address:,}" if texts[address] else f"{address:,}"
        for address in sorted(texts)
    }


def _addresses(labels: Mapping[int, str], capacity: int, left: float) -> Iterator[str]:
    """Yield the labels from the bottom up; one that would lie on another is moved up."""
    free = _TOP + _HEIGHT + _ROW
    for address, label in labels.items():
        free = min(_TOP + _HEIGHT - address * _HEIGHT / capacity, free - _ROW)
        text = escape(label)
        yield f'<text x="{left - 6:g}" y="{free:g}" text-anchor="end" class="muted">{text}</text>'
