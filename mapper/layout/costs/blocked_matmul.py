"""A matrix product in blocks through SBUF and PSUM: buffers and traffic (layouts.md §14)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Final, Literal

from tilewright.arch.errors import SpecError
from tilewright.arch.number_format import NumberFormat
from tilewright.mapper.layout.legality.broken_rule import BrokenRule
from tilewright.mapper.layout.machines.layout_machine import LayoutMachine
from tilewright.mapper.layout.packing.buffer_request import BufferRequest
from tilewright.mapper.layout.packing.packing import PackedMemory, pack
from tilewright.mapper.layout.schemes.modulo_allocation import BlockedTensor, ModuloAllocation

TILE: Final = {"m": 128, "k": 128, "n": 512}
PARTITIONS: Final = 128
BANK_BYTES: Final = 2048
Order = Literal["mnk", "mkn", "nmk", "nkm", "kmn", "knm"]


@dataclass(frozen=True, kw_only=True)
class BlockedMatmul:
    """Multiply m × k by k × n scalars in tiles of 128 × 128 by 128 × 512, block by block.

    `block`: tiles of a block along m, k, n; `order`: of the loops over blocks, outermost first;
    `depths`: buffers for the blocks of the two operands (1: a load waits for the computation);
    `psum_banks`: tiles of partial sums in turn; `element`: of operands and result; `partial`: of
    partial sums that leave PSUM. Raises SpecError for numbers below 1.
    """

    m: int
    k: int
    n: int
    block: tuple[int, int, int]
    order: Order
    element: NumberFormat
    partial: NumberFormat
    depths: tuple[int, int] = (2, 2)
    psum_banks: int = 2

    def __post_init__(self) -> None:
        numbers = (self.m, self.k, self.n, *self.block, *self.depths, self.psum_banks)
        if min(numbers) < 1:
            raise SpecError("sizes, blocks, buffers and banks are 1 or more", value=numbers)

    @cached_property
    def tiles(self) -> dict[str, int]:
        """Tiles along m, k and n."""
        sizes = {"m": self.m, "k": self.k, "n": self.n}
        return {name: -(-size // TILE[name]) for name, size in sizes.items()}

    @cached_property
    def block_tiles(self) -> dict[str, int]:
        """Tiles of a block along m, k and n, at most all."""
        return {
            name: min(self.tiles[name], tiles)
            for name, tiles in zip("mkn", self.block, strict=True)
        }

    @cached_property
    def trips(self) -> dict[str, int]:
        """Iterations of the loop over blocks along m, k and n."""
        return {name: -(-tiles // self.block_tiles[name]) for name, tiles in self.tiles.items()}

    def loads(self, dims: str) -> int:
        """Return how often an operand over two dimensions (`mk` or `kn`) is loaded as a whole.

        Loops over the third dimension reload it, unless all loops that change its block, those of
        several iterations, stand outside.
        """
        inner = max(
            (at for at, name in enumerate(self.order) if name in dims and self.trips[name] > 1),
            default=-1,
        )
        return prod(self.trips[name] for name in self.order[: inner + 1] if name not in dims)

    @property
    def spills(self) -> bool:
        """Whether partial sums leave PSUM after each block along k, to be added in SBUF."""
        looped = [name for name in self.order if self.trips[name] > 1]
        if "k" not in looped:
            return False
        tiles = self.block_tiles["m"] * self.block_tiles["n"]
        return looped[-1] != "k" or tiles > self.psum_banks

    @property
    def evictions(self) -> int:
        """Tiles that leave PSUM in all."""
        return self.tiles["m"] * self.tiles["n"] * (self.trips["k"] if self.spills else 1)

    @property
    def hbm_bytes(self) -> tuple[int, int, int]:
        """Bytes moved from and to HBM: first operand, second operand, result."""
        bits = self.element.bits
        first = self.m * self.k * self.loads("mk")
        second = self.k * self.n * self.loads("kn")
        return first * bits // 8, second * bits // 8, self.m * self.n * bits // 8

    def buffers(self) -> tuple[BufferRequest, ...]:
        """Return the buffers in SBUF, in bytes of one partition."""
        tiles, bits = self.block_tiles, self.element.bits
        first = tiles["k"] * tiles["m"] * TILE["m"] * bits // 8
        second = tiles["k"] * tiles["n"] * TILE["n"] * bits // 8
        results = BufferRequest(name="result", tile_bytes=TILE["n"] * bits // 8, depth=2)
        if self.spills:
            size = self._partial_tiles() * TILE["n"] * self.partial.bits // 8
            results = BufferRequest(name="partial sums", tile_bytes=size)
        return (
            BufferRequest(name="blocks of operand 0", tile_bytes=first, depth=self.depths[0]),
            BufferRequest(name="blocks of operand 1", tile_bytes=second, depth=self.depths[1]),
            results,
        )

    def packed(self, machine: LayoutMachine) -> PackedMemory:
        """Return addresses for the buffers in SBUF; raises InfeasibleMapping like `pack`."""
        memory = machine.memories["sbuf"].partitioned()
        assert memory is not None
        return pack(self.buffers(), memory.bank_bytes, f"each partition of SBUF of {machine.name}")

    def broken_rules(self, machine: LayoutMachine) -> tuple[BrokenRule, ...]:
        """Return the rules that the tiles in PSUM break: they take turns in `psum_banks` banks."""
        tensor = BlockedTensor((self.evictions,), PARTITIONS, BANK_BYTES)
        turns = ModuloAllocation(space="psum", num_bank_tiles=(self.psum_banks,))
        return turns.broken_rules(tensor, machine.memories["psum"].partitioned())

    def _partial_tiles(self) -> int:
        """Return how many tiles have partial sums at a time.

        Along m and n: all tiles where the loop is inside that of k, else those of one block.
        """
        inside = self.order[self.order.index("k") + 1 :]
        return prod(self.tiles[d] if d in inside else self.block_tiles[d] for d in "mn")
