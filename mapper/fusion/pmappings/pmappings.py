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

from tilewright.mapper.fusion.boundary.exchanged_tensors import Place
from tilewright.mapper.fusion.join.cost_limit import Allowance
from tilewright.mapper.fusion.join.group_pareto import pareto
from tilewright.mapper.fusion.pmappings.fused_templates import Layout
from tilewright.mapper.fusion.pmappings.inner_programs import Part
from tilewright.mapper.fusion.pmappings.inner_search import Rules, Solved, bits_of
from tilewright.mapper.fusion.pmappings.region import Gaps, Ground
from tilewright.mapper.fusion.pmappings.shared_spatial import Spread, over, under, with_lanes
from tilewright.mapper.fusion.pmappings.shared_tolls import Passage
from tilewright.mapper.fusion.pmappings.tile_reservations import Order, Room
from tilewright.mapper.searches.budget import GROWTH, Budget
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.program.charge_sites import CostTerm
from tilewright.mapper.templates.placement import Holder
from tilewright.mapper.templates.spatial_choices import divisors

Held = tuple[Place, int, int]


@dataclass(frozen=True, slots=True)
class Source:
    """Where labels come from: a solved part, its number, and where its fused loops stand."""

    part: Part
    number: int
    gaps: Gaps

    def depth(self, place: int) -> int:
        """Return the number of loops and lanes above holder `place` of the region."""
        return len(self.part.down_to(place)) + self._loops_to(under(place))

    def depth_of(self, passage: Passage) -> int:
        """Return the number of loops and lanes above a Toll of the region."""
        if passage.lanes is None:
            return self.depth(passage.place)
        return passage.lanes + self._loops_to(over(passage.place))

    @property
    def above_lanes(self) -> list[int]:
        """The number of loops above each of the lanes."""
        return [self._loops_to(over(spread.stand)) for spread in self.part.spreads]

    def _loops_to(self, gap: int) -> int:
        return sum(own <= gap for _, own, _ in self.gaps)


@dataclass(frozen=True, slots=True)
class Shape:
    """`order`: the fused loops; `depths`: (tensor, loops above) of those on chip; `held`: (tensor,
    loops above its holder, above its tile) of contested ones held above the innermost loop, and
    (…, …, the same) of the Tolls that they pass there; `spreads`: the lanes among the loops, which
    have the numbers -1, -2, … there."""

    order: Order
    depths: tuple[tuple[Place, int], ...]
    held: tuple[Held, ...]
    spreads: tuple[Spread, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Labels of one shape. `states`: the tile below the fused loops, lanes taken for one.

    `values`: energy, latency, bits in use (Rules.used), per memory (Rules.memories) bits reserved
    above loop 1, …, n, and in all; one row per label.
    `origin`: number of the source, label there.
    """

    states: Ints
    values: Floats
    origin: Ints


class RowMaker:
    """Makes the rows of one Einsum from the labels below its fused loops."""

    def __init__(
        self,
        engine: LabelEngine,
        metrics: LabelMetrics,
        rules: Rules,
        most: Allowance,
        budget: Budget,
    ) -> None:
        self._most = most
        self._budget = budget
        self._engine = engine
        self._metrics = metrics
        self._rules = rules
        lattice = engine.lattice
        parted = lattice.tiles != np.array(lattice.bounds)
        self._cut = parted @ (1 << np.arange(len(lattice.bounds)))  # variables cut, as bits
        self._sizes: dict[Place, Floats] = {}
        self._pieces: dict[Shape, list[Block]] = {}
        self._solved: Sequence[Solved] = ()
        self.sources: list[Source] = []

    def make(self, solved: Sequence[Solved]) -> dict[Shape, Block]:
        """Return the rows of all parts, only their Pareto points kept."""
        self._solved = solved
        for number in range(len(solved)):
            self._add(number)
        return {shape: _reduced(pieces) for shape, pieces in sorted_shapes(self._pieces)}

    def origins(self, blocks: Mapping[Shape, Block]) -> Ints:
        """Return the number of the part and the label there of every point, shape (points, 2)."""
        parts = np.array([source.number for source in self.sources], np.int64)
        none = np.zeros((0, 2), np.int64)
        found = np.concatenate([none, *(block.origin for block in blocks.values())])
        found[:, 0] = parts[found[:, 0]]
        return found

    def _add(self, number: int) -> None:
        """Add the rows of one part: its labels by the variables that their fused loops cut."""
        solved = self._solved[number]
        table = solved.path[-1]
        states = np.repeat(np.arange(table.start.shape[0] - 1), np.diff(table.start))
        lattice = self._engine.lattice
        cut = self._cut[states]
        legal = dict(solved.part.legal)
        ground = Ground(self._engine, solved.part, self._rules)
        patterns = np.unique(cut).tolist() if self._rules.fused else [0]
        for pattern in patterns:
            variables = [v for v in range(len(lattice.bounds)) if pattern >> v & 1]
            chosen = np.flatnonzero(cut == pattern)
            options = (self._chains(v, legal.get(v, ())) for v in variables)
            for nested in product(*options):
                gaps = tuple(loop for loops in nested for loop in loops)
                source = Source(solved.part, number, gaps)
                mine = chosen[self._divides(source.gaps, states[chosen])]
                for place, allowed in ground.pins:
                    above = ground.above(source.gaps, under(place), states[mine])
                    mine = mine[allowed[above]]
                if len(mine):
                    self._add_placed(ground, source, (mine, states[mine]))

    def _add_placed(self, ground: Ground, source: Source, labelled: tuple[Ints, Ints]) -> None:
        """Add the rows of one placement of the fused loops; `labelled`: labels, states."""
        depths = tuple(source.depth(place) for place in range(len(ground.region.holders)))
        above = source.above_lanes
        ways = (with_lanes(order, above) for order in orders(source.gaps, ground.idle))
        passed = tuple(self._passed(ground, source, depths[-1])) if depths else ()
        for rooms, some in ground.region.by_room(depths, ways).items():
            block = self._priced((ground, source), rooms, labelled)
            if len(block.states):
                self._file((ground.part, passed), depths, (rooms, some), block)

    def _passed(self, ground: Ground, source: Source, lowest: int) -> Iterator[Held]:
        """Yield where contested tensors pass Tolls above the innermost of `lowest` loops."""
        for one in ground.passages:
            depth = source.depth_of(one)
            if depth < lowest and one.toll.tensor in self._rules.contested:
                yield Place(one.toll.tensor, one.toll.component), depth, depth

    def _chains(self, variable: int, places: tuple[int, ...]) -> list[Gaps]:
        """Return the ways to place the loops over a variable, outermost first."""
        return list(chains((variable, self._engine.lattice.bounds[variable]), places, self._rules))

    def _divides(self, gaps: Gaps, states: Ints) -> Any:
        """Mark the states whose tiles are parts of those of the loops above."""
        fine = np.ones(len(states), np.bool_)
        for variable, _, tile in gaps:
            if tile:
                own = self._engine.lattice.tiles[states, variable]
                fine &= (own < tile) & (tile % own == 0)
        return fine

    def _file(
        self,
        made: tuple[Part, tuple[Held, ...]],
        depths: Sequence[int],
        ways: tuple[tuple[Room, ...], list[Order]],
        block: Block,
    ) -> None:
        """Put labels under their shapes: one per order of the loops; `made`: a part, and the Tolls
        that contested tensors pass."""
        (part, passed), (rooms, some) = made, ways
        region = part.layout.region
        places = [Place(holder.tensor, holder.component) for holder in region]
        exchanged = set(part.layout.on_chip)
        on_chip = [(p, d) for p, d in zip(places, depths, strict=True) if p in exchanged]
        held = [
            (p, depth, low if h.tensor in self._rules.tiled else depth)
            for p, h, depth, (low, _) in zip(places, region, depths, rooms, strict=True)
            if not h.backing and depth < depths[-1] and h.tensor in self._rules.contested
        ]
        spreads = tuple(spread._replace(stand=0) for spread in part.spreads)
        for order in some:
            stands = tuple(sorted((*held, *passed)))
            shape = Shape(order, tuple(sorted(on_chip)), stands, spreads)
            self._pieces.setdefault(shape, []).append(block)

    def _priced(
        self,
        placed: tuple[Ground, Source],
        rooms: Sequence[Room],
        labelled: tuple[Ints, Ints],
    ) -> Block:
        """Price the region for one placement of its fused loops; `labelled`: labels, states."""
        ground, source = placed
        every, part = self._solved[source.number].labels, ground.part
        self._budget.check(more=GROWTH * every.nbytes)
        chosen, states = labelled
        labels = every[chosen]
        memories = {name: number for number, name in enumerate(self._rules.memories)}
        columns = len(source.gaps) + len(part.spreads) + 1
        reserved = np.zeros((len(memories), len(chosen), columns))
        shared = np.zeros((len(memories), len(chosen)))
        streamed = part.layout.streamed
        for place, adds in part.sent.items():
            self._charge(labels, adds, ground.above(source.gaps, over(place), states))
        for place, holder in enumerate(part.layout.region):
            low, tiles = rooms[place]
            memory = memories[holder.component]
            kept = self._bits(holder)[ground.kept(tiles, states)]
            if holder.backing and place >= part.layout.own:
                shared[memory] += kept
                continue
            above = ground.above(source.gaps, under(place), states)
            self._charge(labels, part.above[place], above)
            if place not in streamed:
                reserved[memory, :, low] += kept
        reserved = np.cumsum(reserved, axis=2)
        room = self._engine.fields.used_bits
        for name, memory in memories.items():
            if name in room:
                reserved[memory, :, -1] += labels[:, room[name]]
            else:
                reserved[memory] = 0.0
        values = self._values(labels, reserved, part.layout)
        times = self._engine.problem.einsum.n_instances
        sizes = np.array(self._rules.capacities)[:, np.newaxis]
        fits = (
            (reserved[:, :, -1] + shared <= sizes).all(axis=0)
            & (values[:, 0] <= self._most.energy * times)
            & (values[:, 1] <= self._most.latency * times)
        )
        origin = np.stack([np.full(len(chosen), len(self.sources)), chosen], axis=1)
        self.sources.append(source)
        return Block(states[fits], values[fits], origin[fits])

    def _charge(self, labels: Floats, adds: Sequence[CostTerm], above: Ints) -> None:
        """Add what tiles given as states cost."""
        for add in adds:
            counts = self._engine.count(add.tensor, add.kind, add.lanes)
            labels[:, add.field] += add.factor * counts[above]

    def _values(self, labels: Floats, reserved: Floats, layout: Layout) -> Floats:
        energy, latency = labels[:, 0], np.zeros(len(labels))
        if self._rules.timed:
            latency = self._metrics.all_latencies(labels)
            energy = self._metrics.all_energies(labels, latency)
        times = float(self._engine.problem.einsum.n_instances)
        room = self._engine.fields.used_bits
        none = np.zeros(len(labels))
        outside = self._outside(layout)
        used = [
            labels[:, room[name]] if name in room else none + outside.get(name, 0.0)
            for name in self._rules.used
        ]
        return np.column_stack([energy * times, latency * times, *used, *reserved])

    def _outside(self, layout: Layout) -> dict[str, float]:
        """Return the bits in the outermost memory of tensors that no other Einsum uses."""
        found: dict[str, float] = {}
        for holder in layout.template.holders[: layout.first]:
            if holder.tensor in self._rules.alone:
                whole = float(self._bits(holder)[-1])
                found[holder.component] = found.get(holder.component, 0.0) + whole
        return found

    def _bits(self, holder: Holder) -> Floats:
        place = Place(holder.tensor, holder.component)
        if place not in self._sizes:
            self._sizes[place] = bits_of(self._engine, *place)
        return self._sizes[place]


def gaps_of(
    variable: str,
    layout: Layout,
    carried: Mapping[str, frozenset[str]],
    banned: Sequence[frozenset[str]],
) -> tuple[int, ...]:
    """Return the region holders right above which a fused loop over `variable` may stand.

    It must be fully relevant to every tensor on chip below it; `banned`: see banned_above.
    """
    holders = layout.region
    found: list[int] = []
    for place in range(len(holders) - 1, layout.own - 1, -1):
        holder = holders[place]
        if holder.backing and variable not in carried[holder.tensor]:
            break
        if variable not in banned[place]:
            found.append(place)
    return tuple(found)


def chains(subject: tuple[int, int], places: tuple[int, ...], rules: Rules) -> Iterator[Gaps]:
    """Yield the ways to place up to `rules.repeats` loops over a variable, outermost first.

    `subject`: the variable and the tile above; the innermost loop has the tile of the state.
    """
    variable, above = subject
    for place in places:
        yield ((variable, place, 0),)
        if rules.repeats == 1:
            continue
        lower = tuple(p for p in places if p >= place)
        for tile in divisors(above)[1:-1]:
            for rest in chains((variable, tile), lower, replace(rules, repeats=rules.repeats - 1)):
                yield ((variable, place, tile), *rest)


def orders(gaps: Gaps, idle: Mapping[int, frozenset[int]]) -> Iterator[Order]:
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
        if all([loop for loop in order if loop[0] == v] == _own(gaps, v) for v, _ in order):
            yield order


def _own(gaps: Gaps, variable: int) -> list[tuple[int, int]]:
    return [(v, tile) for v, _, tile in gaps if v == variable]


def sorted_shapes(pieces: Mapping[Shape, list[Block]]) -> list[tuple[Shape, list[Block]]]:
    """Return the shapes in a fixed order."""
    return sorted(pieces.items(), key=lambda item: astuple(item[0]))


def _reduced(pieces: Sequence[Block]) -> Block:
    states = np.concatenate([piece.states for piece in pieces])
    values = np.concatenate([piece.values for piece in pieces])
    origin = np.concatenate([piece.origin for piece in pieces])
    kept = pareto(states, values)
    return Block(states[kept], values[kept], origin[kept])
