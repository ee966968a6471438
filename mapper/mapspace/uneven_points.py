"""Points of a template in which some rank variables may have one uneven loop (imperfect.md §1).

An uneven loop splits the tile above it into tiles that do not divide it; the last one is smaller.
At most one loop of a variable, temporal or spatial, is uneven; every other loop divides evenly.
With average tiles (imperfect.md §6) it is the outermost loop of the variable.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.points import Points, Tiles
from tilewright.mapper.model.view import simple_variables
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops, divisors
from tilewright.mapper.workload.einsum import Einsum

MAX_WORK = 3_000_000  # steps from one tile shape to the next that counting may look at

Step = tuple[int, bool]  # tile of one variable, and whether an uneven loop may still come
State = tuple[Step, ...]


def loop_tiles(step: Step, wholes: Sequence[int]) -> list[Step]:
    """Return the tiles that a temporal loop, or none, can leave of a tile.

    `wholes`: the tiles that an uneven loop may cut.
    """
    tile, open_ = step
    even = [(below, open_ and below in wholes) for below in divisors(tile)]
    return even + [(below, False) for below in range(2, tile) if open_ and tile % below]


def lane_tiles(step: Step, lanes: int, wholes: Sequence[int]) -> list[Step]:
    """Return the tiles that dealing a tile to a number of lanes can leave."""
    tile, open_ = step
    found = [(tile // lanes, open_ and tile // lanes in wholes)] if tile % lanes == 0 else []
    if open_ and 1 < lanes <= tile:
        smallest, largest = -(-tile // lanes), -(-tile // (lanes - 1)) - 1
        found += [(below, False) for below in range(smallest, largest + 1) if tile % below]
    return found


def is_chain(tiles: Sequence[int], wholes: Sequence[int]) -> bool:
    """Tell whether each tile divides the one before it, but for one that is among `wholes`."""
    cut = [above for above, below in pairwise(tiles) if above % below]
    falls = all(above >= below for above, below in pairwise(tiles))
    return falls and len(cut) <= 1 and all(above in wholes for above in cut)


def check_uneven(einsum: Einsum, uneven: frozenset[str], exact: bool) -> None:
    """Refuse what an uneven mapspace cannot be: `exact` remainders are counted, or averages."""
    unknown = uneven - set(einsum.bounds)
    if unknown:
        raise TilewrightError(
            f"{einsum.name} has no such rank variable to be uneven",
            value=", ".join(sorted(unknown)),
            instead=f"some of: {', '.join(einsum.bounds)}",
        )
    mixed = uneven - simple_variables(einsum)
    if mixed and not exact:
        raise UnsupportedFeature(
            f"uneven tiles of {', '.join(sorted(mixed))}, which stand in sums or with a factor, are"
            " not searched under the accelforge conventions: an average tile has no average window",
            instead="the default conventions, which count exact remainders; or uneven rank"
            f" variables out of: {', '.join(sorted(simple_variables(einsum))) or 'none'}",
        )


class UnevenPoints(Points):
    """Enumerates, counts and samples the points of `slots` with uneven loops."""

    def __init__(
        self,
        problem: Problem,
        template: Template,
        slots: Sequence[Slot],
        lattice: Lattice | None = None,
    ) -> None:
        super().__init__(problem, template, slots, lattice)
        self._ways: dict[tuple[int, State], int] = {}
        self._ends: dict[tuple[int, int, Step], bool] = {}
        self._work = 0
        self._wholes = [problem.cuttable_tiles.get(name, ()) for name in self._names]

    def __iter__(self) -> Iterator[Tiles]:
        """Enumerate the points whose tiles fit, in a fixed order."""
        yield from self._continue((), self.start(), (0.0,) * len(self.memories))

    @property
    def count(self) -> int:
        """Number of points before capacity is looked at (exact).

        TilewrightError if there are too many tile shapes to count them.
        """
        return self.completions(0, self.start())

    def sample(self, rng: random.Random) -> Tiles:
        """Draw one point uniformly, before capacity is looked at."""
        state, tiles = self.start(), []
        for index in range(len(self.slots)):
            options = self.successors(index, state)
            weights = [self.completions(index + 1, option) for option in options]
            ticket = rng.randrange(sum(weights))
            for option, weight in zip(options, weights, strict=True):
                ticket -= weight
                if ticket < 0:
                    state = option
                    break
            tiles.append(_tile(state))
        return tuple(tiles)

    def start(self) -> State:
        """Return the state above the first slot: the whole iteration space."""
        bounds = self.problem.einsum.bounds
        return tuple((bound, v in self.problem.uneven) for v, bound in bounds.items())

    def _continue(self, done: Tiles, state: State, used: tuple[float, ...]) -> Iterator[Tiles]:
        index = len(done)
        if index == len(self.slots):
            if all(tile == 1 for tile, _ in state):
                yield done
            return
        after = self.bits_after(index, _tile(state), used)
        if after is None:
            return
        for below in self.successors(index, state):
            yield from self._continue((*done, _tile(below)), below, after)

    def completions(self, index: int, state: State) -> int:
        """Count the ways to finish from the tile above slot `index`."""
        if index == len(self.slots):
            return int(all(tile == 1 for tile, _ in state))
        key = (index, state)
        if key not in self._ways:
            options = self.successors(index, state)
            self._work += len(options)
            if self._work > MAX_WORK:
                raise TilewrightError(
                    f"the uneven mapspace of {self.problem.einsum.name} has too many tile shapes to"
                    " count",
                    instead="fewer uneven rank variables; the exact search does not count",
                )
            self._ways[key] = sum(self.completions(index + 1, option) for option in options)
        return self._ways[key]

    def successors(self, index: int, state: State) -> list[State]:
        """Return the states that slot `index` can leave; none if its pins refuse the tile."""
        slot = self.slots[index]
        if not self.admits(index, _tile(state)):
            return []
        if isinstance(slot, TemporalLoops):
            found = self._looped(slot, state)
        elif isinstance(slot, SpatialLoops):
            found = self._spread(slot, state)
        else:
            found = [state]
        return [
            below
            for below in found
            if all(self._finishes(index + 1, v, step) for v, step in enumerate(below))
        ]

    def _finishes(self, index: int, v: int, step: Step) -> bool:
        """Tell whether the slots from `index` on can take variable number `v` to a tile of 1."""
        if index == len(self.slots):
            return step[0] == 1
        key = (index, v, step)
        if key not in self._ends:
            name, slot = self._names[v], self.slots[index]
            below = [step]
            if isinstance(slot, TemporalLoops) and name in slot.variables:
                below = loop_tiles(step, self._wholes[v])
            elif isinstance(slot, SpatialLoops) and name in slot.variables:
                place = slot.variables.index(name)
                lanes = sorted({choice[place] for choice in slot.choices})
                below = [one for n in lanes for one in lane_tiles(step, n, self._wholes[v])]
            self._ends[key] = any(self._finishes(index + 1, v, one) for one in below)
        return self._ends[key]

    def options(self, index: int, state: State) -> list[State]:
        """Return those of the successors from which the other slots can be finished."""
        return [s for s in self.successors(index, state) if self.completions(index + 1, s)]

    def tile_of(self, state: State) -> Tile:
        """Return the tile of a state."""
        return _tile(state)

    def _looped(self, slot: TemporalLoops, state: State) -> list[State]:
        choices = [
            loop_tiles(step, wholes) if name in slot.variables else [step]
            for name, step, wholes in zip(self._names, state, self._wholes, strict=True)
        ]
        points: Iterator[State] = product(*choices)
        if not slot.single:
            return list(points)
        return [
            below
            for below in points
            if sum(a[0] != b[0] for a, b in zip(state, below, strict=True)) <= 1
        ]

    def _spread(self, slot: SpatialLoops, state: State) -> list[State]:
        found: list[State] = []
        for choice in slot.choices:
            lanes = dict(zip(slot.variables, choice, strict=True))
            options = [
                lane_tiles(step, lanes.get(name, 1), wholes)
                for name, step, wholes in zip(self._names, state, self._wholes, strict=True)
            ]
            found += product(*options)
        return found


def _tile(state: State) -> Tile:
    return tuple(tile for tile, _ in state)
