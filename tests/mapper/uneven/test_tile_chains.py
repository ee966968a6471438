"""The states of a rank variable count the tiles that a walk visits."""

from __future__ import annotations

import random

from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.searches.uneven.costs.tile_candidates import TailSlot
from tilewright.mapper.searches.uneven.costs.tile_chains import CountKind, TileChains

LANE = ("PE", "x")


def pieces(size: int, tile: int) -> list[int]:
    whole, rest = divmod(size, tile)
    return [tile] * whole + [rest] * (rest > 0)


def visited(sizes: list[int], loops: list[tuple[int, bool]], kind: CountKind) -> list[int]:
    """Walk loops (tile, spatial) over every tile there is; the twin of Chains."""
    for tile, spatial in loops:
        largest = kind.takes_largest(LANE if spatial else None)
        cut = [pieces(size, tile) for size in sizes]
        sizes = [one for parts in cut for one in (parts[:1] if largest else parts)]
    return sizes


def random_loops(rng: random.Random, bound: int) -> list[tuple[int, bool]]:
    loops, tile, open_ = [], bound, True
    dealt = False
    while tile > 1:
        even = divisors(tile)[:-1]
        odd = [t for t in range(2, tile) if tile % t] if open_ else []
        below = rng.choice([*even, *odd])
        open_ = open_ and tile % below == 0
        spatial = not dealt and rng.random() < 0.4
        dealt |= spatial
        loops.append((below, spatial))
        tile = below
    return loops


def test_states_count_the_tiles_that_a_walk_visits() -> None:
    rng = random.Random(1)
    kinds = [CountKind(), CountKind(False, (LANE,)), CountKind(True), CountKind(True, (LANE,))]
    free = (TailSlot("all"),)
    for _ in range(300):
        bound = rng.randrange(2, 40)
        chains = TileChains(bound, divisors(bound), kinds)
        state, loops = chains.start, random_loops(rng, bound)
        for number, (tile, spatial) in enumerate(loops, 1):
            states, _ = chains.below(state, free, LANE if spatial else None, (1, bound))
            state = next(s for s in states.tolist() if chains.tile(s) == tile)
            for kind in kinds:
                column, sizes = chains.column(kind), visited([bound], loops[:number], kind)
                assert column.count[state] == len(sizes)
                assert column.extent[state] == sum(sizes)
