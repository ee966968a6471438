"""The all-reduce by a ring: what each element of a group adds up, sends and receives.

The ring is folded onto the way of a snake through the group (rings/ring_links.py), of which a row
or a column is the simplest one. The tile is cut into a chunk for each element. First every chunk
goes round the ring once, and each element adds its part; it ends in its own element. Then each
element sends its chunk along the way to both sides, and routers hand it to all (theory/grid.md §3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tilewright.mapper.grid.number_types import values_per_wavelet
from tilewright.mapper.grid.rings.ring_links import ring_hops, ring_links, ring_places
from tilewright.mapper.grid.schemes.snake import Snake

MOST_IN_RING: Final = 64
"""Elements of a ring, at most: each has a code of its own."""
MOST_SENT: Final = 16
"""Words that the queues between two elements hold while all of them send and none receives."""


@dataclass(frozen=True, slots=True)
class RingReduction:
    """The ring through a group of elements that add up a tile of `values` values.

    `way`: through the elements of the group, along which the ring is folded. `together`: values in
    a word, 1 or 2.
    """

    way: Snake
    values: int
    together: int = 1

    @property
    def elements(self) -> int:
        """Number of elements of the ring."""
        return self.way.columns * self.way.rows

    @property
    def chunk(self) -> int:
        """Values of the tile that an element adds up."""
        return self.values // self.elements

    @property
    def chunk_words(self) -> int:
        """Words of the part of the tile that an element adds up."""
        return self.chunk // self.together

    @property
    def slice_words(self) -> int:
        """Words of a chunk that go round at a time: the queues hold them."""
        most = min(self.chunk_words, MOST_SENT)
        return next(n for n in range(most, 0, -1) if self.chunk_words % n == 0)

    @property
    def slice_values(self) -> int:
        """Values of a chunk that go round at a time."""
        return self.slice_words * self.together

    @property
    def reads(self) -> int:
        """Values that the elements read: each its whole tile, then its chunk for each side."""
        return self.elements * self.values + self.chunk * (2 * self.elements - 2)

    @property
    def writes(self) -> int:
        """Values that the elements write: each its own chunk, and those of all others."""
        return self.elements * self.values

    @property
    def additions(self) -> int:
        """Values that are added: each chunk in all elements but one."""
        return (self.elements - 1) * self.values

    @property
    def hops(self) -> int:
        """Words times links: each chunk once round the ring but for a link, then to all others."""
        scattered = (self.elements - 1) * ring_hops(self.elements)
        return self.chunk_words * (scattered + self.elements * (self.elements - 1))

    def chunks(self, place: int) -> list[int]:
        """Return the numbers of the chunks that an element handles, its own one last.

        `place`: of the element on the way, which is also the number of its own chunk. It sends the
        first one, and adds to the others as they come.
        """
        places = ring_places(self.elements).tolist()
        order = sorted(range(self.elements), key=places.__getitem__)
        return [order[places[place] - number - 1] for number in range(self.elements)]


def values_together(elements: int, values: int, dtype: str) -> int:
    """Return how many values of a chunk go in a word: 1 or 2.

    `elements`: of the ring; `values`: of a tile, of a number type.
    """
    return values_per_wavelet(values // elements, dtype)


def fits_ring(elements: int, values: int) -> bool:
    """Return whether there is a ring through so many elements for tiles of so many values."""
    return 1 < elements <= MOST_IN_RING and values % elements == 0


def ring_color(direction: str, parity: int) -> str:
    """Return the color of a link of the ring: `ring_up0`, `ring_down1`."""
    return f"ring_{direction}{parity}"


def link_colors(elements: int) -> dict[int, tuple[str, str]]:
    """Return by place on the way the colors on which an element receives and sends."""
    links = ring_links(elements)
    sends = {link.source: ring_color(link.direction, link.parity) for link in links}
    receives = {link.target: ring_color(link.direction, link.parity) for link in links}
    return {place: (receives[place], sends[place]) for place in range(elements)}
