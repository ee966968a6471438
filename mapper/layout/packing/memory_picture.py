"""Packed buffers as SVG: addresses upwards, steps to the right, a box each (layouts.md §11)."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, Protocol

from tilewright.mapper.layout.packing.buffer_request import BufferRequest

_HEIGHT: Final = 240.0
_COLUMN: Final = 150.0
_LEFT: Final = 76.0
_TOP: Final = 30.0
_COLORS: Final = ("#9ec5e8", "#f3c48b", "#b7d8a8", "#d9b8e0", "#f0a9a0", "#c9cdd3")


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
    width, height = _LEFT + column * steps + 10, _HEIGHT + _TOP + 24
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" role="img" '
            'font-family="system-ui, sans-serif" font-size="11">'
        ),
        f"<title>{len(packed.buffers)} buffers, {packed.used} of {packed.capacity} bytes</title>",
        f'<text x="4" y="16">{packed.used} of {packed.capacity} bytes</text>',
        (
            f'<rect x="{_LEFT:g}" y="{_TOP:g}" width="{column * steps:g}" height="{_HEIGHT:g}" '
            'fill="#f3f4f6" stroke="#57606a"/>'
        ),
    ]
    for number, buffer in enumerate(packed.buffers):
        color = _COLORS[number % len(_COLORS)]
        lines += _box(buffer, packed.capacity, column, color)
    lines += [
        f'<text x="{_LEFT + column * (step + 0.5):g}" y="{_TOP + _HEIGHT + 16:g}" '
        f'text-anchor="middle" fill="#57606a">step {step}</text>'
        for step in range(steps if steps <= 12 else 0)
    ]
    return "\n".join([*lines, "</svg>"])


def _box(buffer: DrawnBuffer, capacity: int, column: float, color: str) -> list[str]:
    request, scale = buffer.request, _HEIGHT / capacity
    x = _LEFT + column * request.first
    y = _TOP + _HEIGHT - buffer.end * scale
    size = (column * (request.last - request.first + 1), request.bytes * scale)
    name = escape(request.name)
    tiles = f"{request.depth} × {request.tile_bytes} bytes at {buffer.address}"
    lines = [
        f"<g><title>{name}: {tiles}, steps {request.first} to {request.last}</title>",
        (
            f'<rect x="{x:g}" y="{y:g}" width="{size[0]:g}" height="{size[1]:g}" fill="{color}" '
            'stroke="#57606a"/>'
        ),
    ]
    for tile in range(1, min(request.depth, 64)):
        edge = _TOP + _HEIGHT - (buffer.address + tile * request.stride) * scale
        lines.append(
            f'<line x1="{x:g}" x2="{x + size[0]:g}" y1="{edge:g}" y2="{edge:g}" '
            'stroke="#57606a" stroke-dasharray="3 3"/>'
        )
    if size[1] >= 12:
        lines.append(f'<text x="{x + 5:g}" y="{y + size[1] / 2 + 4:g}">{name}</text>')
    bottom = _TOP + _HEIGHT - buffer.address * scale
    lines.append(
        f'<text x="{_LEFT - 6:g}" y="{bottom:g}" text-anchor="end" fill="#57606a">'
        f"{buffer.address}</text></g>"
    )
    return lines
