"""Rings of elements along an axis of a grid, without a long way back.

The ring goes out over every second element and comes back over the others, so that neighbours of
the ring are at most two links apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RingLink:
    """The way of the tiles of an element to the next one of the ring.

    `source`, `target`: their positions along the axis, at most two links apart. `direction`: up, to
    the greater position, or down. `parity`: of the source's place in the ring, so that an element
    receives and sends on two colors.
    """

    source: int
    target: int
    direction: Literal["up", "down"]
    parity: int


@lru_cache(maxsize=256)
def ring_links(elements: int) -> tuple[RingLink, ...]:
    """Return the links of the ring of a line of at least two elements, by the source's place.

    Example for 5 elements: 0 to 2, 2 to 4, 4 to 3, 3 to 1, 1 to 0.
    """
    order = _order(elements)
    return tuple(
        RingLink(source, target, "up" if target > source else "down", place % 2)
        for place, (source, target) in enumerate(zip(order, order[1:] + order[:1], strict=True))
    )


def ring_places(elements: int) -> Integers:
    """Return the place in the ring of each position of a line: 0, 4, 1, 3, 2 for 5 elements."""
    return np.argsort(np.array(_order(elements)))


def ring_hops(elements: int) -> int:
    """Return how many links are crossed when each element sends one word to the next in the ring.

    All elements of the line together: the ring crosses each link of the line there and back.
    Example: 5 elements: 2 + 2 + 1 + 2 + 1 = 8.
    """
    return 2 * (elements - 1)


def _order(elements: int) -> list[int]:
    """Return the positions in the order of the ring: even ones up, the odd ones down."""
    evens = list(range(0, elements, 2))
    return evens + [n for n in range(elements - 1, 0, -1) if n % 2]
