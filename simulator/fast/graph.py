"""Scripts and routes as a graph of units: every run of a queue operation, every message.

A unit is a list of times: of an element's operation on queues, or of one message that passes a
branch of a route or enters at an edge. Straight lines of queues and routers between two units are
one channel with a latency L, a capacity K and a credit delay C (the theorem of fabric-engine.md
§3.2), exact when every queue on the way holds at least latency + 1 words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.engine import layout as at
from tilewright.simulator.fast.errors import NotCovered
from tilewright.simulator.fast.parts import Division
from tilewright.simulator.fast.script import AFTER, FabricOp, Script, Term
from tilewright.simulator.fusing import climb as follow
from tilewright.simulator.memo import Memo
from tilewright.simulator.network import EDGE_IN, EDGE_OUT, INPUT, OUTPUT, ROUTER, Network
from tilewright.simulator.program import Program

Ints = npt.NDArray[np.int64]

# A unit.
(
    U_KIND,
    U_SIZE,
    U_GAP,
    U_IN,  # first input port and its first index, then the second one's
    U_IN_AT,
    U_IN2,
    U_IN2_AT,
    U_OUT,  # output port and first index
    U_OUT_AT,
    U_FIRST,  # first unit of the element, or of the node
    U_OP,  # row of `op`: what its start refers to
    U_ASYNC,
    U_NEXT,  # next unit of the node, or -1
    U_START,  # cycle at which an edge's first word waits outside
    U_STEP,
    U_WIDTH,
) = range(16)
THREAD, NODE, EDGE = range(3)

# A port, named by its FIFO: the units that pass words through it, and the channel that feeds it.
P_AT, P_COUNT, P_WORDS, P_SOURCE, P_LATENCY, P_SPACE, P_CREDIT, P_CHILD, P_CHILDREN, P_WIDTH = (
    range(10)
)
_LINES: Final = Memo(4)
"""By the kinds of a network's FIFOs, which all networks of one topology share."""
ENDLESS: Final = 1 << 40
"""Space of a channel to an edge output, which takes everything."""


class Graph(NamedTuple):
    """Tables for the kernels."""

    unit: Ints
    port: Ints
    entry: Ints
    """(unit, first index) in order for each port."""
    child: Ints
    """Ports that each port's words go to."""
    op: Ints
    """(first term, terms, first follower, followers) per operation of all scripts."""
    term: Ints
    """(kind, operation, cycles)."""
    follower: Ints
    """Operations of the same element whose start depends on it."""


class Layout(NamedTuple):
    """What belongs to which code and FIFO, for everything after the times are known."""

    elements: tuple[Ints, ...]
    """Elements of each code."""
    first: tuple[int, ...]
    """First unit of each code: element i, operation k is unit first + i * operations + k."""
    first_op: tuple[int, ...]
    line: Ints
    """(FIFOs, 6), see LINE_...: source port; latency, space and credit from there up to and
    with the FIFO; next port down; FIFO where the stream begins."""


LINE_SOURCE, LINE_LATENCY, LINE_SPACE, LINE_CREDIT, LINE_DOWN, LINE_ROOT = range(6)


class Fifos(NamedTuple):
    """FIFOs whose words may meet."""

    line: Ints
    """As in Layout."""
    node: npt.NDArray[np.bool_]
    """Whether a FIFO is a port of its own."""
    work: Ints
    """(4, segments of a FIFO at most, 3): room."""


class Pairs(NamedTuple):
    """Pairs of FIFOs on one link, and the part of each FIFO."""

    some: Ints
    others: Ints
    part: Ints


def build_graph(
    program: Program, network: Network, scripts: Sequence[Script], kept: Division
) -> tuple[Graph, Layout]:
    """Return the graph of the parts that are not refused. Raises NotCovered."""
    return _GraphBuilder(program, network, scripts, kept).build()


def climb(pointer: Ints, sums: Ints) -> Ints:
    """Follow pointers as `fusing.climb` does. Raises NotCovered for a loop."""
    ends = follow(pointer, sums)
    if ends is None:
        raise NotCovered("a route leads back to itself", fifos=_endless(pointer))
    return ends


def _endless(pointer: Ints) -> Ints:
    """Return the places from which pointers come to no end."""
    for _ in range(pointer.size.bit_length()):
        pointer = np.where(pointer >= 0, pointer[pointer], -1)
    return np.flatnonzero(pointer >= 0)


class _GraphBuilder:
    def __init__(
        self, program: Program, network: Network, scripts: Sequence[Script], kept: Division
    ) -> None:
        self.program = program
        self.network = network
        self.scripts = scripts
        self.kept = kept
        self.fifo = network.fifo
        self.size = int(self.fifo.shape[0])
        self.port = np.zeros((self.size, P_WIDTH), dtype=np.int64)
        self.units: list[Ints] = []
        self.unit_count = 0
        self.entries: list[Ints] = []
        self.entry_count = 0
        codes = program.placement.ravel()
        self.elements = tuple(
            np.flatnonzero((codes == number) & kept.elements).astype(np.int64)
            for number in range(len(scripts))
        )
        counts = [len(script.ops) for script in scripts]
        self.first_op = tuple(int(n) for n in np.cumsum([0, *counts])[:-1])
        self.marks: list[tuple[Ints, int]] = []
        self.boundaries: dict[tuple[int, ...], int] = {}

    def build(self) -> tuple[Graph, Layout]:
        line = self._lines()
        first = tuple(self._threads(number, script) for number, script in enumerate(self.scripts))
        self._totals(line[:, 5])
        self._nodes(line[:, 5])
        child = self._children()
        graph = Graph(
            _joined(self.units, U_WIDTH), self.port, _joined(self.entries, 2), child, *self._ops()
        )
        return graph, Layout(self.elements, first, self.first_op, line)

    # -- routes ----------------------------------------------------------------------------

    def _lines(self) -> Ints:
        """Find straight lines of FIFOs; fill the channel columns of `port`."""
        kind = self.network.kind
        self.branch = (kind == ROUTER) & (self.fifo[:, at.F_SUCCESSORS] > 1)
        known = _LINES if self.kept.whole else Memo(1)
        line: Ints = known.of(kind, "lines", self._find_lines)
        self.port[:, P_SOURCE : P_CREDIT + 1] = line[:, :4]
        return line

    def _find_lines(self) -> Ints:
        """Find straight lines; they do not depend on the words at the edges."""
        kind, count = self.network.kind, self.fifo[:, at.F_SUCCESSORS]
        used = (np.arange(5) < count[:, None]) & self.kept.fifos[:, None]
        targets = self.fifo[:, at.F_NEXT : at.F_NEXT + 5][used]
        sources = np.broadcast_to(np.arange(self.size)[:, None], used.shape)[used]
        feeders = np.bincount(targets, minlength=self.size)
        if feeders.max(initial=0) > 1:
            crowded = np.flatnonzero(feeders > 1)
            raise NotCovered("a router takes one color from two sides", fifos=crowded)
        self._check_depths()
        parent = np.full(self.size, -1, dtype=np.int64)
        parent[targets] = sources
        node = self.branch | (kind == INPUT) | (kind == EDGE_OUT) | (kind == EDGE_IN)
        edge = (kind == EDGE_OUT) | (kind == EDGE_IN)
        space = np.where(edge, ENDLESS, self.fifo[:, at.F_CAP])
        sums = np.stack([self.fifo[:, at.F_LATENCY], space, np.ones(self.size, np.int64)])
        up = np.where((parent >= 0) & ~node[parent], parent, -1)
        top = climb(up, sums)
        source = np.where(parent[top] >= 0, parent[top], top)
        only = np.where((count > 0) & self.kept.fifos, self.fifo[:, at.F_NEXT], -1)
        down = climb(np.where(node, -1, only), np.zeros((1, self.size), np.int64))
        root = climb(parent, np.zeros((1, self.size), np.int64))
        return np.stack([source, *sums, down, root], axis=1)

    def _check_depths(self) -> None:
        passing = np.isin(self.network.kind, [OUTPUT, ROUTER, INPUT]) & self.kept.fifos
        shallow = passing & (self.fifo[:, at.F_CAP] < self.fifo[:, at.F_LATENCY] + 1)
        if shallow.any():
            fifos = np.flatnonzero(shallow)
            raise NotCovered("a queue is too shallow for the full rate", fifos=fifos)

    def _totals(self, root: Ints) -> None:
        """Set the words of every port; all that is sent must be taken."""
        kind = self.network.kind
        sent = np.where(kind == OUTPUT, self.port[:, P_WORDS], 0)
        enters, leaves = (self.kept.fifos & (kind == side) for side in (EDGE_IN, EDGE_OUT))
        sent[enters] = self.fifo[enters, at.F_CAP]
        total = sent[root]
        self.port[leaves, P_WORDS] = self.fifo[leaves, at.F_CAP]
        ends = leaves | (self.kept.fifos & (kind == INPUT))
        differ = ends & (self.port[:, P_WORDS] != total)
        if differ.any():
            raise NotCovered("words sent and words taken differ", fifos=np.flatnonzero(differ))
        self.port[:, P_WORDS] = total

    def _children(self) -> Ints:
        """List the ports that each port feeds."""
        ends = self.branch | np.isin(self.network.kind, [INPUT, EDGE_OUT])
        ports = np.flatnonzero(ends & (self.port[:, P_WORDS] > 0))
        source = self.port[ports, P_SOURCE]
        order = np.argsort(source, kind="stable")
        counts = np.bincount(source, minlength=self.size)
        self.port[:, P_CHILD] = np.cumsum(counts) - counts
        self.port[:, P_CHILDREN] = counts
        return np.asarray(ports[order])

    # -- units -----------------------------------------------------------------------------

    def _threads(self, number: int, script: Script) -> int:
        """Append the units of one code's elements; return the first one's number."""
        elements, ops = self.elements[number], script.ops
        first = self.unit_count
        block = np.full((elements.size, len(ops), U_WIDTH), -1, dtype=np.int64)
        starts = first + len(ops) * np.arange(elements.size, dtype=np.int64)
        for k, op in enumerate(ops):
            self._thread(block[:, k], elements, op)
            block[:, k, U_OP] = self.first_op[number] + k
        block[:, :, U_FIRST] = starts[:, None]
        self._append(block.reshape(-1, U_WIDTH))
        for slot in sorted({slot for op in ops for slot, _ in op.queues}):
            passing = [
                (k, index) for k, op in enumerate(ops) for s, index in op.queues if s == slot
            ]
            fifos = self.network.queue[elements, slot].astype(np.int64)
            local = np.array(passing, dtype=np.int64)
            table = np.empty((elements.size, len(passing), 2), dtype=np.int64)
            table[:, :, 0] = starts[:, None] + local[:, 0]
            table[:, :, 1] = local[:, 1]
            self._enter(fifos, table)
            self.port[fifos, P_WORDS] = script.words[slot]
            bounds = (*(index for _, index in passing), script.words[slot])
            self.marks.append((fifos, self.boundaries.setdefault(bounds, len(self.boundaries))))
        return first

    def _thread(self, rows: Ints, elements: Ints, op: FabricOp) -> None:
        """Fill the rows of one operation, one per element."""
        rows[:, U_KIND], rows[:, U_SIZE], rows[:, U_GAP] = THREAD, op.extent, op.gap
        rows[:, U_ASYNC] = int(op.asynchronous)
        columns = iter((U_IN, U_IN2))
        for slot, index in op.queues:
            column = U_OUT if slot >= at.OUTPUT_SLOT else next(columns)
            rows[:, column] = self.network.queue[elements, slot]
            rows[:, column + 1] = index

    def _nodes(self, root: Ints) -> None:
        """Append one unit per message and branch or edge input."""
        edge = self.network.kind == EDGE_IN
        nodes = np.flatnonzero((self.branch | edge) & (self.port[:, P_WORDS] > 0))
        if nodes.size == 0:
            return
        cut, kinds = self._messages(root, nodes)
        which = np.array([cut[r] for r in root[nodes].tolist()], dtype=np.int64)
        begin, step = self._edges()
        for number, bounds in enumerate(kinds):
            mine = nodes[which == number]
            sizes = np.diff(bounds)
            rows = np.full((mine.size, sizes.size, U_WIDTH), -1, dtype=np.int64)
            first = self.unit_count + sizes.size * np.arange(mine.size, dtype=np.int64)
            rows[:, :, U_KIND] = np.where(edge[mine], EDGE, NODE)[:, None]
            rows[:, :, U_SIZE], rows[:, :, U_GAP], rows[:, :, U_ASYNC] = sizes, 1, 0
            rows[:, :, U_IN] = np.where(edge[mine], -1, mine)[:, None]
            rows[:, :, U_OUT] = mine[:, None]
            rows[:, :, U_IN_AT] = rows[:, :, U_OUT_AT] = bounds[:-1]
            rows[:, :, U_FIRST] = first[:, None]
            rows[:, :-1, U_NEXT] = first[:, None] + np.arange(1, sizes.size)
            rows[:, :, U_STEP] = step[mine][:, None]
            rows[:, :, U_START] = begin[mine][:, None] + step[mine][:, None] * bounds[:-1]
            table = np.empty((mine.size, sizes.size, 2), dtype=np.int64)
            table[:, :, 0] = first[:, None] + np.arange(sizes.size)
            table[:, :, 1] = bounds[:-1]
            self._append(rows.reshape(-1, U_WIDTH))
            self._enter(mine, table)

    def _edges(self) -> tuple[Ints, Ints]:
        begin, step = np.zeros(self.size, np.int64), np.ones(self.size, np.int64)
        for edge, fifos in zip(self.program.edge_inputs, self.network.edge_inputs, strict=True):
            begin[fifos], step[fifos] = edge.start, edge.interval
        return begin, step

    def _messages(self, root: Ints, nodes: Ints) -> tuple[dict[int, int], list[Ints]]:
        """Cut every stream where any operation on it begins or ends."""
        known = list(self.boundaries)
        wanted = np.zeros(self.size, dtype=bool)
        wanted[root[nodes]] = True
        pairs = [np.zeros(0, dtype=np.int64)]
        for fifos, bounds in self.marks:
            streams = root[fifos]
            pairs.append(np.unique(streams[wanted[streams]] * len(known) + bounds))
        users: dict[int, set[int]] = {}
        for pair in np.unique(np.concatenate(pairs)).tolist():
            users.setdefault(pair // len(known), set()).add(pair % len(known))
        kinds: dict[tuple[int, ...], int] = {}
        memo: dict[tuple[int, ...], int] = {}
        cut: dict[int, int] = {}
        for stream, marks in users.items():
            key = tuple(sorted(marks))
            if key not in memo:
                merged = tuple(sorted({index for b in key for index in known[b]}))
                memo[key] = kinds.setdefault(merged, len(kinds))
            cut[stream] = memo[key]
        return self._uncut(cut, kinds, np.flatnonzero(wanted))

    def _uncut(
        self, cut: dict[int, int], kinds: dict[tuple[int, ...], int], streams: Ints
    ) -> tuple[dict[int, int], list[Ints]]:
        """Give streams from edge to edge one message."""
        for stream in streams.tolist():
            if stream not in cut:
                whole = (0, int(self.port[stream, P_WORDS]))
                cut[stream] = kinds.setdefault(whole, len(kinds))
        return cut, [np.array(bounds, dtype=np.int64) for bounds in kinds]

    def _append(self, rows: Ints) -> None:
        self.units.append(rows)
        self.unit_count += rows.shape[0]

    def _enter(self, ports: Ints, table: Ints) -> None:
        """Append the entries of ports, all with the same number of units."""
        each = table.shape[1]
        self.port[ports, P_AT] = self.entry_count + each * np.arange(ports.size)
        self.port[ports, P_COUNT] = each
        self.entries.append(table.reshape(-1, 2))
        self.entry_count += each * ports.size

    # -- starts ----------------------------------------------------------------------------

    def _ops(self) -> tuple[Ints, Ints, Ints]:
        rows: list[list[int]] = []
        terms: list[Term] = []
        followers: list[int] = []
        for script in self.scripts:
            after: list[list[int]] = [[] for _ in script.ops]
            for k, op in enumerate(script.ops):
                for kind, other, _ in op.terms:
                    if kind >= AFTER and k not in after[other]:
                        after[other].append(k)
            for op, mine in zip(script.ops, after, strict=True):
                rows.append([len(terms), len(op.terms), len(followers), len(mine)])
                terms.extend(op.terms)
                followers.extend(mine)
        return (
            np.array(rows, dtype=np.int64).reshape(-1, 4),
            np.array(terms, dtype=np.int64).reshape(-1, 3),
            np.array(followers, dtype=np.int64),
        )


def _joined(parts: list[Ints], width: int) -> Ints:
    return np.concatenate(parts) if parts else np.zeros((0, width), dtype=np.int64)
