"""A matrix product on a grid of cores: what a core computes, keeps, receives (layouts.md §13)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Final

from tilewright.arch.errors import SpecError
from tilewright.arch.number_format import NumberFormat
from tilewright.mapper.layout.machines.layout_machine import LayoutMachine
from tilewright.mapper.layout.packing.buffer_request import BufferRequest
from tilewright.mapper.layout.packing.packing import PackedMemory, fits, pack

SIDE: Final = 32
MOST_PASSES: Final = 64


@dataclass(frozen=True, kw_only=True)
class Gemm:
    """Multiply m × k by k × n scalars on a grid of cores, in tiles of 32 × 32.

    `grid`: rows and columns of cores that the result is divided over; `element`: number format of
    all three; `fidelity`: lofi, hifi2, hifi3 or hifi4; `resident`: whether the first operand and
    the result stay in the cores (else they are in DRAM, like the second operand always is);
    `inner_block`: tiles along k that a core receives at a time; `passes`: parts of the result along
    m and along n that a core works on one after the other. Raises SpecError for numbers below 1.
    """

    m: int
    k: int
    n: int
    grid: tuple[int, int]
    element: NumberFormat
    fidelity: str
    resident: bool = True
    inner_block: int = 4
    passes: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        numbers = (self.m, self.k, self.n, *self.grid, self.inner_block, *self.passes)
        if min(numbers) < 1:
            raise SpecError("sizes, grid, blocks and passes are 1 or more", value=numbers)

    @cached_property
    def core_tiles(self) -> tuple[int, int, int]:
        """Tiles of a core along m and n, the most of any core, and along k."""
        rows, columns = self.grid
        return (-(-self.m // (SIDE * rows)), -(-self.n // (SIDE * columns)), -(-self.k // SIDE))

    @property
    def tile_products(self) -> int:
        """Products of two tiles that the busiest core computes."""
        high, wide, deep = self.core_tiles
        return high * wide * deep

    @property
    def tile_bytes(self) -> int:
        """Bytes of a tile as the hardware stores it."""
        return self.element.tile_bytes(SIDE * SIDE, "hardware")

    def buffers(self) -> tuple[BufferRequest, ...]:
        """Return the buffers of a core: resident shards, and blocks of the operands, doubled."""
        high, wide, deep = self.core_tiles
        size = self.tile_bytes
        part_high, part_wide = -(-high // self.passes[0]), -(-wide // self.passes[1])
        block = min(self.inner_block, deep)
        requests = [
            BufferRequest(name="blocks of operand 0", tile_bytes=part_high * block * size, depth=2),
            BufferRequest(name="blocks of operand 1", tile_bytes=part_wide * block * size, depth=2),
        ]
        if self.resident:
            shard = high * -(-deep // self.grid[1])
            requests.append(BufferRequest(name="operand 0", tile_bytes=shard * size))
            requests.append(BufferRequest(name="result", tile_bytes=high * wide * size))
        else:
            requests.append(BufferRequest(name="result", tile_bytes=part_high * part_wide * size))
        return tuple(requests)

    def packed(self, machine: LayoutMachine) -> PackedMemory:
        """Return addresses for the buffers of a core; raises InfeasibleMapping like `pack`."""
        memory = machine.memories["l1"]
        return pack(self.buffers(), memory.unit_bytes, f"each core of {machine.name}")


def stored(gemm: Gemm, machine: LayoutMachine) -> Gemm:
    """Return the product with its data where they fit: in the cores, else in DRAM.

    Raises InfeasibleMapping like `in_dram`.
    """
    resident = replace(gemm, resident=True, passes=(1, 1))
    return resident if _fits(resident, machine) else in_dram(gemm, machine)


def in_dram(gemm: Gemm, machine: LayoutMachine) -> Gemm:
    """Return the product with its data in DRAM, in the passes that read the fewest operands again.

    Raises InfeasibleMapping if even the smallest parts do not fit a core.
    """
    high, wide, _ = gemm.core_tiles
    choices = product(range(1, min(high, MOST_PASSES) + 1), range(1, min(wide, MOST_PASSES) + 1))
    candidate = gemm
    for passes in sorted(choices, key=lambda pair: (high * pair[1] + wide * pair[0], pair)):
        candidate = replace(gemm, resident=False, passes=passes)
        if _fits(candidate, machine):
            return candidate
    candidate.packed(machine)
    return candidate


def _fits(gemm: Gemm, machine: LayoutMachine) -> bool:
    return fits(gemm.buffers(), machine.memories["l1"].unit_bytes)
