"""The tables of a graph from the scripts of a program's codes and the lines of its network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.simulator.compile.columns import F_CAP, F_COLOR
from tilewright.simulator.compile.fabric.network import FifoNetwork
from tilewright.simulator.fast.fifo_lines import Bools, Lines, lines_of
from tilewright.simulator.fast.graph import (
    C_RANK,
    C_RIVAL,
    C_RIVALS,
    C_WIDTH,
    EDGE,
    NODE,
    P_AT,
    P_CHILD,
    P_CHILDREN,
    P_COUNT,
    P_SOURCE,
    P_WIDTH,
    P_WORDS,
    THREAD,
    U_ASYNC,
    U_FIRST,
    U_GAP,
    U_IN,
    U_IN2,
    U_IN2_AT,
    U_IN_AT,
    U_KIND,
    U_NEXT,
    U_OP,
    U_OUT,
    U_OUT_AT,
    U_SIZE,
    U_START,
    U_STEP,
    U_WIDTH,
    Graph,
    Ints,
    Layout,
)
from tilewright.simulator.fast.independent_parts import Division, rivals_of
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.script import (
    L_COUNT,
    L_FIRST,
    L_SLOT,
    L_WORDS,
    Q_ASYNC,
    Q_GAP,
    Q_IN,
    Q_IN2,
    Q_IN2_AT,
    Q_IN_AT,
    Q_OUT,
    Q_OUT_AT,
    Q_SIZE,
    Script,
)
from tilewright.simulator.program.program import Program

UNIT_COLUMNS = (U_SIZE, U_GAP, U_ASYNC, U_IN, U_IN_AT, U_IN2, U_IN2_AT, U_OUT, U_OUT_AT)
OP_COLUMNS = (Q_SIZE, Q_GAP, Q_ASYNC, Q_IN, Q_IN_AT, Q_IN2, Q_IN2_AT, Q_OUT, Q_OUT_AT)


def build_graph(
    program: Program, network: FifoNetwork, scripts: Sequence[Script], kept: Division
) -> tuple[Graph, Layout]:
    """Return the graph of the parts that are not refused. Raises NotCovered."""
    return _GraphBuilder(program, network, scripts, kept).build()


class _GraphBuilder:
    def __init__(
        self, program: Program, network: FifoNetwork, scripts: Sequence[Script], kept: Division
    ) -> None:
        self.program = program
        self.network = network
        self.contended = kept.contended
        self.tables = [script.tables for script in scripts]
        lines = lines_of(network, kept)
        self.size = int(network.kind.size)
        self.port = np.zeros((self.size, P_WIDTH), dtype=np.int64)
        for column, values in enumerate(lines.channel, P_SOURCE):
            self.port[:, column] = values
        self.lines: Lines = lines._replace(channel=())  # of a wafer they are large
        self.root = lines.root
        codes = np.where(kept.elements, program.placement.ravel(), len(scripts))
        self.order = np.argsort(codes, kind="stable")
        self.sizes = np.bincount(codes, minlength=len(scripts))[: len(scripts)]
        """Elements of each code; `order` has them code by code."""
        self.ops = np.array([table.op.shape[0] for table in self.tables], dtype=np.int64)
        self.first_op = np.cumsum(self.ops) - self.ops
        self.marks: tuple[Ints, Ints]
        """Ports of queues, and the lane of each."""

    def build(self) -> tuple[Graph, Layout]:
        ends = np.cumsum(self.sizes)
        elements = tuple(np.split(self.order[: ends[-1]], ends[:-1]))
        counts = self.sizes * self.ops
        first = np.cumsum(counts) - counts
        entries = self._lanes(first)
        self._totals()
        messages = self._messages()
        passed = sum(nodes.size * (bounds.size - 1) for nodes, bounds in messages)
        self.unit = np.empty((int(counts.sum()) + passed, U_WIDTH), dtype=np.int64)
        self.entry = np.empty((entries.shape[0] + passed, 2), dtype=np.int64)
        self.entry[: entries.shape[0]] = entries
        self._threads(first)
        at = int(counts.sum()), entries.shape[0]
        for nodes, bounds in messages:
            at = self._nodes(nodes, bounds, at)
        child, contest = self._children(), self._contest()
        graph = Graph(self.unit, self.port, self.entry, child, *self._ops(), *contest)
        named = tuple(first.tolist()), tuple(self.first_op.tolist())
        return graph, Layout(elements, *named, self.lines.down, self.root)

    # -- units of elements -----------------------------------------------------------------

    def _threads(self, first: Ints) -> None:
        """Fill the units of all elements: code by code, element by element, in order."""
        table = np.concatenate([table.op for table in self.tables])
        pattern = np.full((table.shape[0], U_WIDTH), -1, dtype=np.int64)
        pattern[:, U_KIND], pattern[:, U_OP] = THREAD, np.arange(table.shape[0])
        pattern[:, UNIT_COLUMNS] = table[:, OP_COLUMNS]
        code, place = _spread(self.sizes)
        count = self.ops[code]
        which, k = _spread(count)
        rows = self.unit[: which.size]
        np.take(pattern, self.first_op[code][which] + k, axis=0, out=rows, mode="clip")
        rows[:, U_FIRST] = (first[code] + place * count)[which]
        slots = 16 * self.order[: code.size][which]
        queues = self.network.queue.ravel()
        for column in (U_IN, U_IN2, U_OUT):
            slot = rows[:, column]
            rows[:, column] = np.where(slot < 0, -1, queues[slots + slot])

    def _lanes(self, first: Ints) -> Ints:
        """Note in the ports of queues what passes them; return these entries."""
        counts = np.array([table.lane.shape[0] for table in self.tables], dtype=np.int64)
        lane = np.concatenate([table.lane for table in self.tables])
        passing = np.concatenate([table.passing for table in self.tables])
        sizes = np.array([table.passing.shape[0] for table in self.tables], dtype=np.int64)
        lane[:, L_FIRST] += np.repeat(np.cumsum(sizes) - sizes, counts)
        code = np.repeat(np.arange(counts.size), counts)
        mine, place = _spread(self.sizes[code])
        code = code[mine]
        element = self.order[(np.cumsum(self.sizes) - self.sizes)[code] + place]
        ports = self.network.queue[element, lane[mine, L_SLOT]].astype(np.int64)
        each = lane[mine, L_COUNT]
        self.port[ports, P_AT] = np.cumsum(each) - each
        self.port[ports, P_COUNT] = each
        self.port[ports, P_WORDS] = lane[mine, L_WORDS]
        unit = first[code] + place * self.ops[code]
        which, k = _spread(each)
        entries = passing[lane[mine, L_FIRST][which] + k]
        entries[:, 0] += unit[which]
        self.lane, self.passing, self.marks = lane, passing, (ports, mine)
        return np.asarray(entries)

    def _totals(self) -> None:
        """Set the words of every port; all that is sent must be taken."""
        lines, words = self.lines, self.port[:, P_WORDS]
        sent = np.where(lines.sends, words, 0)
        sent[lines.enters] = self.network.fifo[lines.enters, F_CAP]
        total = sent[self.root]
        words[lines.leaves] = self.network.fifo[lines.leaves, F_CAP]
        differ = (lines.leaves | lines.takes) & (words != total)
        if differ.any():
            raise NotCovered("words sent and words taken differ", fifos=np.flatnonzero(differ))
        words[:] = total

    def _children(self) -> Ints:
        """List the ports that each port feeds."""
        ends = self.lines.branch | self.lines.takes | self.lines.leaves
        ports = np.flatnonzero(ends & (self.port[:, P_WORDS] > 0))
        source = self.port[ports, P_SOURCE]
        order = np.argsort(source, kind="stable")
        counts = np.bincount(source, minlength=self.size)
        self.port[:, P_CHILD] = np.cumsum(counts) - counts
        self.port[:, P_CHILDREN] = counts
        return np.asarray(ports[order])

    def _contest(self) -> tuple[Ints, Ints]:
        """List the ports that contend for a link with each port, and say who goes first."""
        playing = self.contended & (self.port[:, P_WORDS] > 0)
        if not playing.any():
            return np.zeros((0, C_WIDTH), dtype=np.int64), np.zeros(0, dtype=np.int64)
        contest = np.empty((self.size, C_WIDTH), dtype=np.int64)
        rival, contest[:, C_RIVAL], contest[:, C_RIVALS] = rivals_of(self.network, playing)
        contest[:, C_RANK] = self.network.fifo[:, F_COLOR].astype(np.int64) * self.size
        contest[:, C_RANK] += np.arange(self.size)
        return contest, rival

    # -- units of messages -----------------------------------------------------------------

    def _messages(self) -> list[tuple[Ints, Ints]]:
        """Return branches and edge inputs with the cuts of their streams, by kinds of cuts."""
        nodes = np.flatnonzero(
            (self.lines.branch | self.lines.enters) & (self.port[:, P_WORDS] > 0)
        )
        cut, kinds = self._cuts(nodes)
        which = cut[self.root[nodes]]
        return [(nodes[which == number], bounds) for number, bounds in enumerate(kinds)]

    def _nodes(self, nodes: Ints, bounds: Ints, at: tuple[int, int]) -> tuple[int, int]:
        """Fill the units and entries of nodes, one per message; return where they end."""
        edge, (begin, step) = self.lines.enters[nodes], self._edges(nodes)
        sizes, unit, entry = np.diff(bounds), at[0], at[1]
        count = nodes.size * sizes.size
        rows = self.unit[unit : unit + count].reshape(nodes.size, sizes.size, U_WIDTH)
        first = unit + sizes.size * np.arange(nodes.size, dtype=np.int64)
        rows[:] = -1
        rows[:, :, U_KIND] = np.where(edge, EDGE, NODE)[:, None]
        rows[:, :, U_SIZE], rows[:, :, U_GAP], rows[:, :, U_ASYNC] = sizes, 1, 0
        rows[:, :, U_IN] = np.where(edge, -1, nodes)[:, None]
        rows[:, :, U_OUT] = nodes[:, None]
        rows[:, :, U_IN_AT] = rows[:, :, U_OUT_AT] = bounds[:-1]
        rows[:, :, U_FIRST] = first[:, None]
        rows[:, :-1, U_NEXT] = first[:, None] + np.arange(1, sizes.size)
        rows[:, :, U_STEP] = step[:, None]
        rows[:, :, U_START] = begin[:, None] + step[:, None] * bounds[:-1]
        table = self.entry[entry : entry + count].reshape(nodes.size, sizes.size, 2)
        table[:, :, 0] = first[:, None] + np.arange(sizes.size)
        table[:, :, 1] = bounds[:-1]
        self.port[nodes, P_AT] = entry + sizes.size * np.arange(nodes.size)
        self.port[nodes, P_COUNT] = sizes.size
        return unit + count, entry + count

    def _edges(self, nodes: Ints) -> tuple[Ints, Ints]:
        """Return the cycle of the first word outside and the interval of edge inputs."""
        begin, step = np.zeros(nodes.size, np.int64), np.ones(nodes.size, np.int64)
        for edge, fifos in zip(self.program.edge_inputs, self.network.edge_inputs, strict=True):
            mine = np.isin(nodes, fifos)
            begin[mine], step[mine] = edge.start, edge.interval
        return begin, step

    def _cuts(self, nodes: Ints) -> tuple[Ints, list[Ints]]:
        """Cut every stream where any operation on it begins or ends.

        Returns the kind of each FIFO's stream, where it is wanted, and the cuts of the kinds.
        """
        wanted = np.zeros(self.size, dtype=bool)
        wanted[self.root[nodes]] = True
        streams = np.flatnonzero(wanted)
        number = np.zeros(self.size, dtype=np.int64)
        number[streams] = np.arange(streams.size)
        ports, lanes = self.marks
        on = wanted[self.root[ports]]
        met = np.zeros((streams.size, self.lane.shape[0]), dtype=bool)
        met[number[self.root[ports[on]]], lanes[on]] = True
        kinds: dict[tuple[int, ...], int] = {}
        known: dict[bytes, int] = {}
        cut = np.zeros(self.size, dtype=np.int64)
        for stream, mine in zip(streams.tolist(), met, strict=True):
            key = mine.tobytes() if mine.any() else b"%d" % self.port[stream, P_WORDS]
            if key not in known:
                known[key] = kinds.setdefault(self._bounds(stream, mine), len(kinds))
            cut[stream] = known[key]
        return cut, [np.array(bounds, dtype=np.int64) for bounds in kinds]

    def _bounds(self, stream: int, lanes: Bools) -> tuple[int, ...]:
        """Return where a stream is cut; one from edge to edge is one message."""
        if not lanes.any():
            return 0, int(self.port[stream, P_WORDS])
        found: set[int] = set()
        for lane in self.lane[lanes]:
            first = lane[L_FIRST]
            found.update(self.passing[first : first + lane[L_COUNT], 1].tolist())
            found.add(int(lane[L_WORDS]))
        return tuple(sorted(found))

    # -- starts ----------------------------------------------------------------------------

    def _ops(self) -> tuple[Ints, Ints, Ints]:
        terms = np.array([table.term.shape[0] for table in self.tables], dtype=np.int64)
        followers = np.array([table.follower.size for table in self.tables], dtype=np.int64)
        start = np.concatenate([table.start for table in self.tables])
        start[:, 0] += np.repeat(np.cumsum(terms) - terms, self.ops)
        start[:, 2] += np.repeat(np.cumsum(followers) - followers, self.ops)
        return (
            start,
            np.concatenate([table.term for table in self.tables]),
            np.concatenate([table.follower for table in self.tables]),
        )


def _spread(counts: Ints) -> tuple[Ints, Ints]:
    """Return 0, ..., 0, 1, ... with each number as often as its count, and 0, 1, ... in each."""
    which = np.repeat(np.arange(counts.size), counts)
    return which, np.arange(which.size) - (np.cumsum(counts) - counts)[which]
