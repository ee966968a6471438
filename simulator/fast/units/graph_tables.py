"""Build the tables of a unit graph from the scripts of the codes and the lines of the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tilewright.simulator.compile.columns import F_CAP
from tilewright.simulator.compile.fabric.network import FifoNetwork
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.units.contests import NO_CONTESTS, contests_of
from tilewright.simulator.fast.units.fifo_lines import Bools, LineTables, lines_of
from tilewright.simulator.fast.units.graph import (
    EDGE,
    NODE,
    P_AT,
    P_CHILD,
    P_CHILDREN,
    P_COUNT,
    P_FILTER,
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
    Ints,
    UnitGraph,
    UnitLayout,
)
from tilewright.simulator.fast.units.ramp_filters import K_LIMIT, filters_of
from tilewright.simulator.fast.walk.script import (
    Q_ASYNC,
    Q_GAP,
    Q_IN,
    Q_IN2,
    Q_IN2_AT,
    Q_IN_AT,
    Q_OUT,
    Q_OUT_AT,
    Q_SIZE,
    SLOT_COUNT,
    SLOT_FIRST,
    SLOT_NUMBER,
    SLOT_WORDS,
    Script,
)
from tilewright.simulator.program.program import Program

UNIT_COLUMNS = (U_SIZE, U_GAP, U_ASYNC, U_IN, U_IN_AT, U_IN2, U_IN2_AT, U_OUT, U_OUT_AT)
OP_COLUMNS = (Q_SIZE, Q_GAP, Q_ASYNC, Q_IN, Q_IN_AT, Q_IN2, Q_IN2_AT, Q_OUT, Q_OUT_AT)


def build_graph(
    program: Program, network: FifoNetwork, scripts: Sequence[Script], division: Division
) -> tuple[UnitGraph, UnitLayout]:
    """Build the graph of units and channels of the parts that the fast engine still covers.

    A unit is one run of an operation on queues in one element, or one message. scripts: per code
    the runs of operations of an element, in order. Returns the graph, and which units belong to
    which code. Raises NotCovered, with FIFOs, if a queue's words sent and taken differ in number,
    or the network has what is not covered (a color from two sides, a queue of fewer than latency +
    1 words).
    """
    return _GraphTablesBuilder(program, network, scripts, division).build()


class _GraphTablesBuilder:
    def __init__(
        self, program: Program, network: FifoNetwork, scripts: Sequence[Script], division: Division
    ) -> None:
        self.program = program
        self.network = network
        self.contended = division.contended
        self.tables = [script.tables for script in scripts]
        lines = lines_of(network, division)
        self.size = int(network.kind.size)
        self.port = np.zeros((self.size, P_WIDTH), dtype=np.int64)
        for column, values in enumerate(lines.channel, P_SOURCE):
            self.port[:, column] = values
        self.lines: LineTables = lines._replace(channel=())  # of a wafer they are large
        self.filters = filters_of(network, division)
        self.port[:, P_FILTER] = -1
        self.port[self.filters.queue, P_FILTER] = self.filters.row
        self.root = lines.root
        codes = np.where(division.elements, program.placement.ravel(), len(scripts))
        self.order = np.argsort(codes, kind="stable")
        self.sizes = np.bincount(codes, minlength=len(scripts))[: len(scripts)]
        """Elements of each code; `order` has them code by code."""
        self.ops = np.array([table.op.shape[0] for table in self.tables], dtype=np.int64)
        self.first_op = np.cumsum(self.ops) - self.ops
        self.queue_ports: Ints
        """Ports of queues."""
        self.port_slots: Ints
        """The row of `slot` of each of these ports."""

    def build(self) -> tuple[UnitGraph, UnitLayout]:
        ends = np.cumsum(self.sizes)
        elements = tuple(np.split(self.order[: ends[-1]], ends[:-1]))
        counts = self.sizes * self.ops
        first = np.cumsum(counts) - counts
        entries = self._queue_entries(first)
        self._totals()
        messages = self._messages()
        passed = sum(nodes.size * (bounds.size - 1) for nodes, bounds in messages)
        self.unit = np.empty((int(counts.sum()) + passed, U_WIDTH), dtype=np.int64)
        self.entry = np.empty((entries.shape[0] + passed, 2), dtype=np.int64)
        self.entry[: entries.shape[0]] = entries
        self._threads(first)
        unit, entry = int(counts.sum()), entries.shape[0]
        for nodes, bounds in messages:
            unit, entry = self._nodes(nodes, bounds, unit, entry)
        child, contest = self._children(), self._contest()
        tables = (*self._ops(), *contest, self.filters.table)
        graph = UnitGraph(self.unit, self.port, self.entry, child, *tables)
        named = tuple(first.tolist()), tuple(self.first_op.tolist())
        return graph, UnitLayout(elements, *named, self.lines.down, self.root, self.filters)

    # -- units of elements -----------------------------------------------------------------

    def _threads(self, first: Ints) -> None:
        """Fill the units of all elements: code by code, element by element, in order.

        first: number of the first unit of each code.
        """
        table = np.concatenate([table.op for table in self.tables])
        pattern = np.full((table.shape[0], U_WIDTH), -1, dtype=np.int64)
        pattern[:, U_KIND], pattern[:, U_OP] = THREAD, np.arange(table.shape[0])
        pattern[:, UNIT_COLUMNS] = table[:, OP_COLUMNS]
        code, place = _numbered(self.sizes)
        count = self.ops[code]
        row, k = _numbered(count)
        rows = self.unit[: row.size]
        np.take(pattern, self.first_op[code][row] + k, axis=0, out=rows, mode="clip")
        rows[:, U_FIRST] = (first[code] + place * count)[row]
        slots = 16 * self.order[: code.size][row]
        queues = self.network.queue.ravel()
        for column in (U_IN, U_IN2, U_OUT):
            slot = rows[:, column]
            rows[:, column] = np.where(slot < 0, -1, queues[slots + slot])
        self._check_windows(rows)

    def _check_windows(self, threads: Ints) -> None:
        """Check that words taken by an operation behind a filter are consecutive in the stream."""
        for column in (U_IN, U_IN2) if self.filters.queue.size else ():
            port, size = threads[:, column], threads[:, U_SIZE]
            row = np.where(port >= 0, self.port[port, P_FILTER], -1)
            behind = np.flatnonzero(row >= 0)
            _, most, start = self.filters.table[row[behind]].T
            first = (threads[behind, column + 1] + np.minimum(start, most)) % most
            apart = behind[first + size[behind] > most]
            if apart.size:
                raise NotCovered(
                    "an operation takes words that a filter keeps apart",
                    fifos=np.unique(port[apart]),
                )

    def _queue_entries(self, first: Ints) -> Ints:
        """Set the rows of ports that are queues; return (runs, 2): unit, number of its first word.

        first: first unit of each code. The rows of a port are consecutive, one for each run that
        moves its words.
        """
        counts = np.array([table.slot.shape[0] for table in self.tables], dtype=np.int64)
        slot = np.concatenate([table.slot for table in self.tables])
        passing = np.concatenate([table.passing for table in self.tables])
        sizes = np.array([table.passing.shape[0] for table in self.tables], dtype=np.int64)
        slot[:, SLOT_FIRST] += np.repeat(np.cumsum(sizes) - sizes, counts)
        code = np.repeat(np.arange(counts.size), counts)
        members, place = _numbered(self.sizes[code])
        code = code[members]
        element = self.order[(np.cumsum(self.sizes) - self.sizes)[code] + place]
        ports = self.network.queue[element, slot[members, SLOT_NUMBER]].astype(np.int64)
        each = slot[members, SLOT_COUNT]
        self.port[ports, P_AT] = np.cumsum(each) - each
        self.port[ports, P_COUNT] = each
        self.port[ports, P_WORDS] = slot[members, SLOT_WORDS]
        unit = first[code] + place * self.ops[code]
        row, k = _numbered(each)
        entries = passing[slot[members, SLOT_FIRST][row] + k]
        entries[:, 0] += unit[row]
        self.slot, self.passing = slot, passing
        self.queue_ports, self.port_slots = ports, members
        return np.asarray(entries)

    def _totals(self) -> None:
        """Set the words of every port. Raises NotCovered if not all words sent are taken."""
        lines, words = self.lines, self.port[:, P_WORDS]
        sent = np.where(lines.sends, words, 0)
        sent[lines.enters] = self.network.fifo[lines.enters, F_CAP]
        total = sent[self.root]
        words[lines.leaves] = self.network.fifo[lines.leaves, F_CAP]
        total[self.filters.queue] = self.filters.kept(total[self.filters.router])
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
        """Return the tables `contest` and `rival`; both are empty without contended links."""
        contending = self.contended & (self.port[:, P_WORDS] > 0)
        if not contending.any():
            return NO_CONTESTS, np.zeros(0, dtype=np.int64)
        return contests_of(self.network, contending, self.filters)

    # -- units of messages -----------------------------------------------------------------

    def _messages(self) -> list[tuple[Ints, Ints]]:
        """Return (FIFOs, cuts of their streams): one pair for each different list of cuts.

        The FIFOs are branches of routes and edge inputs. A stream has a message between two cuts,
        which are numbers of words.
        """
        nodes = np.flatnonzero(
            (self.lines.branch | self.lines.enters) & (self.port[:, P_WORDS] > 0)
        )
        cut, kinds = self._cuts(nodes)
        kind = cut[self.root[nodes]]
        return [(nodes[kind == number], bounds) for number, bounds in enumerate(kinds)]

    def _nodes(self, nodes: Ints, bounds: Ints, unit: int, entry: int) -> tuple[int, int]:
        """Fill the units and entries of nodes, one per message, from `unit` and `entry` on.

        Return the end of both.
        """
        edge, (begin, step) = self.lines.enters[nodes], self._edges(nodes)
        sizes = np.diff(bounds)
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
        """Return (first cycle, interval) of the words that come to the FIFOs `nodes` from outside.

        A word of an edge input comes every `interval` cycles from the first cycle on; other FIFOs
        have 0 and 1.
        """
        begin, step = np.zeros(nodes.size, np.int64), np.ones(nodes.size, np.int64)
        for edge, fifos in zip(self.program.edge_inputs, self.network.edge_inputs, strict=True):
            if edge.start or edge.interval != 1:
                of_edge = np.isin(nodes, fifos)
                begin[of_edge], step[of_edge] = edge.start, edge.interval
        return begin, step

    def _cuts(self, nodes: Ints) -> tuple[Ints, list[Ints]]:
        """Cut every stream where an operation on it begins or ends.

        Return the kind of the stream of each FIFO, and the cuts of each kind.
        """
        wanted = np.zeros(self.size, dtype=bool)
        wanted[self.root[nodes]] = True
        streams = np.flatnonzero(wanted)
        number = np.zeros(self.size, dtype=np.int64)
        number[streams] = np.arange(streams.size)
        on_stream = wanted[self.root[self.queue_ports]]
        on_stream &= self.port[self.queue_ports, P_FILTER] < 0
        period = np.zeros(streams.size, dtype=np.int64)
        filtered = wanted[self.root[self.filters.router]]
        rows = number[self.root[self.filters.router[filtered]]]
        period[rows] = self.filters.table[self.filters.row[filtered], K_LIMIT]
        ports, slots = self.queue_ports[on_stream], self.port_slots[on_stream]
        used = np.zeros((streams.size, self.slot.shape[0]), dtype=bool)
        used[number[self.root[ports]], slots] = True
        cut = np.zeros(self.size, dtype=np.int64)
        kinds: dict[tuple[int, ...], int] = {}
        words = self.port[streams, P_WORDS]
        for members in _equal_rows(
            used, period, np.where(used.any(axis=1) & (period == 0), 0, words)
        ):
            first = members[0]
            bounds = set(self._bounds(int(streams[first]), used[first]))
            if period[first]:
                bounds.update(range(0, int(words[first]), int(period[first])))
            cut[streams[members]] = kinds.setdefault(tuple(sorted(bounds)), len(kinds))
        return cut, [np.array(bounds, dtype=np.int64) for bounds in kinds]

    def _bounds(self, stream: int, slots_used: Bools) -> tuple[int, ...]:
        """Return the word numbers at which a stream is cut, from 0 to its end, ascending.

        It is cut where a run of an operation begins. slots_used: queue slots that it passes;
        without any it goes from edge to edge and is one message.
        """
        if not slots_used.any():
            return 0, int(self.port[stream, P_WORDS])
        bounds: set[int] = set()
        for row in self.slot[slots_used]:
            first = row[SLOT_FIRST]
            bounds.update(self.passing[first : first + row[SLOT_COUNT], 1].tolist())
            bounds.add(int(row[SLOT_WORDS]))
        return tuple(sorted(bounds))

    # -- starts ----------------------------------------------------------------------------

    def _ops(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        terms = np.array([table.term.shape[0] for table in self.tables], dtype=np.int64)
        followers = np.array([table.follower.size for table in self.tables], dtype=np.int64)
        start = np.concatenate([table.start for table in self.tables])
        start[:, 0] += np.repeat(np.cumsum(terms) - terms, self.ops)
        start[:, 2] += np.repeat(np.cumsum(followers) - followers, self.ops)
        spans, span_terms = self._spans()
        first = np.searchsorted(spans[:, 3], np.arange(start.shape[0]))
        last = np.searchsorted(spans[:, 3], np.arange(start.shape[0]), side="right")
        return (
            np.column_stack([start, first, last - first]),
            np.concatenate([table.term for table in self.tables]),
            np.concatenate([table.follower for table in self.tables]),
            np.ascontiguousarray(spans[:, :3]),
            span_terms,
        )

    def _spans(self) -> tuple[Ints, Ints]:
        """Return the tables `span` and `span_term` of all codes.

        The rows of `span` are in the order of their operations, whose numbers are in column 3.
        """
        spans, terms = [], []
        begin = 0
        for table, first_op in zip(self.tables, self.first_op.tolist(), strict=True):
            rows = table.span[np.argsort(table.span[:, 3], kind="stable")]
            spans.append(rows + np.array([begin, 0, 0, first_op]))
            terms.append(table.span_term)
            begin += len(table.span_term)
        return np.concatenate(spans), np.concatenate(terms)


def _numbered(counts: Ints) -> tuple[Ints, Ints]:
    """Return each number as often as its count, and the place within: (2, 3) -> 00111, 01012."""
    number = np.repeat(np.arange(counts.size), counts)
    return number, np.arange(number.size) - (np.cumsum(counts) - counts)[number]


def _equal_rows(marks: Bools, *columns: Ints) -> Iterator[Ints]:
    """Yield the numbers of equal rows together, ascending, by the first of each.

    marks: (rows, n); columns: (rows,) each.
    """
    joined = np.concatenate(
        [np.packbits(marks, axis=1), *(c[:, None].view(np.uint8) for c in columns)], axis=1
    )
    texts = np.ascontiguousarray(joined).view(np.dtype((np.void, joined.shape[1]))).ravel()
    _, firsts, kind = np.unique(texts, return_index=True, return_inverse=True)
    order = np.argsort(kind, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(kind, minlength=firsts.size))[:-1])
    yield from (groups[number] for number in np.argsort(firsts).tolist())
