"""The colors on which tiles come and go along rings, and which elements have the same.

An element receives on one color and sends on another one, and tiles of the way back pass its router
on a third, so a ring has four colors: two for each direction, by turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tilewright.mapper.grid.rings.ring_links import RingLink, ring_links
from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.lowering.sums.sum_roles import Numbers, Role, ShiftColors, split_roles
from tilewright.simulator.program.areas import areas_along


def shift_color(tensor: str, link: RingLink) -> str:
    """Name the color of a link of a ring: `shift_<tensor>_up0`, `up1`, `down0` or `down1`."""
    return f"shift_{tensor}_{link.direction}{link.parity}"


def with_shifts(
    read: SpaceTime, roles: Sequence[Role], placement: Numbers
) -> tuple[tuple[Role, ...], Numbers]:
    """Add the colors of shifting tensors to the roles; return the roles and each element's number.

    `roles`, `placement`: the roles by what elements do with sums, and the number of each element's
    role: (rows, columns). Roles are split where elements that had the same one use different
    colors.
    """
    split = tuple(roles)
    for tensor in read.shifted:
        colors, of_position = _kinds(tensor, ring_size(read, tensor))
        along = of_position[None, :] if tensor.shift == "X" else of_position[:, None]
        split, placement = split_roles(split, placement, along, partial(_with_shift, colors))
    return split, placement


def _with_shift(colors: Sequence[ShiftColors], role: Role, kind: int) -> Role:
    return replace(role, shifts=(*role.shifts, colors[kind]))


def ring_size(read: SpaceTime, tensor: HeldTensor) -> int:
    """Return the number of elements of each ring along which a tensor shifts."""
    return read.columns if tensor.shift == "X" else read.rows


def _kinds(tensor: HeldTensor, elements: int) -> tuple[list[ShiftColors], Numbers]:
    """Return the different pairs of colors of a ring, and the number of each position's pair.

    Positions are those along the axis: 0 to `elements` - 1.
    """
    came, goes = [""] * elements, [""] * elements
    for link in ring_links(elements):
        came[link.target] = goes[link.source] = shift_color(tensor.name, link)
    numbers: dict[ShiftColors, int] = {}
    of_position = [
        numbers.setdefault(ShiftColors(tensor.name, *colors), len(numbers))
        for colors in zip(came, goes, strict=True)
    ]
    return list(numbers), np.array(of_position, dtype=np.int32)


def route_shifts(builder: ProgramBuilder, read: SpaceTime) -> None:
    """Declare colors and routes of the rings of all tensors that shift; changes `builder`."""
    for tensor in read.shifted:
        links = ring_links(ring_size(read, tensor))
        for color in sorted({shift_color(tensor.name, link) for link in links}):
            builder.color(color)
        places: dict[tuple[str, str, str], list[int]] = {}
        for link in links:
            for position, rx, tx in _turns(link, tensor.shift == "X"):
                key = shift_color(tensor.name, link), rx, tx
                places.setdefault(key, []).append(position)
        assert tensor.shift is not None
        lines = range(read.rows if tensor.shift == "X" else read.columns)
        for (color, rx, tx), positions in places.items():
            for area in areas_along(tensor.shift, lines, sorted(positions)):
                builder.route(color, area, rx=rx, tx=tx)


def _turns(link: RingLink, along_x: bool) -> Iterator[tuple[int, str, str]]:
    """Yield (position, rx, tx) for the source, any element between, and the target of a link.

    `rx`, `tx`: the ports by which words enter the router of that element and leave it.
    """
    goes = (
        ("E" if link.direction == "up" else "W")
        if along_x
        else ("S" if link.direction == "up" else "N")
    )
    comes = {"E": "W", "W": "E", "S": "N", "N": "S"}[goes]
    yield link.source, "R", goes
    if abs(link.target - link.source) == 2:
        yield (link.source + link.target) // 2, comes, goes
    yield link.target, comes, "R"
