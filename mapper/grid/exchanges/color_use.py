"""Which routers use each color: streams of words share one if they have no router in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class ColorUse:
    """The routers that each color is in use at.

    `taken`: by color, a bit for each of its routers; a router is one bit, whatever its number.
    """

    taken: dict[int, int] = field(default_factory=dict)

    def free_for(self, routers: int) -> Iterator[int]:
        """Yield the colors in use that none of some routers uses, in the order of their first use.

        routers: a bit each.
        """
        return (color for color, taken in self.taken.items() if not taken & routers)

    def add(self, color: int, routers: int) -> None:
        """Let some routers, a bit each, use a color."""
        self.taken[color] = self.taken.get(color, 0) | routers

    def remove(self, color: int, routers: int) -> None:
        """Let some routers, a bit each, use a color no more; one without routers is in no use."""
        self.taken[color] &= ~routers
        if not self.taken[color]:
            del self.taken[color]
