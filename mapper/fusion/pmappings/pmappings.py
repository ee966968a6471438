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
from itertools import product
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.bounds.cost_limit import CostLimit
from tilewright.mapper.fusion.pmappings.fused_templates import FusedTemplate
from tilewright.mapper.fusion.pmappings.inner_programs import InnerProgram
from tilewright.mapper.fusion.pmappings.inner_search import RegionRules, SolvedProgram, tile_bits
from tilewright.mapper.fusion.pmappings.pmapping_records import (
    ContestedTensor,
    NumberedCompatibility,
    PmappingBlock,
    PmappingSource,
    sorted_compatibilities,
)
from tilewright.mapper.fusion.pmappings.region import (
    AlikePrograms,
    FusedLoops,
    RegionStates,
    alike_programs,
    loop_chains,
    loop_orders,
)
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import (
    gap_above_lanes,
    gap_below_lanes,
    with_spatial_loops,
)
from tilewright.mapper.fusion.pmappings.tile_reservations import (
    LoopOrder,
    OrdersByReservation,
    TileReservation,
)
from tilewright.mapper.searches.budget import GROWTH, Budget
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.program.charge_sites import CostTerm
from tilewright.mapper.searches.shared.group_pareto import pareto
from tilewright.mapper.templates.placement import Holder


class _LoopPlacement(NamedTuple):
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

    def select(self, chosen: Ints) -> _LoopPlacement:
        """Return the placement with only some of its labels; `chosen`: positions among them."""
        return self._replace(labels=self.labels[chosen], states=self.states[chosen])

    @property
    def depths(self) -> tuple[int, ...]:
        """Number of fused loops above each holder of the region."""
        return tuple(map(self.source.holder_depth, range(len(self.region.region.holders))))


class _PricedPlacement(NamedTuple):
    """A placement of fused loops with the labels that cost no more than the limit.

    `labels`: rows with the costs of the region added, shape (labels, fields). `costs`: energy in
    joule and latency in second of all instances, shape (labels, 2).
    """

    placement: _LoopPlacement
    labels: Floats
    costs: Floats


class _Reserved(NamedTuple):
    """Bits that the mappings of a placement reserve in each exchange memory.

    `per_loop`: by holders that exchange nothing, above loop 1, …, n, and in all; shape (memories,
    labels, loops + 1). `exchanged`: by exchanged tensors on chip; shape (memories, labels).
    """

    per_loop: Floats
    exchanged: Floats


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
        self._tile_bits: dict[TensorPlace, Floats] = {}
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
        for alike in alike_programs(solved, self._budget):
            for placement in self._placements(alike):
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
        for alike in alike_programs(solved, self._budget):
            for placement in self._placements(alike):
                least = min(least, self._least_of_placement(placement, metric, least))
        return least

    def _least_of_placement(self, placement: _LoopPlacement, metric: int, known: float) -> float:
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
        for reservations in self._orders_by_reservation(few):
            fits |= self._fits(self._reserved_bits(few, reservations, labels))
        return float(costs[better[fits], metric].min(initial=inf))

    def _placements(self, alike: AlikePrograms) -> Iterator[_LoopPlacement]:
        """Yield the placements of fused loops above some programs, each with its legal labels.

        A label needs loops over just the variables that its tile cuts.
        """
        number, states = alike.numbers[0], alike.states
        inner = self._solved[number].inner_program
        cut = self._cut_variables[states]
        region = RegionStates(self._engine, inner, self._rules)
        patterns = np.unique(cut).tolist() if self._rules.fused else [0]
        for pattern in patterns:
            chosen = np.flatnonzero(cut == pattern)
            for loops in self._loop_placements(inner, pattern):
                source = PmappingSource(inner, number, loops)
                labels = self._legal_labels(region, loops, chosen, states)
                if len(labels):
                    yield _LoopPlacement(region, source, alike, labels, states[labels])

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
            agreed = self._agreed.get(_place_of(holder)) if holder.backing else None
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

    def _add_placement(self, placement: _LoopPlacement) -> None:
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
        for reservations, same_orders in self._orders_by_reservation(placement).items():
            block = self._fitting_block(priced, reservations, first_source)
            if len(block.states):
                self.compared += len(block.states) * len(same_orders)
                held_tensors = (*self._held_by_holders(placement, depths, reservations), *in_tolls)
                for compatibility in _compatibilities(region, depths, held_tensors, same_orders):
                    self._pieces.setdefault(compatibility, []).append(block)

    def _add_sources(self, placement: _LoopPlacement) -> int:
        """Add one source per search of a placement; return the number of the first."""
        first, loops = len(self.sources), placement.source.loops
        self.sources += [
            PmappingSource(self._solved[number].inner_program, number, loops)
            for number in placement.alike.numbers
        ]
        return first

    def _orders_by_reservation(self, placement: _LoopPlacement) -> OrdersByReservation:
        """Group the orders of a placement's fused loops by the tiles that holders reserve."""
        region, source = placement.region, placement.source
        loops_above_lanes = source.loops_above_lanes
        temporal = loop_orders(source.loops, region.needless_first)
        orders = (with_spatial_loops(order, loops_above_lanes) for order in temporal)
        return region.region.orders_by_reservation(placement.depths, orders)

    def _held_in_tolls(self, placement: _LoopPlacement, lowest: int) -> Iterator[ContestedTensor]:
        """Yield the contested tensors that pass a Toll above the innermost of `lowest` loops."""
        for passage in placement.region.toll_passages:
            depth, toll = placement.source.toll_depth(passage), passage.toll
            if depth < lowest and toll.tensor in self._rules.contested:
                yield ContestedTensor(TensorPlace(toll.tensor, toll.component), depth, depth)

    def _held_by_holders(
        self,
        placement: _LoopPlacement,
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
                yield ContestedTensor(_place_of(holder), depth, tile_depth)

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
        reserved = self._reserved_bits(placement, reservations, labels)
        fits = np.flatnonzero(self._fits(reserved))
        usage = self._usages(labels, source.inner_program.template)
        values = np.column_stack([priced.costs, *usage, *reserved.per_loop])[fits]
        origins = placement.alike.origins[placement.labels[fits]]
        origins[:, 0] += first_source
        return PmappingBlock(placement.states[fits], values, origins)

    def _charged_labels(self, placement: _LoopPlacement) -> Floats:
        """Return the label rows of a placement with the costs of the region added."""
        all_labels = placement.alike.labels
        self._budget.check(more_bytes=GROWTH * all_labels.nbytes)
        labels = all_labels[placement.labels]
        self._charge_region(placement, labels)
        return labels

    def _fits(self, reserved: _Reserved) -> NDArray[np.bool_]:
        """Mark the labels whose reserved bits fit in every exchange memory; shape (labels,)."""
        capacities = np.array(self._rules.capacities)[:, np.newaxis]
        whole = reserved.per_loop[:, :, -1] + reserved.exchanged
        return np.asarray((whole <= capacities).all(axis=0))

    def _is_cheap(self, values: Floats) -> NDArray[np.bool_]:
        """Mark the rows whose first two columns, energy and latency, are within the cost limit."""
        times = self._engine.problem.einsum.n_instances
        limits = np.array([self._cost_limit.energy, self._cost_limit.latency]) * times
        return np.asarray((values[:, :2] <= limits).all(axis=1))

    def _charge_region(self, placement: _LoopPlacement, labels: Floats) -> None:
        """Add the costs of the region's holders and Networks to label rows, in place."""
        region, loops, states = placement.region, placement.source.loops, placement.states
        inner = placement.source.inner_program
        for place, terms in inner.network_charges.items():
            self._charge(labels, terms, region.states_above(loops, gap_above_lanes(place), states))
        for place, holder in enumerate(inner.template.region):
            if not _is_exchanged(inner.template, place, holder):
                tile_states = region.states_above(loops, gap_below_lanes(place), states)
                self._charge(labels, inner.holder_charges[place], tile_states)

    def _charge(self, labels: Floats, terms: Sequence[CostTerm], tile_states: Ints) -> None:
        """Add the calls that `terms` charge at tile shapes `tile_states` to labels, in place."""
        for term in terms:
            counts = self._engine.arrays.count(term.tensor, term.kind, term.lanes)
            labels[:, term.field] += term.factor * counts[tile_states]

    def _reserved_bits(
        self, placement: _LoopPlacement, reservations: Sequence[TileReservation], labels: Floats
    ) -> _Reserved:
        """Return the bits that all holders of the Einsum reserve in the exchange memories.

        `reservations`: per holder of the region, its tile and the loops above it. `labels`: one row
        of costs and bits per pmapping of the placement.
        """
        template = placement.source.inner_program.template
        n_loops = len(placement.source.loops) + len(placement.source.inner_program.spatial_loops)
        memories = {name: number for number, name in enumerate(self._rules.memories)}
        bits_above = np.zeros((len(memories), len(labels), n_loops + 1))
        exchanged = np.zeros((len(memories), len(labels)))
        for place, (holder, reservation) in enumerate(
            zip(template.region, reservations, strict=True)
        ):
            states = placement.region.reserved_states(reservation.tiles, placement.states)
            bits, memory = self._bits_of(holder)[states], memories[holder.component]
            if _is_exchanged(template, place, holder):
                exchanged[memory] += bits
            elif place not in template.streamed:
                bits_above[memory, :, reservation.loops_above] += bits
        bits_above = np.cumsum(bits_above, axis=2)
        used_bits = self._engine.fields.used_bits
        for name, memory in memories.items():
            if name in used_bits:
                bits_above[memory, :, -1] += labels[:, used_bits[name]]
            else:
                bits_above[memory] = 0.0
        return _Reserved(bits_above, exchanged)

    def _usages(self, labels: Floats, template: FusedTemplate) -> list[Floats]:
        """Return the bits in use of each counted memory, one array (labels,) per memory."""
        used_bits = self._engine.fields.used_bits
        nothing = np.zeros(len(labels))
        outermost = self._outermost_bits(template)
        return [
            labels[:, used_bits[name]] if name in used_bits else nothing + outermost.get(name, 0.0)
            for name in self._rules.usage_memories
        ]

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

    def _outermost_bits(self, template: FusedTemplate) -> dict[str, float]:
        """Return, by memory, the bits that private tensors take whole in the outermost memory.

        Private: no other Einsum uses it, and it does not persist.
        """
        bits: dict[str, float] = {}
        for holder in template.template.holders[: template.n_outermost]:
            if holder.tensor in self._rules.private:
                whole_bits = float(self._bits_of(holder)[-1])
                bits[holder.component] = bits.get(holder.component, 0.0) + whole_bits
        return bits

    def _bits_of(self, holder: Holder) -> Floats:
        """Return the bits of a holder's tile for every tile shape; shape (states,)."""
        place = _place_of(holder)
        if place not in self._tile_bits:
            self._tile_bits[place] = tile_bits(self._engine, *place)
        return self._tile_bits[place]


def _place_of(holder: Holder) -> TensorPlace:
    return TensorPlace(holder.tensor, holder.component)


def _is_exchanged(template: FusedTemplate, place: int, holder: Holder) -> bool:
    """Tell whether the holder at a place of the region backs a tensor that Einsums exchange."""
    return holder.backing and place >= template.n_private


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
    places = zip(map(_place_of, inner.template.region), depths, strict=True)
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
