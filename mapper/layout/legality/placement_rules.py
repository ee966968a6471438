"""Rules for tiles in banked memories with partitions: PSUM and SBUF (layouts.md §7.6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tilewright.mapper.layout.legality.broken_rule import BrokenRule
from tilewright.mapper.layout.tile_placement import TilePlacement


@dataclass(frozen=True, slots=True)
class PartitionedMemory:
    """Describe one memory of partitions and banks.

    `space`: "psum" or "sbuf", also the prefix of rule names; `partitions`: of the memory; `banks`:
    of each partition (1: none); `bank_bytes`: of a bank in one partition, those that a program may
    use.
    """

    space: Literal["psum", "sbuf"]
    partitions: int
    banks: int
    bank_bytes: int

    def broken_rules(self, placement: TilePlacement) -> tuple[BrokenRule, ...]:
        """Return every rule that a placement breaks in this memory, each with its numbers.

        Rules: `bank` (numbers of banks), `bank-size` (a tile fits one bank), `address` (bytes
        within a bank), `partition` (they exist), `start-partition` (layouts.md §7.6).
        """
        return (*self._bank_rules(placement), *self._partition_rules(placement))

    def _bank_rules(self, placement: TilePlacement) -> Iterator[BrokenRule]:
        low, high = placement.bank.base, placement.bank.last
        if low < 0 or high >= self.banks:
            yield BrokenRule(
                f"{self.space}.bank",
                f"banks {low} to {high} of 0 to {self.banks - 1}",
                {"first": low, "last": high, "banks": self.banks},
                f"a base of at most {self.banks - (high - low + 1)}"
                if high - low < self.banks
                else f"at most {self.banks} tiles",
            )
        if placement.tile_bytes > self.bank_bytes:
            yield BrokenRule(
                f"{self.space}.bank-size",
                f"a tile of {placement.tile_bytes} bytes in banks of {self.bank_bytes}",
                {"bytes": placement.tile_bytes, "bank": self.bank_bytes},
                f"tiles of at most {self.bank_bytes} bytes per partition",
            )
        start, end = placement.address.base, placement.address.last + placement.tile_bytes
        if start < 0 or (end > self.bank_bytes and placement.tile_bytes <= self.bank_bytes):
            tiles = max(0, (self.bank_bytes - start) // placement.tile_bytes)
            yield BrokenRule(
                f"{self.space}.address",
                f"bytes {start} to {end} of {self.bank_bytes}: {end - self.bank_bytes} too many",
                {"first": start, "end": end, "bytes": self.bank_bytes},
                f"at most {tiles} tiles of {placement.tile_bytes} bytes from {start}",
            )

    def _partition_rules(self, placement: TilePlacement) -> Iterator[BrokenRule]:
        size = placement.partitions
        starts = sorted({placement.at(block).partition for block in placement.first_blocks()})
        beyond = [start for start in starts if start < 0 or start + size > self.partitions]
        if beyond:
            yield BrokenRule(
                f"{self.space}.partition",
                f"partitions {beyond[0]} to {beyond[0] + size - 1} of 0 to {self.partitions - 1}",
                {"first": beyond[0], "partitions": size, "memory": self.partitions},
            )
        allowed = start_partitions(size)
        wrong = [start for start in starts if start not in allowed]
        if wrong:
            yield BrokenRule(
                f"{self.space}.start-partition",
                f"a tile of {size} partitions starts at {wrong[0]}",
                {"start": wrong[0], "partitions": size},
                f"one of {', '.join(map(str, allowed))}" if allowed else "at most 128 partitions",
            )


def start_partitions(partitions: int) -> tuple[int, ...]:
    """Return where a tile of so many partitions may start: instructions reach no other place.

    65 to 128 partitions: 0; 33 to 64: 0 and 64; 1 to 32: 0, 32, 64, 96; none above 128.
    """
    for most, starts in ((32, (0, 32, 64, 96)), (64, (0, 64)), (128, (0,))):
        if partitions <= most:
            return starts
    return ()
