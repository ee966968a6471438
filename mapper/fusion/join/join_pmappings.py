"""Join the pmappings of Einsums, one Einsum after the other along the compatibility graph.

A pass goes once along the graph and keeps what is reserved across Einsums (theory/fusion.md §4).
A label is a choice of pmappings so far, with its energy and latency, and the most bits used so far
of memories whose usage counts (usage_peaks.py). Per exchange memory it has `kept_bits[k - 1]`,
those above loop k that stay, and `peak[s - 1]`, the most bits at a time in a finished Einsum that
shares s loops or more with the next one. Nothing that follows can make a label the better one if
another label of its node is no greater in any of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.join.capacity_check import EdgeCapacity
from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph, Edges
from tilewright.mapper.fusion.join.join_step import START, Compatibility
from tilewright.mapper.fusion.join.label_columns import METRICS, LabelColumns, LabelPairs
from tilewright.mapper.fusion.pmappings.pmapping_table import ChosenPmapping, PmappingGroup
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.shared.group_pareto import pareto

NOISE = 1e-12  # relative: sums of the same terms in another order
MAX_PAIRS = 1 << 18  # labels made at a time
BYTES = 256 * MAX_PAIRS  # of memory that they take

# marks the labels that may be dropped, by lower bounds of energy, latency and usages; (labels,)
PruneTest = Callable[..., NDArray[np.bool_]]


@dataclass(frozen=True, eq=False, slots=True)
class JoinLabels:
    """Labels of one compatibility: choices of pmappings for the Einsums so far, with costs.

    A pmapping is a mapping of one Einsum within the whole; a compatibility is what Einsums on both
    sides must agree about (shared loops, places of tensors on chip), a node that with tile shapes.
    `nodes`: number of each label's node, rising, shape (labels,). `values`, shape (labels,
    columns): energy in joule; latency in second; usages in bits of the counted memories; if that of
    the outermost memory counts, bits in it now, and the most while an Einsum ran that shares loops
    with the next one; then per exchange memory, for each shared loop k, the bits above it that
    stay, and for each k the most bits while a finished Einsum ran that shares k loops or more with
    the next one (theory/fusion.md §4). `origins`: number of the label before (counted over all
    compatibilities), of the group, the tiling and the pmapping, shape (labels, 4).
    """

    nodes: Ints
    values: Floats
    origins: Ints

    def select(self, chosen: Ints) -> JoinLabels:
        """Return only the labels with the numbers `chosen`."""
        return JoinLabels(self.nodes[chosen], self.values[chosen], self.origins[chosen])


@dataclass(frozen=True, slots=True)
class WholeLabel:
    """Mapping of the whole workload, by numbers of tables: costs and one pmapping per Einsum.

    `energy` in joule, `latency` in second. `pmappings`: in the order of the workload, the group and
    the row of the pmapping chosen for each Einsum. `usage`: most bits in use at a time in each
    memory whose usage is a metric of the request.
    """

    energy: float
    latency: float
    pmappings: tuple[ChosenPmapping, ...]
    usage: tuple[float, ...] = ()

    @property
    def measures(self) -> tuple[float, ...]:
        """Energy in joule, latency in second, then usages in bits."""
        return (self.energy, self.latency, *self.usage)


class _StepOrigins(NamedTuple):
    """Where the labels behind a step come from: labels of all compatibilities in one list.

    `origins`: as in JoinLabels. `shared_loops`: per label, how many loops it shares with the next
    Einsum. Shape (labels, …).
    """

    origins: Ints
    shared_loops: Ints


Front = dict[Compatibility, JoinLabels]


class LabelPass:
    """Pass labels, partial mappings of the workload, along a compatibility graph.

    `graph`: all ways to join the Einsums. `columns`: what labels count. `budget`: limits. `labels`:
    number of labels kept so far, over all runs.
    """

    def __init__(self, graph: CompatibilityGraph, columns: LabelColumns, budget: Budget) -> None:
        self._graph = graph
        self._columns = columns
        self._budget = budget
        self._origins: list[_StepOrigins] = []
        self.labels = 0

    @property
    def least_measures(self) -> tuple[float, ...]:
        """Lower bounds of the measures of every whole mapping: joule, second, bits."""
        return (*self._graph.least_costs, *self._columns.usage.zeros)

    def run(self, prunable: PruneTest) -> Floats:
        """Return the measures of all whole mappings that are left, shape (mappings, measures).

        Measures are energy in joule, latency in second and usages in bits. `prunable`: function of
        lower bounds of these, one array each; it marks labels that may be dropped. Labels that
        another one of the same node dominates, and those that exceed a capacity, are dropped, too.
        Raises OutOfBudget.
        """
        no_origins = np.zeros((1, 4), np.int64)
        start = JoinLabels(no_origins[:, 0], np.zeros((1, self._columns.head)), no_origins)
        front: Front = {START: start}
        self._origins = []
        for number in range(len(self._graph.steps)):
            front = self._step(number, front, prunable)
            count = sum(len(labels.nodes) for labels in front.values())
            self.labels += count
            self._budget.check(count * self._columns.head // METRICS)  # long labels take more
            self._origins.append(_step_origins(front))
        width = self._columns.n_measures
        measures = [labels.values[:, :width] for labels in front.values()]
        return np.concatenate([np.zeros((0, width)), *measures])

    def label(self, number: int, measures: Floats) -> WholeLabel:
        """Return one whole mapping of the last run, with the pmapping of each Einsum.

        `number`: its row in the result of `run`. `measures`: that row: joule, second, bits.
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
        """Join one Einsum to the labels of all compatibilities; return the labels behind it.

        `number`: of the Einsum. `front`: labels before it, by compatibility. `prunable`: as in run.
        """
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
    """Return, per compatibility, the number of its first label, counted over all in order."""
    counts = [len(labels.nodes) for labels in front.values()]
    return np.cumsum([0, *counts[:-1]]).tolist() if counts else []


def undominated_labels(pieces: Sequence[JoinLabels]) -> JoinLabels:
    """Return the labels that no other label of the same node dominates.

    A label is a choice of mappings for the Einsums so far; labels of one node have the same shared
    loops, tile shapes and places of tensors on chip. A label dominates another if none of its
    values is greater: energy, latency, usages, bits kept above each shared loop, and peaks
    (theory/fusion.md §5). `pieces`: labels that share all but tile shapes.
    """
    nodes = np.concatenate([piece.nodes for piece in pieces])
    values = np.concatenate([piece.values for piece in pieces])
    origins = np.concatenate([piece.origins for piece in pieces])
    return JoinLabels(nodes, values, origins).select(pareto(nodes, values, NOISE))


class _EdgeJoin:
    """Joins labels of one compatibility to pmappings along the edges to another one.

    `number`: of the Einsum joined. `columns`: of a label.
    """

    def __init__(
        self, graph: CompatibilityGraph, number: int, edges: Edges, columns: LabelColumns
    ) -> None:
        self._edges = edges
        self._columns = columns
        self._capacity = EdgeCapacity(graph, number, edges, columns)
        self._outermost = columns.outermost_bits(number, edges)
        self._loops_before = len(edges.source.loops)

    def pieces(
        self, labels: JoinLabels, remaining: Floats, prunable: PruneTest
    ) -> Iterator[JoinLabels]:
        """Yield the joined labels that fit and are not prunable, in pieces of limited size.

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
        """Yield pairs of a label and a pmapping along the edges, in pieces.

        `remaining`: least energy and latency from each node to the end. Pairs that are `prunable`
        with these costs are left out.
        """
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
        """Return the positions of pairs not prunable by energy, latency and known usages.

        `ahead`: per edge the least remaining cost behind it.
        """
        used = labels.values[pairs.labels, METRICS : self._columns.n_measures]
        cost = labels.values[pairs.labels, :METRICS]
        cost = cost + self._edges.group.values[pairs.pmappings, :METRICS]
        cost += ahead[pairs.edges]
        return np.flatnonzero(~prunable(*cost.T, *used.T))

    def _unpruned(self, joined: JoinLabels, remaining: Floats, prunable: PruneTest) -> JoinLabels:
        """Return the joined labels that are not prunable, now that their usages are known.

        `remaining`: least energy and latency from each node to the end.
        """
        cost = joined.values[:, :METRICS] + remaining[joined.nodes]
        used = joined.values[:, METRICS : self._columns.n_measures]
        return joined.select(np.flatnonzero(~prunable(*cost.T, *used.T)))

    def _joined_labels(self, labels: JoinLabels, pairs: LabelPairs) -> JoinLabels:
        """Return the labels that the pairs make, without those that exceed a capacity."""
        edges = self._edges
        label_values = labels.values[pairs.labels]
        pmapping = edges.group.values[pairs.pmappings]
        values = np.empty((len(label_values), self._capacity.label_width))
        values[:, :METRICS] = label_values[:, :METRICS] + pmapping[:, :METRICS]
        self._put_usages(values, label_values, pmapping)
        fits = self._capacity.put(pairs, label_values, pmapping, values)
        tilings = edges.tilings[pairs.edges]
        origins = np.column_stack([pairs.labels, pairs.labels, tilings, pairs.pmappings])
        joined = JoinLabels(edges.target_nodes[pairs.edges], values, origins)
        return joined.select(np.flatnonzero(fits))

    def _put_usages(self, values: Floats, label_values: Floats, pmapping: Floats) -> None:
        """Fill in the usage of private memories and of the outermost memory in joined labels.

        `values`: rows of the joined labels. `label_values`, `pmapping`: rows that are joined.
        """
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


def _least_measures(labels: JoinLabels, begin: Ints, width: int) -> Floats:
    """Return, for some nodes, the least of each of the first `width` columns over their labels.

    `begin`: number of each node's first label.
    """
    first = np.unique(labels.nodes, return_index=True)[1]
    least_values = np.minimum.reduceat(labels.values[:, :width], first, axis=0)
    return least_values[np.searchsorted(first, begin)]


def _slices(counts: Ints) -> Iterator[slice]:
    """Cut a list into slices whose `counts` sum up to about MAX_PAIRS each."""
    total = np.cumsum(counts)
    first = 0
    while first < len(counts):
        preceding = total[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(total, preceding + MAX_PAIRS, side="right")))
        yield slice(first, last)
        first = last


def _repeat_edges(edges: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Repeat each edge as often as `counts` says.

    Return the repeated edges, and for each entry its number among those of its edge. Example: edges
    (5, 7), counts (2, 1): (5, 5, 7) and (0, 1, 0).
    """
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(edges, counts), np.arange(len(starts)) - starts
