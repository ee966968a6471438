"""Rows of one Einsum: choices of fused loops, with what they cost and reserve.

A row is (fused loops outermost first, depth of every tensor on chip); its labels are the Pareto
points of (energy, latency, bits above each loop), and of the bits in deeper memories whose usage
counts. Everything above the lowest tensor on chip is in
closed form, because a tile there is the whole of each variable except those of the loops above
(fusion.md §2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import permutations, product
from typing import Any

import numpy as np

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.join.cost_limit import CostLimit
from tilewright.mapper.fusion.join.group_pareto import pareto
from tilewright.mapper.fusion.pmappings.fused_templates import FusedTemplate
from tilewright.mapper.fusion.pmappings.inner_programs import InnerProgram
from tilewright.mapper.fusion.pmappings.inner_search import RegionRules, SolvedProgram, tile_bits
from tilewright.mapper.fusion.pmappings.region import FusedLoops, RegionStates
from tilewright.mapper.fusion.pmappings.shared_spatial import (
    SharedSpatialLoop,
    gap_above_lanes,
    gap_below_lanes,
    with_spatial_loops,
)
from tilewright.mapper.fusion.pmappings.shared_tolls import TollPassage
from tilewright.mapper.fusion.pmappings.tile_reservations import LoopOrder, TileReservation
from tilewright.mapper.searches.budget import GROWTH, Budget
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.program.charge_sites import CostTerm
from tilewright.mapper.templates.placement import Holder
from tilewright.mapper.templates.spatial_choices import divisors

HeldTensor = tuple[TensorPlace, int, int]


@dataclass(frozen=True, slots=True)
class PmappingSource:
    """Where labels come from: a solved part, its number, and where its fused loops stand."""

    inner_program: InnerProgram
    number: int
    loops: FusedLoops

    def holder_depth(self, place: int) -> int:
        """Return the number of loops and lanes above holder `place` of the region."""
        return len(self.inner_program.spatial_loops_above(place)) + self._loops_down_to(
            gap_below_lanes(place)
        )

    def toll_depth(self, passage: TollPassage) -> int:
        """Return the number of loops and lanes above a Toll of the region."""
        if passage.lanes_above is None:
            return self.holder_depth(passage.region_place)
        return passage.lanes_above + self._loops_down_to(gap_above_lanes(passage.region_place))

    @property
    def loops_above_lanes(self) -> list[int]:
        """The number of loops above each of the lanes."""
        return [
            self._loops_down_to(gap_above_lanes(spread.region_place))
            for spread in self.inner_program.spatial_loops
        ]

    def _loops_down_to(self, gap: int) -> int:
        return sum(own <= gap for _, own, _ in self.loops)


@dataclass(frozen=True, slots=True)
class NumberedCompatibility:
    """`order`: the fused loops; `depths`: (tensor, loops above) of those on chip; `held`: (tensor,
    loops above its holder, above its tile) of contested ones held above the innermost loop, and
    (…, …, the same) of the Tolls that they pass there; `spreads`: the lanes among the loops, which
    have the numbers -1, -2, … there."""

    order: LoopOrder
    depths: tuple[tuple[TensorPlace, int], ...]
    held: tuple[HeldTensor, ...]
    spatial_loops: tuple[SharedSpatialLoop, ...] = ()


@dataclass(frozen=True, slots=True)
class PmappingBlock:
    """Labels of one shape. `states`: the tile below the fused loops, lanes taken for one.

    `values`: energy, latency, bits in use (Rules.used), per memory (Rules.memories) bits reserved
    above loop 1, …, n, and in all; one row per label.
    `origin`: number of the source, label there.
    """

    states: Ints
    values: Floats
    origins: Ints


class PmappingMaker:
    """Makes the rows of one Einsum from the labels below its fused loops."""

    def __init__(
        self,
        engine: LabelEngine,
        metrics: LabelMetrics,
        rules: RegionRules,
        most: CostLimit,
        budget: Budget,
    ) -> None:
        self._cost_limit = most
        self._budget = budget
        self._engine = engine
        self._metrics = metrics
        self._rules = rules
        lattice = engine.lattice
        parted = lattice.tiles != np.array(lattice.bounds)
        self._cut_variables = parted @ (
            1 << np.arange(len(lattice.bounds))
        )  # variables cut, as bits
        self._tile_bits: dict[TensorPlace, Floats] = {}
        self._pieces: dict[NumberedCompatibility, list[PmappingBlock]] = {}
        self._solved: Sequence[SolvedProgram] = ()
        self.sources: list[PmappingSource] = []

    def make(self, solved: Sequence[SolvedProgram]) -> dict[NumberedCompatibility, PmappingBlock]:
        """Return the rows of all parts, only their Pareto points kept."""
        self._solved = solved
        for number in range(len(solved)):
            self._add_program(number)
        return {
            shape: _undominated_block(pieces)
            for shape, pieces in sorted_compatibilities(self._pieces)
        }

    def origins(self, blocks: Mapping[NumberedCompatibility, PmappingBlock]) -> Ints:
        """Return the number of the part and the label there of every point, shape (points, 2)."""
        parts = np.array([source.number for source in self.sources], np.int64)
        none = np.zeros((0, 2), np.int64)
        found = np.concatenate([none, *(block.origins for block in blocks.values())])
        found[:, 0] = parts[found[:, 0]]
        return found

    def _add_program(self, number: int) -> None:
        """Add the rows of one part: its labels by the variables that their fused loops cut."""
        solved = self._solved[number]
        table = solved.tables[-1]
        states = np.repeat(np.arange(table.start.shape[0] - 1), np.diff(table.start))
        lattice = self._engine.lattice
        cut = self._cut_variables[states]
        legal = dict(solved.inner_program.loop_gaps)
        ground = RegionStates(self._engine, solved.inner_program, self._rules)
        patterns = np.unique(cut).tolist() if self._rules.fused else [0]
        for pattern in patterns:
            variables = [v for v in range(len(lattice.bounds)) if pattern >> v & 1]
            chosen = np.flatnonzero(cut == pattern)
            options = (self._loop_chains(v, legal.get(v, ())) for v in variables)
            for nested in product(*options):
                gaps = tuple(loop for loops in nested for loop in loops)
                source = PmappingSource(solved.inner_program, number, gaps)
                mine = chosen[self._divides(source.loops, states[chosen])]
                for place, allowed in ground.tile_shape_masks:
                    above = ground.states_above(source.loops, gap_below_lanes(place), states[mine])
                    mine = mine[allowed[above]]
                if len(mine):
                    self._add_placed(ground, source, (mine, states[mine]))

    def _add_placed(
        self, ground: RegionStates, source: PmappingSource, labelled: tuple[Ints, Ints]
    ) -> None:
        """Add the rows of one placement of the fused loops; `labelled`: labels, states."""
        depths = tuple(source.holder_depth(place) for place in range(len(ground.region.holders)))
        above = source.loops_above_lanes
        ways = (
            with_spatial_loops(order, above)
            for order in loop_orders(source.loops, ground.needless_first)
        )
        passed = tuple(self._held_in_tolls(ground, source, depths[-1])) if depths else ()
        for rooms, some in ground.region.orders_by_reservation(depths, ways).items():
            block = self._priced_block((ground, source), rooms, labelled)
            if len(block.states):
                self._add_block((ground.inner_program, passed), depths, (rooms, some), block)

    def _held_in_tolls(
        self, ground: RegionStates, source: PmappingSource, lowest: int
    ) -> Iterator[HeldTensor]:
        """Yield where contested tensors pass Tolls above the innermost of `lowest` loops."""
        for one in ground.toll_passages:
            depth = source.toll_depth(one)
            if depth < lowest and one.toll.tensor in self._rules.contested:
                yield TensorPlace(one.toll.tensor, one.toll.component), depth, depth

    def _loop_chains(self, variable: int, places: tuple[int, ...]) -> list[FusedLoops]:
        """Return the ways to place the loops over a variable, outermost first."""
        return list(
            loop_chains((variable, self._engine.lattice.bounds[variable]), places, self._rules)
        )

    def _divides(self, gaps: FusedLoops, states: Ints) -> Any:
        """Mark the states whose tiles are parts of those of the loops above."""
        fine = np.ones(len(states), np.bool_)
        for variable, _, tile in gaps:
            if tile:
                own = self._engine.lattice.tiles[states, variable]
                fine &= (own < tile) & (tile % own == 0)
        return fine

    def _add_block(
        self,
        made: tuple[InnerProgram, tuple[HeldTensor, ...]],
        depths: Sequence[int],
        ways: tuple[tuple[TileReservation, ...], list[LoopOrder]],
        block: PmappingBlock,
    ) -> None:
        """Put labels under their shapes: one per order of the loops; `made`: a part, and the Tolls
        that contested tensors pass."""
        (part, passed), (rooms, some) = made, ways
        region = part.template.region
        places = [TensorPlace(holder.tensor, holder.component) for holder in region]
        exchanged = set(part.template.on_chip)
        on_chip = [(p, d) for p, d in zip(places, depths, strict=True) if p in exchanged]
        held = [
            (p, depth, low if h.tensor in self._rules.tracked_tiles else depth)
            for p, h, depth, (low, _) in zip(places, region, depths, rooms, strict=True)
            if not h.backing and depth < depths[-1] and h.tensor in self._rules.contested
        ]
        spreads = tuple(spread._replace(region_place=0) for spread in part.spatial_loops)
        for order in some:
            stands = tuple(sorted((*held, *passed)))
            shape = NumberedCompatibility(order, tuple(sorted(on_chip)), stands, spreads)
            self._pieces.setdefault(shape, []).append(block)

    def _priced_block(
        self,
        placed: tuple[RegionStates, PmappingSource],
        rooms: Sequence[TileReservation],
        labelled: tuple[Ints, Ints],
    ) -> PmappingBlock:
        """Price the region for one placement of its fused loops; `labelled`: labels, states."""
        ground, source = placed
        every, part = self._solved[source.number].labels, ground.inner_program
        self._budget.check(more_bytes=GROWTH * every.nbytes)
        chosen, states = labelled
        labels = every[chosen]
        memories = {name: number for number, name in enumerate(self._rules.memories)}
        columns = len(source.loops) + len(part.spatial_loops) + 1
        reserved = np.zeros((len(memories), len(chosen), columns))
        shared = np.zeros((len(memories), len(chosen)))
        streamed = part.template.streamed
        for place, adds in part.network_charges.items():
            self._charge(
                labels, adds, ground.states_above(source.loops, gap_above_lanes(place), states)
            )
        for place, holder in enumerate(part.template.region):
            low, tiles = rooms[place]
            memory = memories[holder.component]
            kept = self._bits_of(holder)[ground.reserved_states(tiles, states)]
            if holder.backing and place >= part.template.n_private:
                shared[memory] += kept
                continue
            above = ground.states_above(source.loops, gap_below_lanes(place), states)
            self._charge(labels, part.holder_charges[place], above)
            if place not in streamed:
                reserved[memory, :, low] += kept
        reserved = np.cumsum(reserved, axis=2)
        room = self._engine.fields.used_bits
        for name, memory in memories.items():
            if name in room:
                reserved[memory, :, -1] += labels[:, room[name]]
            else:
                reserved[memory] = 0.0
        values = self._values(labels, reserved, part.template)
        times = self._engine.problem.einsum.n_instances
        sizes = np.array(self._rules.capacities)[:, np.newaxis]
        fits = (
            (reserved[:, :, -1] + shared <= sizes).all(axis=0)
            & (values[:, 0] <= self._cost_limit.energy * times)
            & (values[:, 1] <= self._cost_limit.latency * times)
        )
        origin = np.stack([np.full(len(chosen), len(self.sources)), chosen], axis=1)
        self.sources.append(source)
        return PmappingBlock(states[fits], values[fits], origin[fits])

    def _charge(self, labels: Floats, adds: Sequence[CostTerm], above: Ints) -> None:
        """Add what tiles given as states cost."""
        for add in adds:
            counts = self._engine.count(add.tensor, add.kind, add.lanes)
            labels[:, add.field] += add.factor * counts[above]

    def _values(self, labels: Floats, reserved: Floats, layout: FusedTemplate) -> Floats:
        energy, latency = labels[:, 0], np.zeros(len(labels))
        if self._rules.counts_latency:
            latency = self._metrics.all_latencies(labels)
            energy = self._metrics.all_energies(labels, latency)
        times = float(self._engine.problem.einsum.n_instances)
        room = self._engine.fields.used_bits
        none = np.zeros(len(labels))
        outside = self._outermost_bits(layout)
        used = [
            labels[:, room[name]] if name in room else none + outside.get(name, 0.0)
            for name in self._rules.usage_memories
        ]
        return np.column_stack([energy * times, latency * times, *used, *reserved])

    def _outermost_bits(self, layout: FusedTemplate) -> dict[str, float]:
        """Return the bits in the outermost memory of tensors that no other Einsum uses."""
        found: dict[str, float] = {}
        for holder in layout.template.holders[: layout.n_outermost]:
            if holder.tensor in self._rules.private:
                whole = float(self._bits_of(holder)[-1])
                found[holder.component] = found.get(holder.component, 0.0) + whole
        return found

    def _bits_of(self, holder: Holder) -> Floats:
        place = TensorPlace(holder.tensor, holder.component)
        if place not in self._tile_bits:
            self._tile_bits[place] = tile_bits(self._engine, *place)
        return self._tile_bits[place]


def legal_places(
    variable: str,
    layout: FusedTemplate,
    carried: Mapping[str, frozenset[str]],
    banned: Sequence[frozenset[str]],
) -> tuple[int, ...]:
    """Return the region holders right above which a fused loop over `variable` may stand.

    It must be fully relevant to every tensor on chip below it; `banned`: see banned_above.
    """
    holders = layout.region
    found: list[int] = []
    for place in range(len(holders) - 1, layout.n_private - 1, -1):
        holder = holders[place]
        if holder.backing and variable not in carried[holder.tensor]:
            break
        if variable not in banned[place]:
            found.append(place)
    return tuple(found)


def loop_chains(
    subject: tuple[int, int], places: tuple[int, ...], rules: RegionRules
) -> Iterator[FusedLoops]:
    """Yield the ways to place up to `rules.repeats` loops over a variable, outermost first.

    `subject`: the variable and the tile above; the innermost loop has the tile of the state.
    """
    variable, above = subject
    for place in places:
        yield ((variable, place, 0),)
        if rules.loops_per_variable == 1:
            continue
        lower = tuple(p for p in places if p >= place)
        for tile in divisors(above)[1:-1]:
            for rest in loop_chains(
                (variable, tile),
                lower,
                replace(rules, loops_per_variable=rules.loops_per_variable - 1),
            ):
                yield ((variable, place, tile), *rest)


def loop_orders(gaps: FusedLoops, idle: Mapping[int, frozenset[int]]) -> Iterator[LoopOrder]:
    """Yield the orders of the loops: those of one gap may stand in any order, of one variable the
    outer one first.

    `idle[gap]`: variables relevant to the tensor held right above, not backed there. As the first
    loop of the gap they would only make it keep more than it needs: it can be held below.
    """
    groups: dict[int, list[tuple[int, int]]] = {}
    for variable, gap, tile in gaps:
        groups.setdefault(gap, []).append((variable, tile))
    for chosen in product(*(permutations(groups[gap]) for gap in sorted(groups))):
        if any(
            group[0][0] in idle.get(gap, ())
            for gap, group in zip(sorted(groups), chosen, strict=True)
        ):
            continue
        order = tuple(loop for group in chosen for loop in group)
        if all([loop for loop in order if loop[0] == v] == _loops_over(gaps, v) for v, _ in order):
            yield order


def _loops_over(gaps: FusedLoops, variable: int) -> list[tuple[int, int]]:
    return [(v, tile) for v, _, tile in gaps if v == variable]


def sorted_compatibilities(
    pieces: Mapping[NumberedCompatibility, list[PmappingBlock]],
) -> list[tuple[NumberedCompatibility, list[PmappingBlock]]]:
    """Return the shapes in a fixed order."""
    return sorted(pieces.items(), key=lambda item: astuple(item[0]))


def _undominated_block(pieces: Sequence[PmappingBlock]) -> PmappingBlock:
    states = np.concatenate([piece.states for piece in pieces])
    values = np.concatenate([piece.values for piece in pieces])
    origin = np.concatenate([piece.origins for piece in pieces])
    kept = pareto(states, values)
    return PmappingBlock(states[kept], values[kept], origin[kept])
