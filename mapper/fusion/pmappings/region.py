"""What all rows of one part have in common: its region, and the tiles there as states."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.pmappings.fused_templates import Layout, held_still
from tilewright.mapper.fusion.pmappings.inner_programs import Part
from tilewright.mapper.fusion.pmappings.inner_search import Rules
from tilewright.mapper.fusion.pmappings.shared_spatial import over, stride, under
from tilewright.mapper.fusion.pmappings.shared_tolls import Passage, passages
from tilewright.mapper.fusion.pmappings.tile_reservations import Loop, Region, tiles_above
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.searches.exact.kernels import Ints
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.templates.problem import Problem

# (variable, the gap of its loop: see shared_spatial.py; its tile: 0 for that of the state)
Gaps = tuple[tuple[int, int, int], ...]


class Ground:
    """The region of one part, below which its labels stand."""

    def __init__(self, engine: LabelEngine, part: Part, rules: Rules) -> None:
        problem, spreads = engine.problem, part.spreads
        apart = rules.apart if rules.shares_room else frozenset()
        stands = {spread.stand for spread in spreads}
        self.part = part
        self.region = Region(problem, part.layout.region, apart)
        self.idle = idle_below(problem, part.layout, rules.apart, stands)
        self._engine = engine
        self._strides = [stride(engine.lattice, spreads[:n]) for n in range(len(spreads) + 1)]
        self._lanes = [len(part.down_to(place)) for place in range(len(part.layout.region))]

    @cached_property
    def passages(self) -> list[Passage]:
        """The Tolls of the region."""
        return passages(self._engine.problem, self.part)

    @cached_property
    def pins(self) -> list[tuple[int, NDArray[np.bool_]]]:
        """Holders with a tile_shape, and the states that it allows right above."""
        held = held_still(self._engine.problem, self.part.layout)
        return [(place, self._engine.lattice.admitted(shapes)) for place, shapes in held]

    def above(self, gaps: Gaps, gap: int, states: Ints) -> Ints:
        """Return the tiles below the loops and lanes down to a gap, as states."""
        upper = [(v, tile) for v, own, tile in gaps if own <= gap]
        deeper = [(v, tile) for v, own, tile in gaps if own > gap]
        step = self._strides[self._lanes[gap // 2]]
        return widened(self._engine.lattice, states, tiles_above(upper, deeper)) - step

    def kept(self, tiles: Sequence[Loop], states: Ints) -> Ints:
        """Return the states with given tiles (tile_reservations.py) of loops and lanes below."""
        lanes = sum(number >= 0 for number, _ in tiles) - len(tiles) + len(self.part.spreads)
        return widened(self._engine.lattice, states, dict(tiles)) - self._strides[lanes]


def idle_below(
    problem: Problem,
    layout: Layout,
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
        if above.backing or above.tensor in apart or ordered or held_still(problem, layout):
            continue
        access, names = problem.einsum.access(above.tensor), tuple(problem.einsum.bounds)
        relevant = [v for v in names if access.relevance(v) == "relevant"]
        gap = over(place + 1) if place + 1 in stands else under(place + 1)
        found[gap] = frozenset(names.index(v) for v in relevant)
    return found


def widened(lattice: Lattice, states: Ints, tiles: Mapping[int, int]) -> Ints:
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
