"""Points of a template in which some rank variables may have one uneven loop (imperfect.md §1).

An uneven loop splits the tile above it into tiles that do not divide it; the last one is smaller.
At most one loop of a variable, temporal or spatial, is uneven; every other loop divides evenly.
With average tiles (imperfect.md §6) it is the outermost loop of the variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.points import Points, Tiles
from tilewright.mapper.model.paths.view import simple_variables
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import UnsupportedFeature

MAX_WORK = 3_000_000  # steps from one tile shape to the next that counting may look at

Step = tuple[int, bool]  # tile of one variable, and whether an uneven loop may still come
State = tuple[Step, ...]


def loop_tiles(step: Step, cuttable: Sequence[int]) -> list[Step]:
    """Return the tiles that temporal loops over one variable, or none, can leave of a tile.

    `step` and results: pairs (extent, whether an uneven loop of the variable may still come).
    `cuttable`: extents that an uneven loop may cut. Of 6, with an uneven loop still to come: 1, 2,
    3 and 6 evenly, 4 and 5 by that loop.
    """
    tile, may_cut = step
    even = [(below, may_cut and below in cuttable) for below in divisors(tile)]
    return even + [(below, False) for below in range(2, tile) if may_cut and tile % below]


def lane_tiles(step: Step, lanes: int, cuttable: Sequence[int]) -> list[Step]:
    """Return the tiles that one lane can have when a tile is distributed over `lanes` instances.

    `step` and results: pairs (extent, whether an uneven loop of the variable may still come).
    Extents are those of the largest lane; the last lane of an uneven loop has less. 7 over 3
    lanes: 3 (3, 3 and 1). `cuttable`: extents that an uneven loop may cut.
    """
    tile, may_cut = step
    even = [(tile // lanes, may_cut and tile // lanes in cuttable)] if tile % lanes == 0 else []
    if not may_cut or not 1 < lanes <= tile:
        return even
    smallest, largest = -(-tile // lanes), -(-tile // (lanes - 1)) - 1
    return even + [(below, False) for below in range(smallest, largest + 1) if tile % below]


def is_chain(tiles: Sequence[int], cuttable: Sequence[int]) -> bool:
    """Tell whether each extent divides the one before it, except for at most one uneven cut.

    `tiles`: extents of one rank variable, outermost first; only an extent in `cuttable` may be cut
    into tiles that do not divide it.
    """
    cut = [above for above, below in pairwise(tiles) if above % below]
    falls = all(above >= below for above, below in pairwise(tiles))
    return falls and len(cut) <= 1 and all(above in cuttable for above in cut)


def check_uneven(einsum: Einsum, uneven: frozenset[str], exact: bool) -> None:
    """Refuse rank variables that cannot have uneven tiles.

    `uneven`: their names; `exact`: whether remainders are counted exactly, else on average. Raises
    TilewrightError for names that the Einsum does not have; with average tiles, UnsupportedFeature
    for variables that stand in sums or with a factor in an index.
    """
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
    """Enumerates, counts and samples the points of a template with uneven loops.

    An uneven loop's tile does not divide the tile above it; the last tile is smaller. A point
    gives the tile below each slot. A state has, per rank variable, a pair (extent, whether an
    uneven loop may still come). A template is a mapping without its loops.
    """

    def __init__(
        self,
        problem: Problem,
        template: Template,
        slots: Sequence[Slot],
        lattice: Lattice | None = None,
    ) -> None:
        super().__init__(problem, template, slots, lattice)
        self._completion_counts: dict[tuple[int, State], int] = {}
        self._finishable: dict[tuple[int, int, Step], bool] = {}
        self._work = 0
        self._cuttable = [problem.cuttable_tiles.get(name, ()) for name in self._names]

    def __iter__(self) -> Iterator[Tiles]:
        """Enumerate the points whose tiles fit, in a fixed order."""
        yield from self._continue((), self.start(), (0.0,) * len(self.memories))

    def start(self) -> State:
        """Return the state above the first slot: the whole iteration space.

        A state is a pair (extent, whether an uneven loop may still come) per rank variable. A slot
        is a place of a template (a mapping without loops) for loops, a fill or a reserved tile.
        """
        bounds = self.problem.einsum.bounds
        return tuple((bound, v in self.problem.uneven) for v, bound in bounds.items())

    def _continue(self, tiles: Tiles, state: State, used: tuple[float, ...]) -> Iterator[Tiles]:
        index = len(tiles)
        if index == len(self.slots):
            if all(tile == 1 for tile, _ in state):
                yield tiles
            return
        used_below = self.bits_after(index, _tile(state), used)
        if used_below is None:
            return
        for next_state in self.successors(index, state):
            yield from self._continue((*tiles, _tile(next_state)), next_state, used_below)

    def completions(self, index: int, state: State) -> int:
        """Return the number of ways to go on from a state above slot `index` to a single iteration.

        A state has a pair (extent, whether an uneven loop may still come) per variable. Raises
        TilewrightError if there are too many tiles to count them (3,000,000 steps). A slot is a
        place of a template (a mapping without loops) for loops, a fill or a reserved tile.
        """
        if index == len(self.slots):
            return int(all(tile == 1 for tile, _ in state))
        key = (index, state)
        if key not in self._completion_counts:
            options = self.successors(index, state)
            self._work += len(options)
            if self._work > MAX_WORK:
                raise TilewrightError(
                    f"the uneven mapspace of {self.problem.einsum.name} has too many tile shapes to"
                    " count",
                    instead="fewer uneven rank variables; the exact search does not count",
                )
            self._completion_counts[key] = sum(
                self.completions(index + 1, option) for option in options
            )
        return self._completion_counts[key]

    def successors(self, index: int, state: State) -> list[State]:
        """Return the states below slot `index` from which each variable can reach an extent of 1.

        Empty if tile_shape refuses the tile of `state`, the state above the slot. A slot is a place
        of a template (a mapping without loops) for loops, a fill or a reserved tile.
        """
        slot = self.slots[index]
        if not self.admits(index, _tile(state)):
            return []
        if isinstance(slot, TemporalLoops):
            reached = self._below_loops(slot, state)
        elif isinstance(slot, SpatialLoops):
            reached = self._below_lanes(slot, state)
        else:
            reached = [state]
        return [
            below
            for below in reached
            if all(self._finishes(index + 1, v, step) for v, step in enumerate(below))
        ]

    def _finishes(self, index: int, v: int, step: Step) -> bool:
        """Tell whether the slots from `index` on can take variable number `v` to a tile of 1."""
        if index == len(self.slots):
            return step[0] == 1
        key = (index, v, step)
        if key not in self._finishable:
            steps_below = self._steps_below(self.slots[index], v, step)
            self._finishable[key] = any(
                self._finishes(index + 1, v, step_below) for step_below in steps_below
            )
        return self._finishable[key]

    def _steps_below(self, slot: Slot, v: int, step: Step) -> list[Step]:
        """Return the steps of variable number `v` that a slot can leave of `step`.

        A step is (extent, whether an uneven loop may still come).
        """
        name = self._names[v]
        if not isinstance(slot, TemporalLoops | SpatialLoops) or name not in slot.variables:
            return [step]
        if isinstance(slot, TemporalLoops):
            return loop_tiles(step, self._cuttable[v])
        lanes = sorted(set(slot.lanes_of(name)))
        return [below for n in lanes for below in lane_tiles(step, n, self._cuttable[v])]

    def _weighted(self, index: int, state: State) -> list[tuple[State, int]]:
        below = ((s, self.completions(index + 1, s)) for s in self.successors(index, state))
        return [(s, number) for s, number in below if number]

    def tile_of(self, state: State) -> Tile:
        """Return the tile of a state: its extent in values per rank variable."""
        return _tile(state)

    def _below_loops(self, slot: TemporalLoops, state: State) -> list[State]:
        """Return the states that temporal loops of a slot can leave of a state."""
        choices = [
            loop_tiles(step, cuttable) if name in slot.variables else [step]
            for name, step, cuttable in zip(self._names, state, self._cuttable, strict=True)
        ]
        points: Iterator[State] = product(*choices)
        if not slot.single:
            return list(points)
        return [
            below
            for below in points
            if sum(a[0] != b[0] for a, b in zip(state, below, strict=True)) <= 1
        ]

    def _below_lanes(self, slot: SpatialLoops, state: State) -> list[State]:
        """Return the states of one lane that spatial loops of a slot can leave of a state."""
        states: list[State] = []
        for choice in slot.choices:
            lanes = dict(zip(slot.variables, choice, strict=True))
            options = [
                lane_tiles(step, lanes.get(name, 1), cuttable)
                for name, step, cuttable in zip(self._names, state, self._cuttable, strict=True)
            ]
            states += product(*options)
        return states


def _tile(state: State) -> Tile:
    return tuple(tile for tile, _ in state)
