"""Pass labels along the compatibility graph: what is reserved across Einsums (theory/fusion.md §4).

A label is a choice of pmappings so far, with its energy and latency, and the most bits used so far
of memories whose usage counts (usage_peaks.py). Per exchange memory it has `kept_bits[k - 1]`,
those above loop k that stay, and `peak[s - 1]`, the most bits at a time in a finished Einsum that
shares s loops or more with the next one. Nothing that follows can make a label the better one if
another label of its node is nowhere above it in any of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.boundary.usage_peaks import CountedUsage, OutermostBits
from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph, Edges
from tilewright.mapper.fusion.join.group_pareto import pareto
from tilewright.mapper.fusion.join.join_steps import START, Compatibility
from tilewright.mapper.fusion.pmappings.pmapping_table import ChosenPmapping, PmappingGroup
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.kernels import Floats, Ints

METRICS = 2  # energy, latency
NOISE = 1e-12  # relative: sums of the same terms in another order
MAX_PAIRS = 1 << 18  # labels made at a time
BYTES = 256 * MAX_PAIRS  # of memory that they take

# marks the labels that may be dropped, by lower bounds of energy, latency and usages; (labels,)
PruneTest = Callable[..., NDArray[np.bool_]]


@dataclass(frozen=True, eq=False, slots=True)
class JoinLabels:
    """Labels of one compatibility, sorted by node.

    `nodes`: number of the node, shape (labels,). `values`: energy, latency, usages; if the usage of
    the outermost memory counts, bits in it now, and the most of an Einsum that shares loops with
    the next one; then per exchange memory kept …, peak …. `origins`: the label before (counted over
    all compatibilities), the number of the group among those of the step, tiling and pmapping;
    shape (labels, 4).
    """

    nodes: Ints
    values: Floats
    origins: Ints

    def select(self, chosen: Ints) -> JoinLabels:
        """Return some of the labels."""
        return JoinLabels(self.nodes[chosen], self.values[chosen], self.origins[chosen])


@dataclass(frozen=True, slots=True)
class WholeLabel:
    """A whole mapping: energy in joule, latency in second, usages in bits, and its pmappings."""

    energy: float
    latency: float
    pmappings: tuple[ChosenPmapping, ...]
    usage: tuple[float, ...] = ()

    @property
    def measures(self) -> tuple[float, ...]:
        """Energy, latency, usages.

        In joule, second and bits.
        """
        return (self.energy, self.latency, *self.usage)


@dataclass(frozen=True, slots=True)
class LabelColumns:
    """Which columns labels have.

    `capacities`: bits of the exchange memories, the second memory first. `usage`: what counts.
    """

    capacities: tuple[float, ...]
    usage: CountedUsage

    @property
    def pmapping_head(self) -> int:
        """Number of columns of a pmapping before its bits: energy, latency, usages of its own."""
        return METRICS + len(self.usage.pmapping_memories)

    @property
    def n_measures(self) -> int:
        """Number of columns of a label that a mapping is compared by."""
        return METRICS + len(self.usage.names)

    def usage_column(self, memory: str) -> int:
        """Return the column of the usage of an exchange memory."""
        return METRICS + self.usage.names.index(memory)

    @property
    def head(self) -> int:
        """Number of columns of a label before what is kept."""
        return self.n_measures + 2 * bool(self.usage.outermost)

    def outermost_bits(self, number: int, edges: Edges) -> OutermostBits:
        """Return the bits in the outermost memory while Einsum `number` runs."""
        if not self.usage.outermost:
            return OutermostBits(0.0, 0.0, 0.0)
        tensors = self.usage.outermost_tensors[number]
        return tensors.bits(edges.group.depths, edges.source.depths)


class _StepOrigins(NamedTuple):
    """Where the labels after a step come from, over all compatibilities, and what they share."""

    origins: Ints
    shared_loops: Ints


Front = dict[Compatibility, JoinLabels]


class LabelPass:
    """One pass over a graph; `labels`: how many it kept so far."""

    def __init__(self, graph: CompatibilityGraph, columns: LabelColumns, budget: Budget) -> None:
        self._graph = graph
        self._columns = columns
        self._budget = budget
        self._origins: list[_StepOrigins] = []
        self.labels = 0

    def run(self, prunable: PruneTest) -> Floats:
        """Return energy, latency and usages of all mappings left, shape (mappings, measures).

        OutOfBudget.
        """
        no_origins = np.zeros((1, 4), np.int64)
        start = JoinLabels(no_origins[:, 0], np.zeros((1, self._columns.head)), no_origins)
        front: Front = {START: start}
        self._origins = []
        for number in range(len(self._graph.steps)):
            front = self._step(number, front, prunable)
            count = sum(len(labels.nodes) for labels in front.values())
            self.labels += count
            self._budget.check(count * self._columns.head // METRICS)  # long labels take more room
            self._origins.append(_step_origins(front))
        width = self._columns.n_measures
        measures = [labels.values[:, :width] for labels in front.values()]
        return np.concatenate([np.zeros((0, width)), *measures])

    def label(self, number: int, measures: Floats) -> WholeLabel:
        """Return one of the mappings of the last run, with its measures.

        `number`: its label, counted over all compatibilities. `measures`: joule, second, bits;
        shape (measures,).
        """
        pmappings: list[ChosenPmapping] = []
        for (origins, shared_loops), step in zip(
            reversed(self._origins), reversed(self._graph.steps), strict=True
        ):
            previous, group_number, tiling, pmapping = origins[number].tolist()
            group: PmappingGroup = step.groups[group_number]
            pmappings.append(ChosenPmapping(group, tiling, pmapping, int(shared_loops[number])))
            number = previous
        energy, latency, *usage = measures.tolist()
        return WholeLabel(energy, latency, tuple(reversed(pmappings)), tuple(usage))

    def _step(self, number: int, front: Front, prunable: PruneTest) -> Front:
        """Join one Einsum to all labels."""
        step, remaining = self._graph.steps[number], self._graph.remaining[number + 1]
        group_numbers = {id(group): place for place, group in enumerate(step.groups)}
        first_numbers = dict(zip(front, _first_numbers(front), strict=True))
        joined: dict[Compatibility, list[JoinLabels]] = {}
        for edges in self._graph.edges[number]:
            labels = front.get(edges.source)
            if labels is None:
                continue
            self._budget.check(more_bytes=BYTES)
            join = _EdgeJoin(self._graph, number, edges, self._columns)
            for piece in join.pieces(labels, remaining[edges.target], prunable):
                pieces = joined.setdefault(edges.target, [])
                piece.origins[:, 0] += first_numbers[edges.source]
                piece.origins[:, 1] = group_numbers[id(edges.group)]
                pieces.append(piece)
                if sum(len(several.nodes) for several in pieces) > MAX_PAIRS:
                    pieces[:] = [undominated_labels(pieces)]
        fronts = {target: undominated_labels(pieces) for target, pieces in joined.items()}
        return {target: labels for target, labels in fronts.items() if len(labels.nodes)}


def _step_origins(front: Front) -> _StepOrigins:
    origins = [labels.origins for labels in front.values()]
    shared = [np.full(len(labels.nodes), len(target.loops)) for target, labels in front.items()]
    return _StepOrigins(
        np.concatenate([np.zeros((0, 4), np.int64), *origins]),
        np.concatenate([np.zeros(0, np.int64), *shared]),
    )


def _first_numbers(front: Front) -> list[int]:
    """Return the number of the first label of each compatibility, counted over all."""
    counts = [len(labels.nodes) for labels in front.values()]
    return np.cumsum([0, *counts[:-1]]).tolist() if counts else []


def undominated_labels(pieces: Sequence[JoinLabels]) -> JoinLabels:
    """Return the labels that no other label of their node dominates."""
    nodes = np.concatenate([piece.nodes for piece in pieces])
    values = np.concatenate([piece.values for piece in pieces])
    origins = np.concatenate([piece.origins for piece in pieces])
    return JoinLabels(nodes, values, origins).select(pareto(nodes, values, NOISE))


@dataclass(frozen=True, slots=True)
class LabelPairs:
    """Labels with pmappings that could follow: numbers of the label, the edge and the pmapping."""

    labels: Ints
    edges: Ints
    pmappings: Ints

    def select(self, chosen: Ints) -> LabelPairs:
        """Return some of the pairs."""
        return LabelPairs(self.labels[chosen], self.edges[chosen], self.pmappings[chosen])


class _MemoryBits(NamedTuple):
    """Bits of one exchange memory, per pair of a label and a pmapping.

    `kept_bits`, `peak`: of the label, shape (pairs, loops shared before). `reserved`: of the
    pmapping, above loop 1 … n and in all, shape (pairs, loops + 1).
    """

    kept_bits: Floats
    peak: Floats
    reserved: Floats


class _LiveBits(NamedTuple):
    """Bits of exchanged tensors in one memory, per pair.

    `below_shared`: of live ones below all shared loops. `new_above`: of new ones above loop 1 … n.
    `new`: of all new ones.
    """

    below_shared: Floats
    new_above: Floats
    new: Floats


class _EdgeJoin:
    """What the edges between two compatibilities do to labels."""

    def __init__(
        self, graph: CompatibilityGraph, number: int, edges: Edges, columns: LabelColumns
    ) -> None:
        self._tile_codes = graph.tile_codes
        self._join_step = graph.steps[number]
        self._codes = graph.codes[number][edges.source]
        self._edges = edges
        self._columns = columns
        self._outermost = columns.outermost_bits(number, edges)
        self._loops_before = len(edges.source.loops)
        self._shared_before = self._join_step.shared_loops(edges.source, edges.group)
        self._loops_after = len(edges.target.loops)

    def pieces(
        self, labels: JoinLabels, remaining: Floats, prunable: PruneTest
    ) -> Iterator[JoinLabels]:
        """Yield the labels that fit and may lead somewhere, some at a time.

        `remaining`: least remaining cost of the target nodes. Origins count within the source.
        """
        for pairs in self._pairs(labels, remaining, prunable):
            joined = self._joined_labels(labels, pairs)
            if self._columns.usage.names:
                joined = self._unpruned(joined, remaining, prunable)
            yield joined

    def _pairs(
        self, labels: JoinLabels, remaining: Floats, prunable: PruneTest
    ) -> Iterator[LabelPairs]:
        """Yield the pairs that may lead somewhere, some at a time."""
        edges, group = self._edges, self._edges.group
        begin = np.searchsorted(labels.nodes, edges.nodes)
        end = np.searchsorted(labels.nodes, edges.nodes, side="right")
        alive = np.flatnonzero(end > begin)
        if not len(alive):
            return
        paid = _least_measures(labels, begin[alive], self._columns.n_measures)
        ahead = remaining[edges.target_nodes]
        cost = paid[:, :METRICS] + group.least_costs[edges.tilings[alive]] + ahead[alive]
        alive = alive[~prunable(*cost.T, *paid[:, METRICS:].T)]
        tilings = edges.tilings[alive]
        counts = group.start[tilings + 1] - group.start[tilings]  # pmappings of each edge
        pair_counts = (end[alive] - begin[alive]) * counts
        for slice_of_edges in _slices(pair_counts):
            edge, place = _repeat_edges(alive[slice_of_edges], pair_counts[slice_of_edges])
            width = np.repeat(counts[slice_of_edges], pair_counts[slice_of_edges])
            pmappings = group.start[edges.tilings[edge]] + place % width
            pairs = LabelPairs(begin[edge] + place // width, edge, pmappings)
            hopeful = self._pairs_worth(labels, pairs, ahead, prunable)
            if len(hopeful):
                yield pairs.select(hopeful)

    def _pairs_worth(
        self, labels: JoinLabels, pairs: LabelPairs, ahead: Floats, prunable: PruneTest
    ) -> Ints:
        """Return the numbers of the pairs that may lead somewhere, as their costs show."""
        used = labels.values[pairs.labels, METRICS : self._columns.n_measures]
        cost = labels.values[pairs.labels, :METRICS]
        cost = cost + self._edges.group.values[pairs.pmappings, :METRICS]
        cost += ahead[pairs.edges]
        return np.flatnonzero(~prunable(*cost.T, *used.T))

    def _unpruned(self, joined: JoinLabels, remaining: Floats, prunable: PruneTest) -> JoinLabels:
        """Return the labels that may lead somewhere, now that their usages are known."""
        cost = joined.values[:, :METRICS] + remaining[joined.nodes]
        used = joined.values[:, METRICS : self._columns.n_measures]
        return joined.select(np.flatnonzero(~prunable(*cost.T, *used.T)))

    def _joined_labels(self, labels: JoinLabels, pairs: LabelPairs) -> JoinLabels:
        """Return the labels of the pairs that fit."""
        edges, columns, n_shared = self._edges, self._columns, self._loops_after
        label_values = labels.values[pairs.labels]
        pmapping = edges.group.values[pairs.pmappings]
        values = np.empty(
            (len(label_values), columns.head + 2 * n_shared * len(columns.capacities))
        )
        values[:, :METRICS] = label_values[:, :METRICS] + pmapping[:, :METRICS]
        self._put_usages(values, label_values, pmapping)
        fits = np.ones(len(label_values), np.bool_)
        memories = zip(self._join_step.memories, columns.capacities, strict=True)
        for number, (memory, capacity) in enumerate(memories):
            bits = self._memory_bits(number, label_values, pmapping)
            first = columns.head + 2 * n_shared * number
            peak = self._reserve(pairs, memory, bits, values[:, first : first + 2 * n_shared])
            if memory in columns.usage.exchange:
                column = columns.usage_column(memory)
                np.maximum(label_values[:, column], peak, out=values[:, column])
            fits &= peak <= capacity
        tilings = edges.tilings[pairs.edges]
        origins = np.column_stack([pairs.labels, pairs.labels, tilings, pairs.pmappings])
        joined = JoinLabels(edges.target_nodes[pairs.edges], values, origins)
        return joined.select(np.flatnonzero(fits))

    def _memory_bits(self, number: int, label_values: Floats, pmapping: Floats) -> _MemoryBits:
        """Return what labels and pmappings say about exchange memory `number`."""
        loops, shared = self._loops_before, self._shared_before
        width = len(self._edges.group.loops) + 1
        of_label = label_values[:, self._columns.head + 2 * loops * number :][:, : 2 * loops]
        of_pmapping = pmapping[:, self._columns.pmapping_head + width * number :][:, :width]
        return _MemoryBits(of_label[:, :shared], of_label[:, loops:][:, :shared], of_pmapping)

    def _reserve(self, pairs: LabelPairs, memory: str, bits: _MemoryBits, out: Floats) -> Floats:
        """Put what is kept in a memory, and the peaks, afterwards into `out`.

        Return the most bits in use at a time.
        """
        shared_before, shared_after = self._shared_before, self._loops_after
        live = self._live_bits(pairs, memory)
        finished, running = self._savings(self._edges.tilings[pairs.edges], memory)
        reserved = bits.reserved - running + self._widening_bits(pairs, memory)
        kept_bits = bits.kept_bits[:, -1] if shared_before else np.zeros(len(reserved))
        total = kept_bits + live.below_shared + reserved[:, -1] + live.new
        added = (
            bits.reserved[:, :shared_before]
            - finished[:, :shared_before]
            + live.new_above[:, :shared_before]
        )
        peaks = suffix_maximum(bits.peak + added)
        for k in range(shared_after):
            kept_above = bits.kept_bits[:, min(k, shared_before - 1)] if shared_before else 0.0
            ended = live.below_shared if k >= shared_before else 0.0
            out[:, k] = kept_above + reserved[:, k] + live.new_above[:, k] + ended
            out[:, shared_after + k] = (
                np.maximum(total, peaks[:, k]) if k < shared_before else total
            )
        return np.maximum(total, peaks[:, 0]) if shared_before else total

    def _put_usages(self, values: Floats, label_values: Floats, pmapping: Floats) -> None:
        """Put the usages into labels that pmappings and the outermost memory decide."""
        usage = self._columns.usage
        last = METRICS + len(usage.private)
        private = slice(METRICS, last)
        np.maximum(label_values[:, private], pmapping[:, private], out=values[:, private])
        if usage.outermost:
            end = self._columns.n_measures
            new = self._outermost.new + pmapping[:, last]
            shares_loops = bool(self._loops_before)
            kept_bits = (
                label_values[:, end] + self._outermost.widening
                if shares_loops
                else self._outermost.from_before
            )
            values[:, end] = new + kept_bits
            values[:, end + 1] = values[:, end]
            if shares_loops:
                np.maximum(values[:, end], label_values[:, end + 1] + new, out=values[:, end + 1])
            np.maximum(label_values[:, end - 1], values[:, end + 1], out=values[:, end - 1])

    def _live_bits(self, pairs: LabelPairs, memory: str) -> _LiveBits:
        """Return the bits of exchanged tensors in a memory."""
        edges, step = self._edges, self._join_step
        group, source = edges.group, edges.source
        tiles = self._tiles_before(pairs)
        below_shared = step.bits_below_shared_loops(source, group, tiles, memory)
        new = step.tensors_from_now(source, group, memory)
        sizes = group.sizes[edges.tilings[pairs.edges]][:, new]
        depths = np.array([group.depths[position] for position in new], np.int64)
        loops = np.arange(1, len(group.loops) + 1)
        new_above = sizes @ (depths[:, np.newaxis] < loops).astype(np.float64)
        return _LiveBits(below_shared, new_above, sizes.sum(axis=1))

    def _tiles_before(self, pairs: LabelPairs) -> Ints:
        """Return the tiles of the loops shared before, shape (pairs, loops)."""
        codes = self._codes[self._edges.nodes[pairs.edges]]
        return self._tile_codes.decode(self._edges.source.loops, codes)

    def _savings(self, tilings: Ints, memory: str) -> tuple[Floats, Floats]:
        """Return the bits of a memory that an earlier Einsum already holds at the same place.

        For what has finished, and for what runs now or later; shape (pairs, loops + 1) each.
        """
        group = self._edges.group
        tiles = group.tiles[tilings]
        finished, running = np.zeros((2, len(tilings), len(group.loops) + 1))
        savings = self._join_step.shared_savings(self._edges.source, group, tiles, memory)
        for saving in savings:
            finished[:, saving.loops_above :] += saving.finished[:, np.newaxis]
            running[:, saving.loops_above :] += saving.running[:, np.newaxis]
        return finished, running

    def _widening_bits(self, pairs: LabelPairs, memory: str) -> Floats:
        """Return the bits that kept tensors take more from now on, shape (pairs, loops + 1)."""
        edges = self._edges
        total = np.zeros((len(pairs.edges), len(edges.group.loops) + 1))
        tiles = self._tiles_before(pairs)
        widenings = self._join_step.widening_bits(edges.source, edges.group, tiles, memory)
        for loops_above, bits in widenings:
            total[:, loops_above:] += bits[:, np.newaxis]
        return total


def _least_measures(labels: JoinLabels, begin: Ints, width: int) -> Floats:
    """Return the least of the first columns, for nodes whose first labels are given."""
    first = np.unique(labels.nodes, return_index=True)[1]
    least_values = np.minimum.reduceat(labels.values[:, :width], first, axis=0)
    return least_values[np.searchsorted(first, begin)]


def _slices(counts: Ints) -> Iterator[slice]:
    """Cut a list of counts into slices of about MAX_PAIRS in all."""
    total = np.cumsum(counts)
    first = 0
    while first < len(counts):
        preceding = total[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(total, preceding + MAX_PAIRS, side="right")))
        yield slice(first, last)
        first = last


def _repeat_edges(edges: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Repeat each edge; return the edges and the place of each entry among those of its edge."""
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(edges, counts), np.arange(len(starts)) - starts


def suffix_maximum(values: Floats) -> Floats:
    """Return the greatest value at or behind each column: all that later checks can see.

    `values`: bits, shape (labels, loops). Example: (3, 1, 2) becomes (3, 2, 2) (theory/fusion.md
    §5).
    """
    return np.maximum.accumulate(values[:, ::-1], axis=1)[:, ::-1]
