"""How an element's memory is shared by persistent tensors of all Einsums and the tiles of one.

Persistent tensors are in the elements before the first Einsum and after the last one. A path sets
words aside for those of all its Einsums, and each Einsum's other tiles have the rest
(theory/grid.md §8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tilewright.simulator.lowering.addresses import PERIOD_WORDS
from tilewright.simulator.search.candidates.candidates import BoundedFamily
from tilewright.simulator.search.paths.path_graph import Contents

MOST_SUMS: Final = 64
"""Numbers of words that paths may set aside; where there are more, they count in 32nds."""
PARTS: Final = 32
MOST_INPUTS: Final = 3


@dataclass(frozen=True, slots=True)
class PersistentSpace:
    """How the memory is shared.

    `step`: 16-bit words of which the words for each Einsum's persistent tensors are a multiple.
    `reserved`: numbers of words that paths may set aside; None if each Einsum's tiles fit beside
    the persistent tensors of all Einsums anyway.
    """

    step: int
    reserved: tuple[int, ...] | None

    @property
    def is_shared(self) -> bool:
        """Whether paths set memory aside."""
        return self.reserved is not None

    @property
    def starts(self) -> tuple[Contents, ...]:
        """What the elements may hold before the first Einsum, the most words set aside first.

        With these the options of all Einsums go together, so that a path is found at once.
        """
        if self.reserved is None:
            return (Contents(),)
        return tuple(Contents(reserved=words) for words in reversed(self.reserved))

    def set_aside(self, family: BoundedFamily) -> int:
        """Return the 16-bit words that are set aside for the persistent tensors of a family.

        They include those that alignment may leave free in front of each tensor.
        """
        if self.reserved is None or not family.persistent:
            return 0
        words = family.persistent + PERIOD_WORDS * len(family.family.resident)
        return -(-words // self.step) * self.step

    def tile_words(self, family: BoundedFamily) -> int:
        """Return the 16-bit words of a family's tiles for which none are set aside."""
        return family.words if self.reserved is None else family.words - family.persistent

    @staticmethod
    def of(free: int, staying: int, families: Sequence[Sequence[BoundedFamily]]) -> PersistentSpace:
        """Decide how an element's memory is shared.

        free: its 16-bit words; staying: the most of them that tensors take which stay between
        Einsums; families: of each Einsum, with the words of their tiles.
        """
        persistent = [max((f.persistent for f in group), default=0) for group in families]
        tiles = [max((f.words - f.persistent for f in group), default=0) for group in families]
        alignment = PERIOD_WORDS * MOST_INPUTS * sum(map(bool, persistent))
        if not any(persistent) or sum(persistent) + alignment + max(tiles) + staying <= free:
            return NOT_SHARED
        exact = PersistentSpace(1, ())._sums(families, free)
        if len(exact) <= MOST_SUMS:
            return PersistentSpace(1, exact)
        step = free // PARTS
        return PersistentSpace(step, PersistentSpace(step, ())._sums(families, free))

    def _sums(self, families: Sequence[Sequence[BoundedFamily]], free: int) -> tuple[int, ...]:
        """Return the words, up to `free`, that may be set aside for one family of each Einsum."""
        sums = {0}
        for group in families:
            sizes = {self.set_aside(family) for family in group}
            sums = {total + size for total in sums for size in sizes if total + size <= free}
        return tuple(sorted(sums))


NOT_SHARED: Final = PersistentSpace(1, None)
"""Each Einsum's tiles fit beside the persistent tensors of all Einsums."""
