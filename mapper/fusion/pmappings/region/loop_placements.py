"""Place fused loops above the labels of inner programs, where both fit together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.pmappings.inner_programs import InnerProgram
from tilewright.mapper.fusion.pmappings.pmapping_records import PmappingSource
from tilewright.mapper.fusion.pmappings.region.fused_loops import (
    FusedLoops,
    loop_chains,
    loop_orders,
)
from tilewright.mapper.fusion.pmappings.region.region_rules import RegionRules
from tilewright.mapper.fusion.pmappings.region.region_states import AlikePrograms, RegionStates
from tilewright.mapper.fusion.pmappings.region.tile_reservations import OrdersByReservation
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import (
    gap_below_lanes,
    with_spatial_loops,
)
from tilewright.mapper.searches.exact.kernels import Ints
from tilewright.mapper.searches.exact.label_tables import LabelEngine


class LoopPlacement(NamedTuple):
    """One placement of temporal fused loops, with the labels below which it is legal.

    `region`: tile shapes at its places. `source`: the first of the alike searches, with these
    loops. `alike`: the searches and their labels. `labels`, `states`: positions and tile shapes of
    the labels that it suits.
    """

    region: RegionStates
    source: PmappingSource
    alike: AlikePrograms
    labels: Ints
    states: Ints

    def select(self, chosen: Ints) -> LoopPlacement:
        """Return the placement with only some of its labels; `chosen`: positions among them."""
        return self._replace(labels=self.labels[chosen], states=self.states[chosen])

    @property
    def depths(self) -> tuple[int, ...]:
        """Number of fused loops above each holder of the region."""
        return tuple(map(self.source.holder_depth, range(len(self.region.region.holders))))

    def orders_by_reservation(self) -> OrdersByReservation:
        """Group the orders of the fused loops by the tiles that holders reserve."""
        temporal = loop_orders(self.source.loops, self.region.needless_first)
        loops_above_lanes = self.source.loops_above_lanes
        orders = (with_spatial_loops(order, loops_above_lanes) for order in temporal)
        return self.region.region.orders_by_reservation(self.depths, orders)


class LoopPlacements:
    """The legal placements of temporal fused loops above labels, partial mappings of one Einsum.

    `engine`: lattice of tile shapes. `rules`: what decides about the loops.
    """

    def __init__(self, engine: LabelEngine, rules: RegionRules) -> None:
        self._engine = engine
        self._rules = rules
        lattice = engine.lattice
        is_cut = lattice.tiles != np.array(lattice.bounds)
        self._cut_variables = is_cut @ (1 << np.arange(len(lattice.bounds)))  # as bits, per state
        tensors = engine.problem.einsum.tensors
        self._agreed = {
            TensorPlace(tensors[agreed.tensor], agreed.memory): agreed.admits(
                lattice.tiles, np.array(lattice.bounds)
            )
            for agreed in rules.agreed
        }

    def above(self, alike: AlikePrograms, inner: InnerProgram) -> Iterator[LoopPlacement]:
        """Yield the placements of fused loops above some programs, each with its legal labels.

        `inner`: the first of the programs. A label needs loops over just the variables that its
        tile cuts.
        """
        number, states = alike.numbers[0], alike.states
        cut = self._cut_variables[states]
        region = RegionStates(self._engine, inner, self._rules)
        patterns = np.unique(cut).tolist() if self._rules.fused else [0]
        for pattern in patterns:
            chosen = np.flatnonzero(cut == pattern)
            for loops in self._loop_placements(inner, pattern):
                source = PmappingSource(inner, number, loops)
                labels = self._legal_labels(region, loops, chosen, states)
                if len(labels):
                    yield LoopPlacement(region, source, alike, labels, states[labels])

    def _loop_placements(self, inner: InnerProgram, pattern: int) -> Iterator[FusedLoops]:
        """Yield the ways to place fused loops over some variables; `pattern`: these as bits."""
        gaps, bounds = dict(inner.loop_gaps), self._engine.lattice.bounds
        repeats = self._rules.loops_per_variable
        variables = [v for v in range(len(bounds)) if pattern >> v & 1]
        options = (list(loop_chains(v, bounds[v], gaps.get(v, ()), repeats)) for v in variables)
        for nested in product(*options):
            yield tuple(loop for chain in nested for loop in chain)

    def _legal_labels(
        self, region: RegionStates, loops: FusedLoops, chosen: Ints, states: Ints
    ) -> Ints:
        """Return those of the labels `chosen` that may stand below the loops.

        `chosen`: numbers of labels; `states`: tile state of every label. Their tiles must properly
        divide those of the loops, and meet tile_shape rules and agreed tiles.
        """
        labels = chosen[self._divides(loops, states[chosen])]
        for place, allowed in region.tile_shape_masks:
            tile_states = region.states_above(loops, gap_below_lanes(place), states[labels])
            labels = labels[allowed[tile_states]]
        for place, holder in enumerate(region.region.holders if self._agreed else ()):
            agreed = self._agreed.get(TensorPlace.of(holder)) if holder.backing else None
            if agreed is not None:
                tile_states = region.states_above(loops, gap_below_lanes(place), states[labels])
                labels = labels[agreed[tile_states]]
        return labels

    def _divides(self, loops: FusedLoops, states: Ints) -> NDArray[np.bool_]:
        """Mark the states whose tiles properly divide those of loops over the same variables."""
        divides = np.ones(len(states), np.bool_)
        for variable, _, tile in loops:
            if tile:
                inner_tile = self._engine.lattice.tiles[states, variable]
                divides &= (inner_tile < tile) & (tile % inner_tile == 0)
        return divides
