"""What a tile buffer asks of a memory: tiles, depth, lifetime, and where it may start."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.arch.errors import SpecError


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferRequest:
    """Ask for `depth` tiles of `tile_bytes`, alive from step `first` to step `last`, both included.

    Tiles start at addresses that are one of `residues` modulo `modulus`, all at the same one: with
    modulus 16 and residue 0 they are aligned to 16 bytes; with the bytes of one round over all
    banks, a residue chooses the bank of the first word. Raises SpecError for numbers below their
    least, residues outside 0 to modulus - 1, and a lifetime that ends before it starts.
    """

    name: str
    tile_bytes: int
    depth: int = 1
    first: int = 0
    last: int = 0
    modulus: int = 1
    residues: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        if min(self.tile_bytes, self.depth, self.modulus) < 1 or self.last < self.first:
            raise SpecError(
                f"buffer {self.name}: bytes, depth and modulus are 1 or more, and its lifetime "
                "ends after it starts",
                value=(self.tile_bytes, self.depth, self.modulus, self.first, self.last),
            )
        if not self.residues or any(not 0 <= r < self.modulus for r in self.residues):
            raise SpecError(
                f"buffer {self.name}: residues are 0 to {self.modulus - 1}", value=self.residues
            )

    @property
    def stride(self) -> int:
        """Bytes from one tile to the next: tiles all start at the same residue."""
        return -(-self.tile_bytes // self.modulus) * self.modulus

    @property
    def bytes(self) -> int:
        """Bytes from the start of the first tile to the end of the last."""
        return self.stride * (self.depth - 1) + self.tile_bytes

    def alive_with(self, other: BufferRequest) -> bool:
        """Tell whether both are alive at some step."""
        return self.first <= other.last and other.first <= self.last

    def lowest(self, at_least: int, residue: int) -> int:
        """Return the lowest address from `at_least` on with a residue."""
        return at_least + (residue - at_least) % self.modulus
