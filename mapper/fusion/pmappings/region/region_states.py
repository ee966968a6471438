"""Map the tiles in the region of one inner program to states of its lattice.

A state of the lattice is the tile below all fused loops. In the region a variable has that tile
below its innermost loop, and its whole bound above its outermost one. So each place of the region
has a state of its own. Example: bounds (m, n) = (4, 2), label state (2, 1), one loop over m above
the second holder and one over n below it. The tiles are (4, 2) at the first holder and (2, 2) at
the second one (theory/fusion.md §2).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.pmappings.fused_templates import tile_shape_places
from tilewright.mapper.fusion.pmappings.inner_programs import InnerProgram
from tilewright.mapper.fusion.pmappings.inner_search import SolvedProgram
from tilewright.mapper.fusion.pmappings.region.fused_loops import (
    FusedLoops,
    needless_first_variables,
)
from tilewright.mapper.fusion.pmappings.region.region_rules import RegionRules
from tilewright.mapper.fusion.pmappings.region.tile_reservations import (
    NumberedLoop,
    Region,
    tiles_above,
)
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import lane_stride
from tilewright.mapper.fusion.pmappings.shared.shared_tolls import (
    TollPassage,
    toll_passages,
    tolls_above,
)
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_tables import LabelEngine


class RegionStates:
    """Find the tile shape at each place of the region, given that below it.

    The region: the holders below the outermost memory, down to the lowest that backs a tensor on
    chip. Above a variable's fused loops a tile has its whole bound, below them the tile of the
    label. Tile shapes are numbers of the lattice (states). `engine`: the lattice. `inner`: the
    program below the region. `rules`: what decides about loops. `needless_first`: per gap,
    variables that no first loop there needs.
    """

    def __init__(self, engine: LabelEngine, inner: InnerProgram, rules: RegionRules) -> None:
        problem, loops = engine.problem, inner.spatial_loops
        shared_windows = rules.varied_windows if rules.shares_tiles else frozenset()
        places = {loop.region_place for loop in loops}
        self.inner_program = inner
        self.region = Region(problem, inner.template.region, shared_windows)
        self.needless_first = needless_first_variables(
            problem, inner.template, rules.varied_windows, places
        )
        self._engine = engine
        self._strides = [lane_stride(engine.lattice, loops[:n]) for n in range(len(loops) + 1)]
        holders = range(len(inner.template.region))
        self._n_spatial = [len(inner.spatial_loops_above(place)) for place in holders]

    @cached_property
    def toll_passages(self) -> list[TollPassage]:
        """Where tensors pass Tolls above the lowest tensor on chip, outermost first.

        A Toll is hardware that charges what passes it.
        """
        return toll_passages(self._engine.problem, self.inner_program)

    @cached_property
    def tile_shape_masks(self) -> list[tuple[int, NDArray[np.bool_]]]:
        """Which tile shapes each tile_shape rule of the architecture admits in the region.

        The region: the holders below the outermost memory, down to the lowest that backs a tensor
        on chip. Pairs of the place of a holder there and a boolean array over all tile shapes of
        the lattice, shape (states,); the rule concerns the tile right above the holder.
        """
        places = tile_shape_places(self._engine.problem, self.inner_program.template)
        return [(place, self._engine.lattice.admitted(shapes)) for place, shapes in places]

    def states_above(self, loops: FusedLoops, gap: int, states: Ints) -> Ints:
        """Return the tile shape at a gap of the region for each label, as states; shape (labels,).

        `loops`: the temporal fused loops. `gap`: number of the place; the tile is that below the
        loops and lanes down to it. `states`: tile shapes below all loops, with all lanes of shared
        spatial loops counted as one, shape (labels,) (theory/fusion.md §2).
        """
        upper = [(loop.variable, loop.tile) for loop in loops if loop.gap <= gap]
        deeper = [(loop.variable, loop.tile) for loop in loops if loop.gap > gap]
        stride = self._strides[self._n_spatial[gap // 2]]
        return with_tiles(self._engine.lattice, states, tiles_above(upper, deeper)) - stride

    def reserved_states(self, tiles: Sequence[NumberedLoop], states: Ints) -> Ints:
        """Return the tile shape that a holder must reserve, per label; shape (labels,).

        Tile shapes are numbers of the lattice. `tiles`: (variable, tile) above the loops and lanes
        that stand below the reserved tile; a variable below 0 is a spatial loop, tile 0 the whole
        bound. `states`: tile shapes below all loops, shape (labels,).
        """
        n_below = sum(number < 0 for number, _ in tiles)
        stride = self._strides[len(self.inner_program.spatial_loops) - n_below]
        return with_tiles(self._engine.lattice, states, dict(tiles)) - stride


def with_tiles(lattice: Lattice, states: Ints, tiles: Mapping[int, int]) -> Ints:
    """Return tile shapes with other tiles of some variables.

    `states`: numbers of tile shapes in the lattice, shape (labels,), as the result. `tiles`: new
    tile by the number of the variable; 0 stands for the whole bound. Example: bounds (4, 2), state
    of (2, 1), tiles {0: 0}: the state of (4, 1).
    """
    moved = states.copy()
    for column, axis in enumerate(lattice.axes):
        if axis.variable in tiles:
            digit = _exponent(axis.prime, tiles[axis.variable], axis.radix - 1)
            moved += (digit - lattice.digits[states, column]) * axis.stride
    return moved


def _exponent(prime: int, tile: int, largest: int) -> int:
    """Return how often `prime` divides `tile`; `largest` if the tile is 0 (the whole bound)."""
    if not tile:
        return largest
    return next(n for n in range(largest, -1, -1) if tile % prime**n == 0)


class AlikePrograms(NamedTuple):
    """Hold searches that are alike in the region, with the labels of all of them in one list.

    `numbers`: of the searches. `labels`: costs, shape (labels, fields). `states`: tile shape of
    each label. `origins`: per label (position of its search in `numbers`, its number in that
    search).
    """

    numbers: Sequence[int]
    labels: Floats
    states: Ints
    origins: Ints


def alike_programs(solved: Sequence[SolvedProgram], budget: Budget) -> Iterator[AlikePrograms]:
    """Yield the searches that are alike in the region: all is the same there for their labels.

    The region: the holders below the outermost memory, down to the lowest that backs a tensor on
    chip. Most searches have few labels each (partial mappings) and as many placements of fused
    loops, so that to look at them together saves most of the work. Searches without labels are left
    out. Raises OutOfBudget.
    """
    groups: dict[Hashable, list[int]] = {}
    for number, program in enumerate(solved):
        if len(program.labels):
            groups.setdefault(_region_key(program.inner_program), []).append(number)
    for numbers in groups.values():
        several = [solved[number] for number in numbers]
        budget.check(more_bytes=sum(program.labels.nbytes for program in several))
        places = [np.full(len(program.labels), i) for i, program in enumerate(several)]
        within = [np.arange(len(program.labels)) for program in several]
        yield AlikePrograms(
            numbers,
            np.concatenate([program.labels for program in several]),
            np.concatenate([program.states for program in several]),
            np.stack([np.concatenate(places), np.concatenate(within)], axis=1),
        )


def _region_key(inner: InnerProgram) -> Hashable:
    """Return a key, equal for programs that are the same in the region."""
    template = inner.template
    holders = template.template.holders[: template.lowest_on_chip + 1]
    rules_of = template.template.placement.rules_of
    return (
        holders,
        (template.n_outermost, template.n_private, template.streamed),
        tuple(rules_of(holder.component) for holder in template.region),
        inner.loop_gaps,
        inner.spatial_loops,
        inner.holder_charges,
        tuple(sorted(inner.network_charges.items())),
        tuple(tolls_above(inner)),
    )
