"""Make the pmappings of one Einsum from the labels of its inner programs.

A pmapping consists of fused loops above the lowest tensor on chip, and a label of an inner program
below it. Pmappings of one compatibility have the same fused loops (outermost first, with tile
shapes) and the same number of loops above every tensor on chip. Among these only the Pareto set is
kept, over energy, latency, bits above each loop, and bits in use of memories whose usage counts.
Everything in the region has a closed form: a tile there is the whole of each variable, except for
the variables of the loops above it (theory/fusion.md §2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.bounds.cost_limit import CostLimit
from tilewright.mapper.fusion.pmappings.inner_search import SolvedProgram
from tilewright.mapper.fusion.pmappings.pmapping_records import (
    ContestedTensor,
    NumberedCompatibility,
    PmappingBlock,
    PmappingSource,
    sorted_compatibilities,
)
from tilewright.mapper.fusion.pmappings.region.loop_placements import LoopPlacement, LoopPlacements
from tilewright.mapper.fusion.pmappings.region.region_costs import RegionCosts
from tilewright.mapper.fusion.pmappings.region.region_rules import RegionRules
from tilewright.mapper.fusion.pmappings.region.region_states import RegionStates, alike_programs
from tilewright.mapper.fusion.pmappings.region.tile_reservations import LoopOrder, TileReservation
from tilewright.mapper.searches.budget import GROWTH, Budget
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.shared.group_pareto import pareto


class _PricedPlacement(NamedTuple):
    """A placement of fused loops with the labels that cost no more than the limit.

    `labels`: rows with the costs of the region added, shape (labels, fields). `costs`: energy in
    joule and latency in second of all instances, shape (labels, 2).
    """

    placement: LoopPlacement
    labels: Floats
    costs: Floats


class PmappingMaker:
    """Make the pmappings of one Einsum from the labels of its searches below the region.

    Each label, a partial mapping below the lowest tensor on chip, is combined with every legal
    placement of fused loops above; the costs of the region follow in closed form (theory/fusion.md
    §2). `engine`: lattice of tile shapes. `metrics`: turn labels into energy and latency. `rules`:
    what decides in the region. `cost_limit`: joule and second of one instance; costlier pmappings
    are dropped. `budget`: limits. `sources`: of the pmappings made so far. `compared`: how many
    pmappings were compared.
    """

    def __init__(
        self,
        engine: LabelEngine,
        metrics: LabelMetrics,
        rules: RegionRules,
        cost_limit: CostLimit,
        budget: Budget,
    ) -> None:
        self._cost_limit = cost_limit
        self._budget = budget
        self._engine = engine
        self._metrics = metrics
        self._rules = rules
        self._loops = LoopPlacements(engine, rules)
        self._region = RegionCosts(engine, rules)
        self._pieces: dict[NumberedCompatibility, list[PmappingBlock]] = {}
        self._solved: Sequence[SolvedProgram] = ()
        self.sources: list[PmappingSource] = []
        self.compared = 0

    def make(self, solved: Sequence[SolvedProgram]) -> dict[NumberedCompatibility, PmappingBlock]:
        """Return the mappings of the Einsum that nothing beats, by fused loops and tensors on chip.

        `solved`: the searches below the lowest tensor on chip, with their labels (partial
        mappings). Compared are, per tile shape, energy, latency, bits above each loop and bits in
        use of counted memories. Raises OutOfBudget.
        """
        self._solved = solved
        for placement in self._placements(solved):
            self._add_placement(placement)
        pieces, programs = sorted_compatibilities(self._pieces), self._programs_of_sources()
        return {made: _undominated_block(blocks, programs) for made, blocks in pieces}

    def origins(self, blocks: Mapping[NumberedCompatibility, PmappingBlock]) -> Ints:
        """Return from which label each mapping (pmapping) of some blocks was made.

        (number of the search, number of the label, a partial mapping, there), in the order of
        `blocks`; shape (pmappings, 2). They tell which labels must be traced back.
        """
        programs = self._programs_of_sources()
        no_origins = np.zeros((0, 2), np.int64)
        origins = np.concatenate([no_origins, *(block.origins for block in blocks.values())])
        origins[:, 0] = programs[origins[:, 0]]
        return origins

    def least_cost(self, solved: Sequence[SolvedProgram], metric: int) -> float:
        """Return the least energy or latency of all mappings of the Einsum; inf without any.

        `solved`: the searches below the lowest tensor on chip, with their labels (partial
        mappings). `metric`: 0 energy in joule, 1 latency in second, of all instances. Faster than
        `make`, as no other mapping needs to be looked at closely. Raises OutOfBudget.
        """
        self._solved = solved
        least = inf
        for placement in self._placements(solved):
            least = min(least, self._least_of_placement(placement, metric, least))
        return least

    def _placements(self, solved: Sequence[SolvedProgram]) -> Iterator[LoopPlacement]:
        """Yield the placements of fused loops above all labels, those of alike programs at once."""
        for alike in alike_programs(solved, self._budget):
            yield from self._loops.above(alike, solved[alike.numbers[0]].inner_program)

    def _least_of_placement(self, placement: LoopPlacement, metric: int, known: float) -> float:
        """Return the least cost of what fits, if below `known`, else inf; `metric` 0: J, 1: s."""
        labels = self._charged_labels(placement)
        times = self._engine.problem.einsum.n_instances
        highest = min(self._cost_limit.energy * times, inf if metric else known)
        hopeful = np.flatnonzero(labels[:, 0] * times <= highest)  # without leakage
        costs = self._costs(labels[hopeful])
        better = np.flatnonzero(self._is_cheap(costs) & (costs[:, metric] < known))
        if not len(better):
            return inf
        few = placement.select(hopeful[better])
        labels = labels[hopeful[better]]
        fits = np.zeros(len(better), np.bool_)
        for reservations in few.orders_by_reservation():
            fits |= self._region.fits(self._region.reserved(few, reservations, labels))
        return float(costs[better[fits], metric].min(initial=inf))

    def _add_placement(self, placement: LoopPlacement) -> None:
        """Make the pmappings of one placement of the fused loops, and add them to the others."""
        labels = self._charged_labels(placement)
        times = self._engine.problem.einsum.n_instances
        hopeful = np.flatnonzero(labels[:, 0] * times <= self._cost_limit.energy * times)
        if not len(hopeful):
            return
        costs = self._costs(labels[hopeful])
        cheap = self._is_cheap(costs)
        chosen = hopeful[cheap]
        if not len(chosen):
            return
        priced = _PricedPlacement(placement.select(chosen), labels[chosen], costs[cheap])
        region, depths = placement.region, placement.depths
        in_tolls = tuple(self._held_in_tolls(placement, depths[-1])) if depths else ()
        first_source = self._add_sources(placement)
        for reservations, same_orders in placement.orders_by_reservation().items():
            block = self._fitting_block(priced, reservations, first_source)
            if len(block.states):
                self.compared += len(block.states) * len(same_orders)
                held_tensors = (*self._held_by_holders(placement, depths, reservations), *in_tolls)
                for compatibility in _compatibilities(region, depths, held_tensors, same_orders):
                    self._pieces.setdefault(compatibility, []).append(block)

    def _add_sources(self, placement: LoopPlacement) -> int:
        """Add one source per search of a placement; return the number of the first."""
        first, loops = len(self.sources), placement.source.loops
        self.sources += [
            PmappingSource(self._solved[number].inner_program, number, loops)
            for number in placement.alike.numbers
        ]
        return first

    def _held_in_tolls(self, placement: LoopPlacement, lowest: int) -> Iterator[ContestedTensor]:
        """Yield the contested tensors that pass a Toll above the innermost of `lowest` loops."""
        for passage in placement.region.toll_passages:
            depth, toll = placement.source.toll_depth(passage), passage.toll
            if depth < lowest and toll.tensor in self._rules.contested:
                yield ContestedTensor(TensorPlace(toll.tensor, toll.component), depth, depth)

    def _held_by_holders(
        self,
        placement: LoopPlacement,
        depths: Sequence[int],
        reservations: Sequence[TileReservation],
    ) -> Iterator[ContestedTensor]:
        """Yield the contested tensors that the region holds above the innermost loop.

        `depths`: fused loops above each holder. `reservations`: the tile that each reserves.
        """
        holders = placement.region.region.holders
        for holder, depth, reservation in zip(holders, depths, reservations, strict=True):
            contested = holder.tensor in self._rules.contested
            if contested and not holder.backing and depth < depths[-1]:
                tracked = holder.tensor in self._rules.tracked_tiles
                tile_depth = reservation.loops_above if tracked else depth
                yield ContestedTensor(TensorPlace.of(holder), depth, tile_depth)

    def _fitting_block(
        self,
        priced: _PricedPlacement,
        reservations: Sequence[TileReservation],
        first_source: int,
    ) -> PmappingBlock:
        """Return the pmappings of a placement that fit the exchange memories.

        `reservations`: the tile that each holder of the region reserves. `first_source`: number of
        the placement's first source.
        """
        placement, labels = priced.placement, priced.labels
        source = placement.source
        reserved = self._region.reserved(placement, reservations, labels)
        fits = np.flatnonzero(self._region.fits(reserved))
        usage = self._region.usages(labels, source.inner_program.template)
        values = np.column_stack([priced.costs, *usage, *reserved.per_loop])[fits]
        origins = placement.alike.origins[placement.labels[fits]]
        origins[:, 0] += first_source
        return PmappingBlock(placement.states[fits], values, origins)

    def _charged_labels(self, placement: LoopPlacement) -> Floats:
        """Return the label rows of a placement with the costs of the region added."""
        all_labels = placement.alike.labels
        self._budget.check(more_bytes=GROWTH * all_labels.nbytes)
        labels = all_labels[placement.labels]
        self._region.charge(placement, labels)
        return labels

    def _is_cheap(self, values: Floats) -> NDArray[np.bool_]:
        """Mark the rows whose first two columns, energy and latency, are within the cost limit."""
        times = self._engine.problem.einsum.n_instances
        limits = np.array([self._cost_limit.energy, self._cost_limit.latency]) * times
        return np.asarray((values[:, :2] <= limits).all(axis=1))

    def _costs(self, labels: Floats) -> Floats:
        """Return energy in joule and latency in second of all instances, shape (labels, 2).

        The latency is 0 where it is not counted.
        """
        energy, latency = labels[:, 0], np.zeros(len(labels))
        if self._rules.counts_latency:
            latency = self._metrics.all_latencies(labels)
            energy = self._metrics.all_energies(labels, latency)
        times = float(self._engine.problem.einsum.n_instances)
        return np.column_stack([energy * times, latency * times])

    def _programs_of_sources(self) -> Ints:
        """Return the number of the search that each source belongs to, shape (sources,)."""
        return np.array([source.number for source in self.sources], np.int64)


def _compatibilities(
    region: RegionStates,
    depths: Sequence[int],
    held_tensors: Sequence[ContestedTensor],
    orders: Iterable[LoopOrder],
) -> Iterator[NumberedCompatibility]:
    """Yield one compatibility per order of the fused loops.

    `depths`: loops above each holder of the region; `held_tensors`: contested tensors with theirs.
    """
    inner = region.inner_program
    exchanged = set(inner.template.on_chip)
    places = zip(map(TensorPlace.of, inner.template.region), depths, strict=True)
    on_chip = tuple(sorted((place, depth) for place, depth in places if place in exchanged))
    spatial = tuple(loop._replace(region_place=0) for loop in inner.spatial_loops)
    for order in orders:
        yield NumberedCompatibility(order, on_chip, tuple(sorted(held_tensors)), spatial)


def _undominated_block(blocks: Sequence[PmappingBlock], programs: Ints) -> PmappingBlock:
    """Return the Pareto set of the pmappings of some blocks, separately per tile shape.

    `programs`: number of the search of each source. Of equal pmappings that of the first search
    stays.
    """
    states = np.concatenate([block.states for block in blocks])
    values = np.concatenate([block.values for block in blocks])
    origins = np.concatenate([block.origins for block in blocks])
    order = np.argsort(programs[origins[:, 0]], kind="stable")
    rows = order[pareto(states[order], values[order])]
    return PmappingBlock(states[rows], values[rows], origins[rows])
