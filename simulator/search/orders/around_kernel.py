"""The fewest cycles of the loops around an operation, of many families at once, in machine code.

What a loop costs depends on which loops stand outside it, not on their order: so the least cycles
of a set of outer loops follow from those of the sets that have one loop less (`loop_costs.py`).
"""

from __future__ import annotations

from math import inf

from tilewright.simulator.engine.jit import inner_kernel, part_kernel
from tilewright.simulator.search.orders.around_entry import (
    BACK,
    BEGIN,
    FIRSTS,
    MAP,
    OPERATION,
    TILES,
    TURN,
    Floats,
    OuterLoops,
)

__all__ = ["OuterLoops", "least_around"]


@inner_kernel
def least_around(loops: OuterLoops, best: Floats, result: Floats) -> None:
    """Find the cycles around all operations of each family, in the best order of its loops.

    `best`: a place for a number of each set of loops; `result`: by family.
    """
    for family in range(loops.turns.shape[0]):
        result[family] = inf
        for walk in range(-1, loops.turns.shape[1]):
            if walk < 0 or loops.walks[family, walk]:
                cycles = _with_walk(loops, family, walk, best)
                result[family] = min(result[family], cycles)


@part_kernel
def _with_walk(loops: OuterLoops, family: int, walk: int, best: Floats) -> float:
    """Return the cycles with one loop innermost, as a map; -1: without a map."""
    turns, prices = loops.turns, loops.prices
    firsts, tiles = loops.tiles[family, FIRSTS], loops.tiles[family, TILES]
    whole = (1 << turns.shape[1]) - 1
    if walk >= 0:
        whole ^= 1 << walk
    best[0] = 0.0
    for chosen in range(1, whole + 1):
        if chosen & ~whole:
            continue
        best[chosen] = inf
        for number in range(turns.shape[1]):
            if chosen >> number & 1:
                outside = chosen ^ (1 << number)
                begun, new = _product(loops, family, outside, False), 0.0
                if loops.summed[number]:  # its first turn stands in front of it
                    new = _product(loops, family, outside, True)
                each = prices[BEGIN] + turns[family, number] * prices[BACK]
                cycles = best[outside] + tiles * begun * each - firsts * new * prices[BACK]
                best[chosen] = min(best[chosen], cycles)
    begun = _product(loops, family, whole, False)
    if walk < 0:
        return float(best[whole] + tiles * begun * prices[OPERATION])
    cycles = best[whole] + tiles * begun * (prices[MAP] + turns[family, walk] * prices[TURN])
    if loops.summed[walk]:  # an operation stands in front of the map
        new = _product(loops, family, whole, True)
        cycles += firsts * new * (prices[OPERATION] - prices[TURN])
    return float(cycles)


@part_kernel
def _product(loops: OuterLoops, family: int, chosen: int, kept: bool) -> float:
    """Return the product of the turns of some loops; `kept`: of those that are not summed over."""
    product = 1.0
    for number in range(loops.turns.shape[1]):
        if chosen >> number & 1 and not (kept and loops.summed[number]):
            product *= loops.turns[family, number]
    return product
