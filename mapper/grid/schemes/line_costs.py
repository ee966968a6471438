"""What the steps of a reduction along a line of elements cost on a machine."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final, NamedTuple

MOST_ELEMENTS: Final = 2048
"""Elements of a line for which a tree is made."""


class AdditionCosts(NamedTuple):
    """Cycles of the steps of a reduction, of which each passes one tile of partial sums on.

    `addition`: to add a tile; `way`: from the send of an element to the receive of another one,
    without links; `hop`: for each link between them.
    """

    addition: int
    way: int
    hop: int

    def __str__(self) -> str:
        return f"{self.addition},{self.way},{self.hop}"


@dataclass(frozen=True, slots=True)
class LineCosts:
    """Cycles of a machine in a reduction.

    `launch`: of an operation before its first word; `word`: of each word; `way`: of a word from one
    operation to the next one but for links; `hop`: of a link.
    """

    launch: int
    word: Fraction
    way: int
    hop: int

    def of(self, words: int) -> AdditionCosts:
        """Return the costs for tiles of so many words."""
        return AdditionCosts(self.launch + ceil(words * self.word), self.way, self.hop)


PUBLISHED_COSTS: Final = LineCosts(launch=5, word=Fraction(1), way=5, hop=1)
"""Those of the closed forms of theory/wafer.md §7.1, which a scheme without numbers takes."""
