"""The schemes of a reduction that a search tries for a group of elements (theory/grid.md §7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import isqrt, prod
from typing import Final

from tilewright.mapper.grid.reductions import line_chains
from tilewright.mapper.grid.schemes.line_costs import MOST_ELEMENTS, AdditionCosts
from tilewright.mapper.grid.schemes.reduction_scheme import RING, ReductionScheme
from tilewright.mapper.grid.schemes.ring_reduction import fits_ring

MOST_WINDING: Final = 16_384
"""Elements that snakes and rings go through, at most: each takes routes of its own."""


@lru_cache(maxsize=4096)
def schemes_of(
    groups: tuple[int, int], elements: int, costs: AdditionCosts
) -> list[ReductionScheme]:
    """Return the schemes for groups of elements, in a fixed order.

    `groups`: size along X and along Y; `elements`: of all groups. `costs`: of the machine for the
    tiles that are added. Schemes with the same chains as one before them are left out; the axes
    have an order where both add up.
    """
    schemes, known = list[ReductionScheme](), set[object]()
    for scheme in _all_schemes(groups, costs):
        if scheme.order == "snake" and elements > MOST_WINDING:
            continue
        chains = (scheme.order, *(line_chains(group, scheme.line) for group in groups))
        if chains not in known:
            known.add(chains)
            schemes.append(scheme)
    return schemes


def shared_schemes(
    schemes: list[ReductionScheme], groups: tuple[int, int], elements: int, values: int
) -> list[str]:
    """Return the texts of schemes whose result goes to all elements, and a ring where there is one.

    `groups`: size along X and along Y of those that add up a tile; `elements`: of all groups;
    `values`: of a tile.
    """
    texts = [str(replace(scheme, shared=True)) for scheme in schemes]
    has_ring = elements <= MOST_WINDING and fits_ring(prod(groups), values)
    return [*texts, str(RING)] if has_ring else texts


def _all_schemes(groups: tuple[int, int], costs: AdditionCosts) -> Iterator[ReductionScheme]:
    lines = [ReductionScheme(line) for line in _lines(max(groups), costs)]
    yield from lines
    if min(groups) > 1:
        yield from (replace(scheme, order="y_first") for scheme in lines)
        yield ReductionScheme("chain", "snake")


def _lines(longest: int, costs: AdditionCosts) -> Iterator[str]:
    yield "chain"
    yield "tree"
    for size in sorted({max(2, isqrt(longest)), max(2, isqrt(2 * longest))} - {longest}):
        yield f"two_phase({size})"
    if longest <= MOST_ELEMENTS:
        yield f"auto({costs})"
