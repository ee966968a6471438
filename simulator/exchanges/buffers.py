"""The two buffers of an element in an exchange, and descriptors of their parts."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.mapper.grid.exchanges.box_loops import BoxLoops
from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.isa.dsd import Ref

HELD, NEEDED = "held", "needed"
"""Buffers of an element: the part of a tensor that it has, and the part that it needs."""


@dataclass(frozen=True, slots=True)
class ExchangeAddresses:
    """Addresses, in 16-bit words, of the two buffers of an exchange in each element.

    `held`: of the part that an element has before; `needed`: of the part that it has afterwards.
    """

    held: int
    needed: int


def declare_loops(code: CodeBuilder, name: str, buffer: str, loops: BoxLoops) -> Ref:
    """Declare the descriptor of a part of a buffer in an element's code; return it as an operand.

    name: of the descriptor; loops: extents and distances of the part's dimensions, and its first
    value.
    """
    if not loops.is_extended:
        extent, stride = loops.loops[0] if loops.loops else (1, 1)
        return code.mem1d(name, buffer, extent=extent, stride=stride, offset=loops.offset)
    return code.mem4d(name, buffer, loops=loops.loops, offset=loops.offset)
