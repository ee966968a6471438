"""Modulo allocation of PSUM and SBUF tiles, by the six numbers of a public interface (§7.6).

Example: blocks 0 to 3 of 128 × 512 f32 with `base_bank=0, num_bank_tiles=(2,)` lie in banks 0, 1,
0, 1: one is written while the other is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final, Literal

from tilewright.arch.errors import SpecError
from tilewright.arch.number_format import NumberFormat
from tilewright.mapper.layout.collapse import Collapse
from tilewright.mapper.layout.grid_map import row_major
from tilewright.mapper.layout.grid_split import GridSplit
from tilewright.mapper.layout.layout import Layout
from tilewright.mapper.layout.legality.broken_rule import BrokenRule
from tilewright.mapper.layout.legality.placement_rules import PartitionedMemory
from tilewright.mapper.layout.rotation import ModuloRotation
from tilewright.mapper.layout.tile_placement import TilePlacement
from tilewright.mapper.layout.tiling import Tiling

Place = tuple[int, int, int]
PSUM: Final = PartitionedMemory("psum", 128, 8, 2048)
SBUF: Final = PartitionedMemory("sbuf", 128, 1, 192 * 1024 - 16 * 1024)


@dataclass(frozen=True, slots=True)
class BlockedTensor:
    """Describe a tensor of blocks: leading block dimensions, one of partitions, then free ones.

    `blocks`: extents of the block dimensions; `partitions`: extent of the partition dimension
    (`pdim_size`); `free_bytes`: bytes of the free dimensions of a block in one partition
    (`fdim_size`).
    """

    blocks: tuple[int, ...]
    partitions: int
    free_bytes: int

    @classmethod
    def of(cls, shape: Sequence[int], free_rank: int, element: NumberFormat) -> BlockedTensor:
        """Cut a shape into blocks, partitions and `free_rank` free dimensions.

        Example: (4, 128, 512) of f32 with one free dimension: blocks (4,), 128 partitions, 2048
        bytes. Raises SpecError for a shape without a partition dimension.
        """
        if not 0 <= free_rank < len(shape):
            raise SpecError("a blocked tensor has a partition dimension", value=tuple(shape))
        cut = len(shape) - free_rank
        scalars = prod(shape[cut:])
        return cls(tuple(shape[: cut - 1]), shape[cut - 1], element.tile_bytes(scalars))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuloAllocation:
    """Allocate the blocks of a tensor in PSUM or SBUF (`space`) by modulo of the block index.

    Bank, first partition and byte address of block i are base + scale * linearize(counts, i mod
    counts), row-major. The bases are `base_bank`, `base_partition` and `base_addr`, the counts
    `num_bank_tiles`, `num_par_tiles` and `num_free_tiles`, the scales 1, `partitions` and
    `free_bytes` of the tensor. Empty counts are all ones: every block shares one tile. SBUF has no
    banks.
    """

    space: Literal["psum", "sbuf"] = "psum"
    base_bank: int = 0
    base_addr: int = 0
    base_partition: int = 0
    num_bank_tiles: tuple[int, ...] = ()
    num_par_tiles: tuple[int, ...] = ()
    num_free_tiles: tuple[int, ...] = ()

    def place(self, tensor: BlockedTensor) -> TilePlacement:
        """Return the placement of a tensor's blocks; raise SpecError for counts of another length.

        The interface's documented function cuts both tuples to the shorter one, so that blocks
        share tiles unasked; here that is refused.
        """
        self._check_counts(tensor)
        return TilePlacement(
            blocks=tensor.blocks,
            tile_bytes=tensor.free_bytes,
            partitions=tensor.partitions,
            bank=ModuloRotation(self.base_bank, 1, self.num_bank_tiles),
            partition=ModuloRotation(self.base_partition, tensor.partitions, self.num_par_tiles),
            address=ModuloRotation(self.base_addr, tensor.free_bytes, self.num_free_tiles),
        )

    def layout(self, shape: Sequence[int], free_rank: int, element: NumberFormat) -> Layout:
        """Return the layout of a blocked tensor on one core, with the blocks placed.

        `shape`: block dimensions, the partition dimension, `free_rank` free ones, which lie
        row-major in a partition. Raises SpecError like `place`. Example: scalar (3, 5, 7) of (4,
        128, 512) f32 with two banks lies in bank 1, partition 5, byte 28.
        """
        tensor = BlockedTensor.of(shape, free_rank, element)
        placement, axis = self.place(tensor), len(tensor.blocks)
        collapse = Collapse.of(shape, ((axis + 1, len(shape)),) if free_rank else ())
        behind = (1,) * (len(collapse.extents) - axis)
        cells = (1,) * len(collapse.extents)
        plain = Layout.on_grid(
            collapse,
            GridSplit.exact(collapse.extents, cells),
            Tiling((), element),
            row_major(cells, (1,)),
            self.space,
        )
        return plain.with_place(
            replace(
                placement,
                blocks=(*tensor.blocks, *behind),
                bank=_longer(placement.bank, behind),
                partition=_longer(placement.partition, behind),
                address=_longer(placement.address, behind),
                partition_axis=axis,
            )
        )

    def function(self) -> Callable[[Sequence[int], int, int], Place]:
        """Return the same rule as a function (block index, partitions, bytes) → place.

        A place is (bank, first partition, byte address).
        """

        def place(index: Sequence[int], pdim_size: int, fdim_size: int) -> Place:
            at = self.place(BlockedTensor(tuple(i + 1 for i in index), pdim_size, fdim_size)).at(
                index
            )
            return at.bank, at.partition, at.address

        return place

    def broken_rules(
        self, tensor: BlockedTensor, memory: PartitionedMemory | None = None
    ) -> tuple[BrokenRule, ...]:
        """Return every rule that the allocation breaks, with numbers.

        `memory`: sizes of another machine than trn1 and inf2. Besides the rules of the memory:
        `counts-length`, and for PSUM the limits of the interface's releases 2.20 to 2.24: base
        address and base partition 0, one tile per bank and none along partitions.
        """
        lengths = tuple(self._length_rules(tensor))
        if lengths:
            return (*lengths, *self._release_rules())
        sizes = memory or (PSUM if self.space == "psum" else SBUF)
        return (*self._release_rules(), *sizes.broken_rules(self.place(tensor)))

    def _length_rules(self, tensor: BlockedTensor) -> Iterator[BrokenRule]:
        for name in ("num_bank_tiles", "num_par_tiles", "num_free_tiles"):
            counts: tuple[int, ...] = getattr(self, name)
            if counts and len(counts) != len(tensor.blocks):
                yield BrokenRule(
                    f"{self.space}.counts-length",
                    f"{name} has {len(counts)} counts, the tensor {len(tensor.blocks)} block "
                    "dimensions",
                    {"counts": len(counts), "blocks": len(tensor.blocks)},
                    f"() or {len(tensor.blocks)} counts",
                )

    def _check_counts(self, tensor: BlockedTensor) -> None:
        for rule in self._length_rules(tensor):
            raise SpecError(rule.what, value=tensor.blocks, instead=rule.instead)

    def _release_rules(self) -> Iterator[BrokenRule]:
        if self.space == "sbuf":
            return
        for name in ("base_addr", "base_partition"):
            if getattr(self, name):
                yield BrokenRule(
                    f"psum.{name}",
                    f"{name} must be 0 in this release",
                    {name: getattr(self, name)},
                    "0",
                )
        for name in ("num_par_tiles", "num_free_tiles"):
            if prod(getattr(self, name)) > 1:
                yield BrokenRule(
                    f"psum.{name}",
                    f"{name} must be () or ones in this release: a tile has a bank of its own",
                    {name: prod(getattr(self, name))},
                    "num_bank_tiles",
                )


def _longer(rotation: ModuloRotation, behind: tuple[int, ...]) -> ModuloRotation:
    """Return the rotation for block indices with more axes at the end, of `behind` blocks."""
    return replace(rotation, counts=(*rotation.counts, *behind)) if rotation.counts else rotation


def check_not_mixed(automatic: Sequence[str], placed: Sequence[str]) -> None:
    """Refuse a kernel that places some tensors by hand and leaves others to the allocator.

    `automatic`, `placed`: names of the tensors of each kind. Raises SpecError with one of each.
    """
    if automatic and placed:
        raise SpecError(
            f"tensor {automatic[0]} is allocated automatically and {placed[0]} by address; one "
            "kernel cannot mix them",
            value=(tuple(automatic), tuple(placed)),
            instead="an address for every tensor, or for none",
        )
