"""Pass labels along the graph of keys: what is reserved across Einsums (fusion.md §4).

A label is a choice of rows so far: its energy and latency, the most bits used so far of memories
whose usage counts (usage_peaks.py), `kept[k - 1]`: bits above loop k that stay, and `peak[s - 1]`:
the most bits at a time in a finished Einsum that shares s loops or more with the next one. Nothing
that follows can make a label the better one if another is nowhere above it in any of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.boundary.usage_peaks import CountedUsage
from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph, Edges
from tilewright.mapper.fusion.join.group_pareto import pareto
from tilewright.mapper.fusion.join.join_steps import START, Compatibility
from tilewright.mapper.fusion.pmappings.pmapping_table import ChosenPmapping
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.kernels import Floats, Ints

METRICS = 2  # energy, latency
NOISE = 1e-12  # relative: sums of the same terms in another order
MAX_PAIRS = 1 << 18  # labels made at a time
BYTES = 256 * MAX_PAIRS  # of memory that they take

# Which of some labels, by the least energy, latency and usages that they can come to, lead nowhere.
PruneTest = Callable[..., NDArray[np.bool_]]


@dataclass(frozen=True, eq=False, slots=True)
class JoinLabels:
    """Labels of one form, sorted by key. `values`: energy, latency, usages; if the usage of
    the outermost memory counts, bits in it now, and the most of an Einsum that shares loops with
    the next one; per memory kept …, peak …; `origin`: the label before (counted over all forms),
    the number of the rows among those of the step, the row and the point."""

    nodes: Ints
    values: Floats
    origins: Ints

    def select(self, chosen: Ints) -> JoinLabels:
        """Return some of the labels."""
        return JoinLabels(self.nodes[chosen], self.values[chosen], self.origins[chosen])


@dataclass(frozen=True, slots=True)
class WholeLabel:
    """A whole mapping: what it costs, and a row per Einsum."""

    energy: float
    latency: float
    pmappings: tuple[ChosenPmapping, ...]
    usage: tuple[float, ...] = ()

    @property
    def measures(self) -> tuple[float, ...]:
        """Energy, latency, usages."""
        return (self.energy, self.latency, *self.usage)


@dataclass(frozen=True, slots=True)
class LabelColumns:
    """The room in the memories that tensors are exchanged in, the second one first, and those whose
    usage counts."""

    capacities: tuple[float, ...]
    usage: CountedUsage

    @property
    def pmapping_head(self) -> int:
        """Numbers of a point before its bits: energy, latency, usages of its own."""
        return METRICS + len(self.usage.pmapping_memories)

    @property
    def n_measures(self) -> int:
        """Numbers of a label that a mapping is judged by."""
        return METRICS + len(self.usage.names)

    def usage_column(self, memory: str) -> int:
        """Return the number of the usage of one that tensors are exchanged in."""
        return METRICS + self.usage.names.index(memory)

    @property
    def head(self) -> int:
        """Numbers of a label before what is kept."""
        return self.n_measures + 2 * bool(self.usage.outermost)

    def outermost_bits(self, number: int, edges: Edges) -> tuple[float, float, float]:
        """Return the bits in the outermost memory of tensors that are new at a step, of those that
        stay there from before, and how much more these take from then on."""
        if not self.usage.outermost:
            return 0.0, 0.0, 0.0
        return self.usage.outermost_tensors[number].bits(edges.group.depths, edges.source.depths)


class LabelPass:
    """One pass over a graph."""

    def __init__(self, graph: CompatibilityGraph, room: LabelColumns, budget: Budget) -> None:
        self._graph = graph
        self._room = room
        self._budget = budget
        self._origins: list[tuple[Ints, Ints]] = []  # per step: origins, loops shared afterwards
        self.labels = 0

    def run(self, hopeless: PruneTest) -> Floats:
        """Return energy, latency and usages of all mappings that are left; one row per mapping.

        OutOfBudget.
        """
        none = np.zeros((1, 4), np.int64)
        front = {START: JoinLabels(none[:, 0], np.zeros((1, self._room.head)), none)}
        self._origins = []
        for number in range(len(self._graph.steps)):
            front = self._step(number, front, hopeless)
            kept = sum(len(labels.nodes) for labels in front.values())
            self.labels += kept
            self._budget.check(kept * self._room.head // METRICS)  # longer ones take more room
            self._remember(front)
        width = self._room.n_measures
        ends = [labels.values[:, :width] for labels in front.values()]
        return np.concatenate([np.zeros((0, width)), *ends])

    def label(self, number: int, metrics: Floats) -> WholeLabel:
        """Return one of the mappings of the last run."""
        chosen: list[ChosenPmapping] = []
        for (origins, shared), step in zip(
            reversed(self._origins), reversed(self._graph.steps), strict=True
        ):
            before, rows, row, point = origins[number].tolist()
            chosen.append(ChosenPmapping(step.groups[rows], row, point, int(shared[number])))
            number = before
        energy, latency, *usage = metrics.tolist()
        return WholeLabel(energy, latency, tuple(reversed(chosen)), tuple(usage))

    def _remember(self, front: dict[Compatibility, JoinLabels]) -> None:
        origins = [labels.origins for labels in front.values()]
        shared = [np.full(len(one.nodes), len(form.loops)) for form, one in front.items()]
        none = np.zeros(0, np.int64)
        self._origins.append(
            (
                np.concatenate([np.zeros((0, 4), np.int64), *origins]),
                np.concatenate([none, *shared]),
            )
        )

    def _step(
        self, number: int, front: dict[Compatibility, JoinLabels], hopeless: PruneTest
    ) -> dict[Compatibility, JoinLabels]:
        step, rest = self._graph.steps[number], self._graph.remaining[number + 1]
        places = {id(rows): place for place, rows in enumerate(step.groups)}
        first = dict(zip(front, _first_numbers(front), strict=True))
        found: dict[Compatibility, list[JoinLabels]] = {}
        for edges in self._graph.edges[number]:
            labels = front.get(edges.source)
            if labels is None:
                continue
            self._budget.check(more_bytes=BYTES)
            join = _EdgeJoin(self._graph, number, edges, self._room)
            for some in join.pairs(labels, rest[edges.target], hopeless):
                made = join.joined_labels(labels, some)
                if self._room.usage.names:
                    made = join.hopeful(made, rest[edges.target], hopeless)
                made.origins[:, 0] += first[edges.source]
                made.origins[:, 1] = places[id(edges.group)]
                several = found.setdefault(edges.target, [])
                several.append(made)
                if sum(len(one.nodes) for one in several) > MAX_PAIRS:
                    found[edges.target] = [undominated_labels(several)]
        fronts = {form: undominated_labels(several) for form, several in found.items()}
        return {form: labels for form, labels in fronts.items() if len(labels.nodes)}


def _first_numbers(front: dict[Compatibility, JoinLabels]) -> list[int]:
    """Return the number of the first label of each form, counted over all."""
    counts = [len(labels.nodes) for labels in front.values()]
    return np.cumsum([0, *counts[:-1]]).tolist() if counts else []


def undominated_labels(several: Sequence[JoinLabels]) -> JoinLabels:
    """Return the labels that no other one of their key dominates."""
    keys = np.concatenate([one.nodes for one in several])
    values = np.concatenate([one.values for one in several])
    origin = np.concatenate([one.origins for one in several])
    return JoinLabels(keys, values, origin).select(pareto(keys, values, NOISE))


@dataclass(frozen=True, slots=True)
class LabelPairs:
    """Labels with points that could follow: numbers of the label, of the edge, of the point."""

    labels: Ints
    edges: Ints
    pmappings: Ints

    def select(self, chosen: Ints) -> LabelPairs:
        """Return some of the pairs."""
        return LabelPairs(self.labels[chosen], self.edges[chosen], self.pmappings[chosen])


class _EdgeJoin:
    """What the edges between two forms do to labels."""

    def __init__(
        self, graph: CompatibilityGraph, number: int, edges: Edges, room: LabelColumns
    ) -> None:
        self._tiling = graph.tile_codes
        self._step = graph.steps[number]
        self._memories = self._step.memories
        self._codes = graph.codes[number][edges.source]
        self._edges = edges
        self._room = room
        self._fresh, self._stays, self._more = room.outermost_bits(number, edges)
        self._kept = len(edges.source.loops)
        self._before = self._step.shared_loops(edges.source, edges.group)
        self._after = len(edges.target.loops)

    def pairs(self, labels: JoinLabels, rest: Floats, hopeless: PruneTest) -> Iterator[LabelPairs]:
        """Yield the pairs that could lead somewhere, some at a time."""
        edges, rows = self._edges, self._edges.group
        begin = np.searchsorted(labels.nodes, edges.nodes)
        end = np.searchsorted(labels.nodes, edges.nodes, side="right")
        more = rest[edges.target_nodes]
        alive = np.flatnonzero(end > begin)
        if not len(alive):
            return
        measured = self._room.n_measures
        paid = _least_measures(labels, begin[alive], measured)
        cost = paid[:, :METRICS] + rows.least_costs[edges.tilings[alive]] + more[alive]
        alive = alive[~hopeless(*cost.T, *paid[:, METRICS:].T)]
        numbers = edges.tilings[alive]
        points = rows.start[numbers + 1] - rows.start[numbers]
        counts = (end[alive] - begin[alive]) * points
        for part in _slices(counts):
            edge, place = _repeat_edges(alive[part], counts[part])
            width = np.repeat(points[part], counts[part])
            pairs = LabelPairs(begin[edge] + place // width, edge,
                          rows.start[edges.tilings[edge]] + place % width)  # fmt: skip
            used = labels.values[pairs.labels, METRICS:measured]
            cost = labels.values[pairs.labels, :METRICS] + rows.values[pairs.pmappings, :METRICS]
            cost += more[edge]
            if len(left := np.flatnonzero(~hopeless(*cost.T, *used.T))):
                yield pairs.select(left)

    def hopeful(self, made: JoinLabels, rest: Floats, hopeless: PruneTest) -> JoinLabels:
        """Return the labels that may lead somewhere, now that their usages are known."""
        cost = made.values[:, :METRICS] + rest[made.nodes]
        used = made.values[:, METRICS : self._room.n_measures]
        return made.select(np.flatnonzero(~hopeless(*cost.T, *used.T)))

    def joined_labels(self, labels: JoinLabels, pairs: LabelPairs) -> JoinLabels:
        """Return the labels that fit; their origin is counted within the form."""
        edges, after = self._edges, self._after
        head, own = self._room.head, self._room.pmapping_head
        old = labels.values[pairs.labels]
        point = edges.group.values[pairs.pmappings]
        row, width = edges.tilings[pairs.edges], len(edges.group.loops) + 1
        made = np.empty((len(old), head + 2 * after * len(self._room.capacities)))
        made[:, :METRICS] = old[:, :METRICS] + point[:, :METRICS]
        self._use(made, old, point)
        fits = np.ones(len(old), np.bool_)
        for number, (memory, size) in enumerate(
            zip(self._memories, self._room.capacities, strict=True)
        ):
            mine = old[:, head + 2 * self._kept * number :][:, : 2 * self._kept]
            most, now = self._reserved(pairs, memory, (mine, point[:, own:][:, :width]))
            made[:, head + 2 * after * number :][:, : 2 * after] = now
            if memory in self._room.usage.exchange:
                column = self._room.usage_column(memory)
                np.maximum(old[:, column], most, out=made[:, column])
            fits &= most <= size
            own += width
        origin = np.column_stack([pairs.labels, pairs.labels, row, pairs.pmappings])
        return JoinLabels(edges.target_nodes[pairs.edges], made, origin).select(
            np.flatnonzero(fits)
        )

    def _reserved(
        self, pairs: LabelPairs, memory: str, known: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """Return the most bits of a memory in use at a time, and what is kept there and the peaks
        afterwards; `known`: the same before, and the bits of the points."""
        before, after, (old, own) = self._before, self._after, known
        live, added, new = self._sizes(pairs, memory)
        earlier, later = self._twice(self._edges.tilings[pairs.edges], memory)
        bits = own - later + self._wider(pairs, memory)
        kept, peak = old[:, :before], old[:, self._kept :][:, :before]
        held = kept[:, -1] if before else np.zeros(len(old))
        total = held + live + bits[:, -1] + new
        more = own[:, :before] - earlier[:, :before] + added[:, :before]
        peaks = suffix_maximum(peak + more)
        most = np.maximum(total, peaks[:, 0]) if before else total
        made = np.empty((len(old), 2 * after))
        for k in range(after):
            below = kept[:, min(k, before - 1)] if before else 0.0
            made[:, k] = below + bits[:, k] + added[:, k] + (live if k >= before else 0.0)
            made[:, after + k] = np.maximum(total, peaks[:, k]) if k < before else total
        return most, made

    def _use(self, made: Floats, old: Floats, point: Floats) -> None:
        """Put the usages into the labels that points and what is kept outermost decide."""
        usage = self._room.usage
        last = METRICS + len(usage.private)
        deep = slice(METRICS, last)
        np.maximum(old[:, deep], point[:, deep], out=made[:, deep])
        if usage.outermost:
            end = self._room.n_measures
            new = self._fresh + point[:, last]
            made[:, end] = new + (old[:, end] + self._more if self._kept else self._stays)
            made[:, end + 1] = made[:, end]
            if self._kept:
                np.maximum(made[:, end], old[:, end + 1] + new, out=made[:, end + 1])
            np.maximum(old[:, end - 1], made[:, end + 1], out=made[:, end - 1])

    def _sizes(self, pairs: LabelPairs, memory: str) -> tuple[Floats, Floats, Floats]:
        """Return, per pair, bits in a memory of live tensors below all shared loops, of new ones
        above loop 1 … n, and of all new ones."""
        edges, source = self._edges, self._edges.source
        codes = self._codes[edges.nodes[pairs.edges]]
        tiles = self._tiling.decode(source.loops, codes)
        live = self._step.bits_below_shared_loops(source, edges.group, tiles, memory)
        row = edges.tilings[pairs.edges]
        new = self._step.tensors_from_now(source, edges.group, memory)
        sizes = edges.group.sizes[row][:, new]
        depths = np.array([edges.group.depths[place] for place in new], np.int64)
        loops = np.arange(1, len(edges.group.loops) + 1)
        added = sizes @ (depths[:, np.newaxis] < loops).astype(np.float64)
        return live, added, sizes.sum(axis=1)

    def _twice(self, row: Ints, memory: str) -> tuple[Floats, Floats]:
        """Return the bits of a memory that an earlier Einsum already holds at the same place: for
        what has run, and for what runs now or later."""
        rows = self._edges.group
        tiles = rows.tiles[row]
        totals = np.zeros((2, len(row), len(rows.loops) + 1))
        for place, both in self._step.shared_savings(self._edges.source, rows, tiles, memory):
            for total, bits in zip(totals, both, strict=True):
                total[:, place:] += bits[:, np.newaxis]
        return totals[0], totals[1]

    def _wider(self, pairs: LabelPairs, memory: str) -> Floats:
        """Return the bits that kept tensors take more, as this Einsum sees them."""
        edges, source = self._edges, self._edges.source
        total = np.zeros((len(pairs.edges), len(edges.group.loops) + 1))
        tiles = self._tiling.decode(source.loops, self._codes[edges.nodes[pairs.edges]])
        for place, bits in self._step.widening_bits(source, edges.group, tiles, memory):
            total[:, place:] += bits[:, np.newaxis]
        return total


def _least_measures(labels: JoinLabels, begin: Ints, width: int) -> Floats:
    """Return the least of the first numbers of the keys whose first labels are given."""
    first = np.unique(labels.nodes, return_index=True)[1]
    least = np.minimum.reduceat(labels.values[:, :width], first, axis=0)
    return least[np.searchsorted(first, begin)]


def _slices(counts: Ints) -> Iterator[slice]:
    """Cut a list of counts into runs of about MAX_PAIRS in all."""
    total = np.cumsum(counts)
    first = 0
    while first < len(counts):
        done = total[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(total, done + MAX_PAIRS, side="right")))
        yield slice(first, last)
        first = last


def _repeat_edges(edges: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Repeat each edge; return the edges and the place of each entry among those of its edge."""
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(edges, counts), np.arange(len(starts)) - starts


def suffix_maximum(peaks: Floats) -> Floats:
    """Return the greatest value at or behind each place: all that later tests can see."""
    return np.maximum.accumulate(peaks[:, ::-1], axis=1)[:, ::-1]
