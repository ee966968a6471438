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

from tilewright.mapper.fusion.boundary.usage_peaks import Usage
from tilewright.mapper.fusion.join.compatibility_graph import Edges, Graph
from tilewright.mapper.fusion.join.group_pareto import pareto
from tilewright.mapper.fusion.join.join_steps import START, Form
from tilewright.mapper.fusion.pmappings.pmapping_table import Chosen
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.kernels import Floats, Ints

METRICS = 2  # energy, latency
NOISE = 1e-12  # relative: sums of the same terms in another order
MAX_PAIRS = 1 << 18  # labels made at a time
BYTES = 256 * MAX_PAIRS  # of memory that they take

# Which of some labels, by the least energy, latency and usages that they can come to, lead nowhere.
Hopeless = Callable[..., NDArray[np.bool_]]


@dataclass(frozen=True, eq=False, slots=True)
class Labels:
    """Labels of one form, sorted by key. `values`: energy, latency, usages; if the usage of
    the outermost memory counts, bits in it now, and the most of an Einsum that shares loops with
    the next one; per memory kept …, peak …; `origin`: the label before (counted over all forms),
    the number of the rows among those of the step, the row and the point."""

    keys: Ints
    values: Floats
    origin: Ints

    def some(self, chosen: Ints) -> Labels:
        """Return some of the labels."""
        return Labels(self.keys[chosen], self.values[chosen], self.origin[chosen])


@dataclass(frozen=True, slots=True)
class Label:
    """A whole mapping: what it costs, and a row per Einsum."""

    energy: float
    latency: float
    chosen: tuple[Chosen, ...]
    usage: tuple[float, ...] = ()

    @property
    def row(self) -> tuple[float, ...]:
        """Energy, latency, usages."""
        return (self.energy, self.latency, *self.usage)


@dataclass(frozen=True, slots=True)
class Counted:
    """The room in the memories that tensors are exchanged in, the second one first, and those whose
    usage counts."""

    capacities: tuple[float, ...]
    usage: Usage

    @property
    def own(self) -> int:
        """Numbers of a point before its bits: energy, latency, usages of its own."""
        return METRICS + len(self.usage.of_points)

    @property
    def measured(self) -> int:
        """Numbers of a label that a mapping is judged by."""
        return METRICS + len(self.usage.names)

    def inside(self, memory: str) -> int:
        """Return the number of the usage of one that tensors are exchanged in."""
        return METRICS + self.usage.names.index(memory)

    @property
    def head(self) -> int:
        """Numbers of a label before what is kept."""
        return self.measured + 2 * bool(self.usage.outer)

    def outside(self, number: int, edges: Edges) -> tuple[float, float, float]:
        """Return the bits in the outermost memory of tensors that are new at a step, of those that
        stay there from before, and how much more these take from then on."""
        if not self.usage.outer:
            return 0.0, 0.0, 0.0
        return self.usage.tenants[number].bits(edges.rows.depths, edges.source.depths)


class Walk:
    """One pass over a graph."""

    def __init__(self, graph: Graph, room: Counted, budget: Budget) -> None:
        self._graph = graph
        self._room = room
        self._budget = budget
        self._origins: list[tuple[Ints, Ints]] = []  # per step: origins, loops shared afterwards
        self.labels = 0

    def run(self, hopeless: Hopeless) -> Floats:
        """Return energy, latency and usages of all mappings that are left; one row per mapping.

        OutOfBudget.
        """
        none = np.zeros((1, 4), np.int64)
        front = {START: Labels(none[:, 0], np.zeros((1, self._room.head)), none)}
        self._origins = []
        for number in range(len(self._graph.steps)):
            front = self._step(number, front, hopeless)
            kept = sum(len(labels.keys) for labels in front.values())
            self.labels += kept
            self._budget.check(kept * self._room.head // METRICS)  # longer ones take more room
            self._remember(front)
        width = self._room.measured
        ends = [labels.values[:, :width] for labels in front.values()]
        return np.concatenate([np.zeros((0, width)), *ends])

    def label(self, number: int, metrics: Floats) -> Label:
        """Return one of the mappings of the last run."""
        chosen: list[Chosen] = []
        for (origins, shared), step in zip(
            reversed(self._origins), reversed(self._graph.steps), strict=True
        ):
            before, rows, row, point = origins[number].tolist()
            chosen.append(Chosen(step.rows[rows], row, point, int(shared[number])))
            number = before
        energy, latency, *usage = metrics.tolist()
        return Label(energy, latency, tuple(reversed(chosen)), tuple(usage))

    def _remember(self, front: dict[Form, Labels]) -> None:
        origins = [labels.origin for labels in front.values()]
        shared = [np.full(len(one.keys), len(form.loops)) for form, one in front.items()]
        none = np.zeros(0, np.int64)
        self._origins.append(
            (
                np.concatenate([np.zeros((0, 4), np.int64), *origins]),
                np.concatenate([none, *shared]),
            )
        )

    def _step(
        self, number: int, front: dict[Form, Labels], hopeless: Hopeless
    ) -> dict[Form, Labels]:
        step, rest = self._graph.steps[number], self._graph.rest[number + 1]
        places = {id(rows): place for place, rows in enumerate(step.rows)}
        first = dict(zip(front, _firsts(front), strict=True))
        found: dict[Form, list[Labels]] = {}
        for edges in self._graph.edges[number]:
            labels = front.get(edges.source)
            if labels is None:
                continue
            self._budget.check(more=BYTES)
            join = _Join(self._graph, number, edges, self._room)
            for some in join.pairs(labels, rest[edges.target], hopeless):
                made = join.joined(labels, some)
                if self._room.usage.names:
                    made = join.hopeful(made, rest[edges.target], hopeless)
                made.origin[:, 0] += first[edges.source]
                made.origin[:, 1] = places[id(edges.rows)]
                several = found.setdefault(edges.target, [])
                several.append(made)
                if sum(len(one.keys) for one in several) > MAX_PAIRS:
                    found[edges.target] = [reduced(several)]
        fronts = {form: reduced(several) for form, several in found.items()}
        return {form: labels for form, labels in fronts.items() if len(labels.keys)}


def _firsts(front: dict[Form, Labels]) -> list[int]:
    """Return the number of the first label of each form, counted over all."""
    counts = [len(labels.keys) for labels in front.values()]
    return np.cumsum([0, *counts[:-1]]).tolist() if counts else []


def reduced(several: Sequence[Labels]) -> Labels:
    """Return the labels that no other one of their key dominates."""
    keys = np.concatenate([one.keys for one in several])
    values = np.concatenate([one.values for one in several])
    origin = np.concatenate([one.origin for one in several])
    return Labels(keys, values, origin).some(pareto(keys, values, NOISE))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Labels with points that could follow: numbers of the label, of the edge, of the point."""

    labels: Ints
    edges: Ints
    points: Ints

    def some(self, chosen: Ints) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.labels[chosen], self.edges[chosen], self.points[chosen])


class _Join:
    """What the edges between two forms do to labels."""

    def __init__(self, graph: Graph, number: int, edges: Edges, room: Counted) -> None:
        self._tiling = graph.tiling
        self._step = graph.steps[number]
        self._memories = self._step.memories
        self._codes = graph.codes[number][edges.source]
        self._edges = edges
        self._room = room
        self._fresh, self._stays, self._more = room.outside(number, edges)
        self._kept = len(edges.source.loops)
        self._before = self._step.shared_loops(edges.source, edges.rows)
        self._after = len(edges.target.loops)

    def pairs(self, labels: Labels, rest: Floats, hopeless: Hopeless) -> Iterator[Pairs]:
        """Yield the pairs that could lead somewhere, some at a time."""
        edges, rows = self._edges, self._edges.rows
        begin = np.searchsorted(labels.keys, edges.keys)
        end = np.searchsorted(labels.keys, edges.keys, side="right")
        more = rest[edges.ends]
        alive = np.flatnonzero(end > begin)
        if not len(alive):
            return
        measured = self._room.measured
        paid = _least_of(labels, begin[alive], measured)
        cost = paid[:, :METRICS] + rows.least[edges.numbers[alive]] + more[alive]
        alive = alive[~hopeless(*cost.T, *paid[:, METRICS:].T)]
        numbers = edges.numbers[alive]
        points = rows.start[numbers + 1] - rows.start[numbers]
        counts = (end[alive] - begin[alive]) * points
        for part in _parts(counts):
            edge, place = _unrolled(alive[part], counts[part])
            width = np.repeat(points[part], counts[part])
            pairs = Pairs(begin[edge] + place // width, edge,
                          rows.start[edges.numbers[edge]] + place % width)  # fmt: skip
            used = labels.values[pairs.labels, METRICS:measured]
            cost = labels.values[pairs.labels, :METRICS] + rows.points[pairs.points, :METRICS]
            cost += more[edge]
            if len(left := np.flatnonzero(~hopeless(*cost.T, *used.T))):
                yield pairs.some(left)

    def hopeful(self, made: Labels, rest: Floats, hopeless: Hopeless) -> Labels:
        """Return the labels that may lead somewhere, now that their usages are known."""
        cost = made.values[:, :METRICS] + rest[made.keys]
        used = made.values[:, METRICS : self._room.measured]
        return made.some(np.flatnonzero(~hopeless(*cost.T, *used.T)))

    def joined(self, labels: Labels, pairs: Pairs) -> Labels:
        """Return the labels that fit; their origin is counted within the form."""
        edges, after = self._edges, self._after
        head, own = self._room.head, self._room.own
        old = labels.values[pairs.labels]
        point = edges.rows.points[pairs.points]
        row, width = edges.numbers[pairs.edges], len(edges.rows.loops) + 1
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
            if memory in self._room.usage.inner:
                column = self._room.inside(memory)
                np.maximum(old[:, column], most, out=made[:, column])
            fits &= most <= size
            own += width
        origin = np.column_stack([pairs.labels, pairs.labels, row, pairs.points])
        return Labels(edges.ends[pairs.edges], made, origin).some(np.flatnonzero(fits))

    def _reserved(
        self, pairs: Pairs, memory: str, known: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """Return the most bits of a memory in use at a time, and what is kept there and the peaks
        afterwards; `known`: the same before, and the bits of the points."""
        before, after, (old, own) = self._before, self._after, known
        live, added, new = self._sizes(pairs, memory)
        earlier, later = self._twice(self._edges.numbers[pairs.edges], memory)
        bits = own - later + self._wider(pairs, memory)
        kept, peak = old[:, :before], old[:, self._kept :][:, :before]
        held = kept[:, -1] if before else np.zeros(len(old))
        total = held + live + bits[:, -1] + new
        more = own[:, :before] - earlier[:, :before] + added[:, :before]
        peaks = behind(peak + more)
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
        last = METRICS + len(usage.deep)
        deep = slice(METRICS, last)
        np.maximum(old[:, deep], point[:, deep], out=made[:, deep])
        if usage.outer:
            end = self._room.measured
            new = self._fresh + point[:, last]
            made[:, end] = new + (old[:, end] + self._more if self._kept else self._stays)
            made[:, end + 1] = made[:, end]
            if self._kept:
                np.maximum(made[:, end], old[:, end + 1] + new, out=made[:, end + 1])
            np.maximum(old[:, end - 1], made[:, end + 1], out=made[:, end - 1])

    def _sizes(self, pairs: Pairs, memory: str) -> tuple[Floats, Floats, Floats]:
        """Return, per pair, bits in a memory of live tensors below all shared loops, of new ones
        above loop 1 … n, and of all new ones."""
        edges, source = self._edges, self._edges.source
        codes = self._codes[edges.keys[pairs.edges]]
        tiles = self._tiling.tiles(source.loops, codes)
        live = self._step.live_bits(source, edges.rows, tiles, memory)
        row = edges.numbers[pairs.edges]
        new = self._step.begun(source, edges.rows, memory)
        sizes = edges.rows.sizes[row][:, new]
        depths = np.array([edges.rows.depths[place] for place in new], np.int64)
        loops = np.arange(1, len(edges.rows.loops) + 1)
        added = sizes @ (depths[:, np.newaxis] < loops).astype(np.float64)
        return live, added, sizes.sum(axis=1)

    def _twice(self, row: Ints, memory: str) -> tuple[Floats, Floats]:
        """Return the bits of a memory that an earlier Einsum already holds at the same place: for
        what has run, and for what runs now or later."""
        rows = self._edges.rows
        tiles = rows.tiles[row]
        totals = np.zeros((2, len(row), len(rows.loops) + 1))
        for place, both in self._step.held_twice(self._edges.source, rows, tiles, memory):
            for total, bits in zip(totals, both, strict=True):
                total[:, place:] += bits[:, np.newaxis]
        return totals[0], totals[1]

    def _wider(self, pairs: Pairs, memory: str) -> Floats:
        """Return the bits that kept tensors take more, as this Einsum sees them."""
        edges, source = self._edges, self._edges.source
        total = np.zeros((len(pairs.edges), len(edges.rows.loops) + 1))
        tiles = self._tiling.tiles(source.loops, self._codes[edges.keys[pairs.edges]])
        for place, bits in self._step.wider(source, edges.rows, tiles, memory):
            total[:, place:] += bits[:, np.newaxis]
        return total


def _least_of(labels: Labels, begin: Ints, width: int) -> Floats:
    """Return the least of the first numbers of the keys whose first labels are given."""
    first = np.unique(labels.keys, return_index=True)[1]
    least = np.minimum.reduceat(labels.values[:, :width], first, axis=0)
    return least[np.searchsorted(first, begin)]


def _parts(counts: Ints) -> Iterator[slice]:
    """Cut a list of counts into runs of about MAX_PAIRS in all."""
    total = np.cumsum(counts)
    first = 0
    while first < len(counts):
        done = total[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(total, done + MAX_PAIRS, side="right")))
        yield slice(first, last)
        first = last


def _unrolled(edges: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Repeat each edge; return the edges and the place of each entry among those of its edge."""
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(edges, counts), np.arange(len(starts)) - starts


def behind(peaks: Floats) -> Floats:
    """Return the greatest value at or behind each place: all that later tests can see."""
    return np.maximum.accumulate(peaks[:, ::-1], axis=1)[:, ::-1]
