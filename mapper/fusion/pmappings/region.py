"""What all rows of one part have in common: its region, and the tiles there as states."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.pmappings.fused_templates import FusedTemplate, tile_shape_places
from tilewright.mapper.fusion.pmappings.inner_programs import InnerProgram
from tilewright.mapper.fusion.pmappings.inner_search import RegionRules
from tilewright.mapper.fusion.pmappings.shared_spatial import (
    gap_above_lanes,
    gap_below_lanes,
    lane_stride,
)
from tilewright.mapper.fusion.pmappings.shared_tolls import TollPassage, toll_passages
from tilewright.mapper.fusion.pmappings.tile_reservations import NumberedLoop, Region, tiles_above
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.searches.exact.kernels import Ints
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.templates.problem import Problem

# (variable, the gap of its loop: see shared_spatial.py; its tile: 0 for that of the state)
FusedLoops = tuple[tuple[int, int, int], ...]


class RegionStates:
    """The region of one part, below which its labels stand."""

    def __init__(self, engine: LabelEngine, part: InnerProgram, rules: RegionRules) -> None:
        problem, spreads = engine.problem, part.spatial_loops
        apart = rules.varied_windows if rules.shares_tiles else frozenset()
        stands = {spread.region_place for spread in spreads}
        self.inner_program = part
        self.region = Region(problem, part.template.region, apart)
        self.needless_first = needless_first_variables(
            problem, part.template, rules.varied_windows, stands
        )
        self._engine = engine
        self._strides = [lane_stride(engine.lattice, spreads[:n]) for n in range(len(spreads) + 1)]
        self._lanes = [
            len(part.spatial_loops_above(place)) for place in range(len(part.template.region))
        ]

    @cached_property
    def toll_passages(self) -> list[TollPassage]:
        """The Tolls of the region."""
        return toll_passages(self._engine.problem, self.inner_program)

    @cached_property
    def tile_shape_masks(self) -> list[tuple[int, NDArray[np.bool_]]]:
        """Holders with a tile_shape, and the states that it allows right above."""
        held = tile_shape_places(self._engine.problem, self.inner_program.template)
        return [(place, self._engine.lattice.admitted(shapes)) for place, shapes in held]

    def states_above(self, gaps: FusedLoops, gap: int, states: Ints) -> Ints:
        """Return the tiles below the loops and lanes down to a gap, as states."""
        upper = [(v, tile) for v, own, tile in gaps if own <= gap]
        deeper = [(v, tile) for v, own, tile in gaps if own > gap]
        step = self._strides[self._lanes[gap // 2]]
        return with_tiles(self._engine.lattice, states, tiles_above(upper, deeper)) - step

    def reserved_states(self, tiles: Sequence[NumberedLoop], states: Ints) -> Ints:
        """Return the states with given tiles (tile_reservations.py) of loops and lanes below."""
        lanes = (
            sum(number >= 0 for number, _ in tiles)
            - len(tiles)
            + len(self.inner_program.spatial_loops)
        )
        return with_tiles(self._engine.lattice, states, dict(tiles)) - self._strides[lanes]


def needless_first_variables(
    problem: Problem,
    layout: FusedTemplate,
    apart: frozenset[str] = frozenset(),
    stands: Collection[int] = (),
) -> dict[int, frozenset[int]]:
    """Return, per gap right below a region holder, the variables that may not be looped over first
    there.

    `apart`: tensors that another Einsum may have to hold where it is; `stands`: the holders that
    lanes stand right above. Where a tile is held still,
    or an order is given in which holders stand together, none is left out.
    """
    found: dict[int, frozenset[int]] = {}
    rules = layout.template.placement.rules_of
    for place, above in enumerate(layout.region[:-1]):
        ordered = (
            problem.conventions.adjacent_holders_shrink
            and rules(above.component).tensor_order_options
        )
        if above.backing or above.tensor in apart or ordered or tile_shape_places(problem, layout):
            continue
        access, names = problem.einsum.access(above.tensor), tuple(problem.einsum.bounds)
        relevant = [v for v in names if access.relevance(v) == "relevant"]
        gap = gap_above_lanes(place + 1) if place + 1 in stands else gap_below_lanes(place + 1)
        found[gap] = frozenset(names.index(v) for v in relevant)
    return found


def with_tiles(lattice: Lattice, states: Ints, tiles: Mapping[int, int]) -> Ints:
    """Return the states with other tiles of some variables; 0 stands for the whole."""
    moved = states.copy()
    for column, axis in enumerate(lattice.axes):
        if axis.variable in tiles:
            digit = _power(axis.prime, tiles[axis.variable], axis.radix - 1)
            moved += (digit - lattice.digits[states, column]) * axis.stride
    return moved


def _power(prime: int, tile: int, most: int) -> int:
    """Return how often `prime` divides the tile, `most` times for the whole."""
    return most if not tile else next(n for n in range(most, -1, -1) if tile % prime**n == 0)
