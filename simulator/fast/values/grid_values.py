"""Values and counts of a program on a large grid without its queues, routers and times.

For programs whose cycles are known by their pattern (engines.md §11): what the fast engine covers
on the small grid, it covers here, so values do not depend on times (engines.md §8). Each element
runs once, when all words that it takes have been sent, in the memory of one element.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.buffer_memory import NUMPY, stream_bits, stream_values
from tilewright.simulator.compile.code.code_tables import block_of
from tilewright.simulator.compile.table_blocks import CodeBlock, CompileTarget
from tilewright.simulator.fast.fast_entries import run_grid
from tilewright.simulator.fast.no_certificate import Ints, NotCovered
from tilewright.simulator.fast.units.stream_roots import ColorStreams, streams_of
from tilewright.simulator.fast.values.element_lines import ElementLines, lines_of
from tilewright.simulator.fast.values.grid_tables import C_WIDTH, K_WIDTH, L_WIDTH, GridRun
from tilewright.simulator.fast.values.line_rows import (
    A_SCALAR,
    M_BODY,
    N_ARITHMETIC,
    N_PATH,
    N_TYPE,
)
from tilewright.simulator.isa.dsd import Buffer
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.profiles.profile import Profile, profile_number
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import PORTS, RAMP, CounterFilter, EdgeInput, EdgeOutput
from tilewright.simulator.run.action_sums import ActionSums
from tilewright.simulator.run.gathered_tiles import GatheredTiles
from tilewright.simulator.run.trace import Counts

Values = npt.NDArray[np.generic]
SLOTS = 8


@dataclass(frozen=True, slots=True)
class GridValues:
    """What a run of all elements computed: buffers that were asked for, words over the border.

    `memory`: (rows, columns, *shape of the buffer) by buffer; `edges`: (positions, words) by edge
    output; `counts`: actions of all elements, as `Machine.run` counts them.
    """

    memory: Mapping[str, Values]
    edges: Mapping[str, Values]
    counts: Counts


def grid_values(
    program: Program,
    profile: Profile,
    memory: Mapping[str, GatheredTiles],
    edges: Mapping[str, Values],
    keep: Collection[str],
) -> GridValues:
    """Compute the values of a program whose times have a proof, and count its actions.

    memory: by buffer, the data of all elements; edges: by edge input, (positions, words) that
    enter; keep: names of the buffers to return. Raises NotCovered for what only the engines do:
    data that decide what is done, changing routes, elements that wait for each other in turns, and
    scalar instructions that are undefined, which are errors of a run.
    """
    colors = {color.name: color.id for color in program.colors}
    target = CompileTarget(profile, profile_number(profile), tuple(colors.items()))
    blocks = [block_of(code, target) for code in program.codes]
    codes = [_Code(block, lines_of(block)) for block in blocks]
    filters: dict[CounterFilter, int] = {}
    streams = streams_of(program, filters)
    wiring = _Wiring(program, codes, streams, list(filters))
    data = wiring.data(edges)
    tables = _MemoryTables(program, memory, keep)
    run = GridRun(
        *_Joined.of([code.lines for code in codes]),
        code=_code_rows(codes),
        placement=program.placement.ravel().astype(np.int64),
        source=wiring.source,
        counter=wiring.counter,
        target=wiring.target,
        filter=_filter_rows(filters),
        missing=wiring.missing,
        reader=wiring.reader,
        after=wiring.after,
        data=data,
        memory=np.zeros(max(code.words for code in program.codes) // 2 + 1, dtype=np.uint32),
        load=tables.load,
        base=tables.base,
        from_word=tables.from_word,
        to_word=tables.to_word,
        source_words=tables.source_words,
        tiles=tables.tiles,
        keep=tables.keep,
        kept=tables.kept,
        variables=np.zeros(max(code.lines.counters for code in codes), dtype=np.int64),
        stack=np.zeros(program.placement.size + 1, dtype=np.int64),
    )
    with np.errstate(all="ignore"):
        if run_grid(run) != program.placement.size:
            raise NotCovered("elements wait for each other in turns, or a scalar is undefined")
    return GridValues(tables.kept_values(), wiring.edge_values(data), wiring.counts(codes))


class _Code(NamedTuple):
    block: CodeBlock
    lines: ElementLines


class _Joined(NamedTuple):
    """The operations of all codes as one table, and the tables that they name."""

    op: Ints
    maps: Ints
    scalars: Ints
    paths: Ints

    @staticmethod
    def of(codes: list[ElementLines]) -> _Joined:
        """Join the tables of codes; what their rows name lies behind what codes before have."""
        parts = []
        maps = scalars = paths = 0
        for code in codes:
            op, of_maps = code.rows.copy(), code.maps.copy()
            arithmetic, path = op[:, N_ARITHMETIC], op[:, N_PATH : N_PATH + 3]
            op[arithmetic == A_SCALAR, N_TYPE] += scalars
            op[(arithmetic < 0) & (arithmetic != A_SCALAR), N_TYPE] += maps
            path[path >= 0] += paths
            of_maps[:, M_BODY] += scalars
            parts.append(_Joined(op, of_maps, code.scalars, code.paths))
            maps, scalars = maps + len(of_maps), scalars + len(code.scalars)
            paths += code.paths.size
        return _Joined(
            np.concatenate([part.op for part in parts]),
            np.concatenate([part.maps for part in parts]),
            np.concatenate([part.scalars for part in parts]),
            np.concatenate([part.paths for part in parts]),
        )


def _code_rows(codes: list[_Code]) -> Ints:
    counts = np.array([len(code.lines.rows) for code in codes], dtype=np.int64)
    rows = np.stack([np.cumsum(counts) - counts, counts], axis=1)
    return np.ascontiguousarray(rows.reshape(-1, C_WIDTH))


def _filter_rows(filters: Iterable[CounterFilter]) -> Ints:
    rows = [(counter.limit, counter.most, counter.start) for counter in filters]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


class _Wiring:
    """Which words each queue gets, and who waits for whom."""

    def __init__(
        self,
        program: Program,
        codes: list[_Code],
        streams: Mapping[str, ColorStreams],
        filters: list[CounterFilter],
    ) -> None:
        self.program, self.streams, self.filters = program, streams, filters
        size = program.placement.size
        self.source = np.full((size, SLOTS), -1, dtype=np.int64)
        self.counter = np.full((size, SLOTS), -1, dtype=np.int64)
        self.target = np.full((size, SLOTS), -1, dtype=np.int64)
        self.missing = np.zeros(size, dtype=np.int64)
        self.reader = np.full(size, -1, dtype=np.int64)
        self.after = np.full(size * SLOTS, -1, dtype=np.int64)
        self.words = {name: np.zeros(size, dtype=np.int64) for name in streams}
        """Words of each stream, by color and by the element at its root."""
        self.first = dict(self.words)
        """The first of them in the data."""
        self.in_words = self.out_words = self.hops = 0
        self.total = 0
        self._places = np.arange(size).reshape(program.placement.shape)
        self._senders(codes)
        self._entering()
        for name, words in self.words.items():
            self.first[name] = self.total + np.cumsum(words) - words
            self.total += int(words.sum())
        self._takers(codes)
        self._count_links()

    def _senders(self, codes: list[_Code]) -> None:
        for number, code in enumerate(codes):
            elements = np.flatnonzero(self.program.placement.ravel() == number)
            for queue in code.block.layout.code.output_queues:
                words = code.lines.walk.words[at.OUTPUT_SLOT + queue.id]
                streams = self.streams[queue.color]
                is_root = streams.root[elements] == elements
                if words and not (is_root & (streams.side[elements] == RAMP)).all():
                    raise NotCovered("a queue sends where no route begins")
                self.words[queue.color][elements] += words
                self.out_words += words * elements.size

    def _border(self, port: EdgeInput | EdgeOutput) -> Ints:
        places = self._places
        sides = {"N": places[0], "S": places[-1], "W": places[:, 0], "E": places[:, -1]}
        along = sides[port.side]
        return np.asarray(along[port.first : port.first + port.positions])

    def _entering(self) -> None:
        for port in self.program.edge_inputs:
            places, streams = self._border(port), self.streams[port.color]
            if port.control or (streams.side[places] != PORTS.index(port.side)).any():
                raise NotCovered("words enter where no route begins")
            self.words[port.color][places] += port.count

    def _takers(self, codes: list[_Code]) -> None:
        for number, code in enumerate(codes):
            elements = np.flatnonzero(self.program.placement.ravel() == number)
            for queue in code.block.layout.code.input_queues:
                taken = code.lines.walk.words[queue.id]
                if taken:
                    self._take(elements, queue.id, queue.color, taken)
            for queue in code.block.layout.code.output_queues:
                self.target[elements, queue.id] = self.first[queue.color][elements]

    def _take(self, elements: Ints, slot: int, color: str, taken: int) -> None:
        """Connect the queue of some elements with the streams that it gets.

        Raises NotCovered if numbers of words sent and taken differ.
        """
        streams = self.streams[color]
        root = streams.root[elements]
        counter = streams.filters[elements]
        passed = self._passed(self.words[color][root], counter)
        if (root < 0).any() or (streams.ramp[elements] == 0).any() or (passed != taken).any():
            raise NotCovered("words sent and words taken differ")
        self.source[elements, slot] = self.first[color][root]
        self.counter[elements, slot] = counter
        self.in_words += taken * elements.size
        waits = streams.side[root] == RAMP
        readers, roots = elements[waits], root[waits]
        if readers.size:
            self._wait(readers * SLOTS + slot, roots)

    def _wait(self, readers: Ints, roots: Ints) -> None:
        """Note that queues `readers` need words that elements `roots` have to compute first.

        readers: element * 8 + slot.
        """
        self.missing[readers // SLOTS] += 1
        # lists of those who wait for the same element, the last one first
        order = np.argsort(roots, kind="stable")
        readers, roots = readers[order], roots[order]
        begins = np.flatnonzero(np.diff(roots, prepend=-1))
        self.after[readers[1:]] = readers[:-1]
        self.after[readers[begins]] = self.reader[roots[begins]]
        ends = np.append(begins[1:], roots.size) - 1
        self.reader[roots[ends]] = readers[ends]

    def _passed(self, words: Ints, counter: Ints) -> Ints:
        """Return how many of the first `words` words of streams pass a filter.

        counter: number of the filter of each stream, -1 for none.
        """
        if (counter < 0).all():
            return words
        limit, most, start = _filter_rows(self.filters)[counter].T
        place = start + words
        kept = place // limit * most + np.minimum(place % limit, most) - np.minimum(start, most)
        return np.where(counter < 0, words, kept)

    def _count_links(self) -> None:
        for name, streams in self.streams.items():
            there = streams.root >= 0
            words = self.words[name][streams.root[there]]
            self.hops += int((words * streams.links[there]).sum())

    def data(self, edges: Mapping[str, Values]) -> at.Memory:
        """Return the array of all streams' words, with those that enter at the border filled in."""
        data = np.zeros(self.total, dtype=np.uint32)
        for port in self.program.edge_inputs:
            first = self.first[port.color][self._border(port)]
            bits = stream_bits(port, edges[port.name])
            data[first[:, None] + np.arange(port.count)] = bits
        return data

    def edge_values(self, data: at.Memory) -> dict[str, Values]:
        """Return the values that left, by port; data: the words of all streams.

        Raises NotCovered if words sent and words that leave differ in number.
        """
        values = {}
        for port in self.program.edge_outputs:
            root = self.streams[port.color].root[self._border(port)]
            if (self.words[port.color][root] != port.count).any():
                raise NotCovered("words sent and words taken differ")
            places = self.first[port.color][root][:, None] + np.arange(port.count)
            values[port.name] = stream_values(data[places].astype(np.int64), port.dtype)
        return values

    def counts(self, codes: list[_Code]) -> Counts:
        """Return the counts of a run."""
        sums = ActionSums()
        for number, code in enumerate(codes):
            elements = int((self.program.placement == number).sum())
            operations = code.block.layout.operations
            for (_, resolved), runs in zip(operations, code.lines.walk.runs, strict=True):
                sums.add(resolved, runs * elements)
            for touched, is_read in ((code.lines.reads, True), (code.lines.writes, False)):
                for name, values in touched.items():
                    buffer = code.block.layout.code.buffer(name)
                    assert buffer is not None
                    times = values * elements
                    sums.touch(buffer, times if is_read else 0, 0 if is_read else times)
        entering = sum(port.positions * port.count for port in self.program.edge_inputs)
        leaving = sum(port.positions * port.count for port in self.program.edge_outputs)
        words = self.hops - leaving, self.in_words, self.out_words
        return sums.counts(words, entering, leaving)


class _MemoryTables:
    """The tables for the start values of buffers and for the buffers that are returned."""

    def __init__(
        self, program: Program, memory: Mapping[str, GatheredTiles], keep: Collection[str]
    ) -> None:
        self.shape = program.placement.shape
        size = program.placement.size
        buffers = {name: _only_buffer(program, name) for name in (*memory, *keep)}
        largest = max(memory, key=lambda name: memory[name].source.size, default="")
        load, tiles, at_tile = [], [np.zeros(0, dtype=np.uint16)], 0
        self.base = np.full((len(memory), size), -1, dtype=np.int64)
        self.from_word = self.to_word = np.zeros(0, dtype=np.int64)
        self.source_words = np.zeros(0, dtype=np.uint32)
        for n, (name, data) in enumerate(memory.items()):
            words, place = DTYPES[buffers[name].dtype], buffers[name].address
            count = words * data.places.size
            if name == largest:
                self.source_words = _words(data.source)
                self._gather(data, words)
                others = data.others
                row = (place, 0, count, -1)
            else:
                others = data.values()
                row = (place, 0, count, at_tile)
            self.base[n] = np.where(data.first >= 0, words * data.first, -1)
            left = np.flatnonzero(data.first < 0)
            self.base[n, left] = -1 - (at_tile + count * np.arange(left.size))
            load.append(row)
            tiles.append(np.ascontiguousarray(others).view(np.uint16).ravel())
            at_tile += tiles[-1].size
        self.load = np.array(load, dtype=np.int64).reshape(-1, L_WIDTH)
        self.tiles = _words(np.concatenate(tiles))
        self._kept_buffers = {name: buffers[name] for name in keep}
        counts = np.array([b.words for b in self._kept_buffers.values()], dtype=np.int64)
        firsts = size * (np.cumsum(counts) - counts)
        places = [b.address for b in self._kept_buffers.values()]
        self.keep = np.array([places, counts, firsts], dtype=np.int64).T.reshape(-1, K_WIDTH)
        self.keep = np.ascontiguousarray(self.keep)
        self.kept = np.zeros(int(size * counts.sum()) // 2 + 1, dtype=np.uint32)

    def _gather(self, data: GatheredTiles, words: int) -> None:
        order = np.argsort(data.places, kind="stable")  # in the order of the source: fewer misses
        halves = np.arange(words)
        self.from_word = (words * data.places[order, None] + halves).ravel()
        self.to_word = (words * order[:, None] + halves).ravel()

    def kept_values(self) -> dict[str, Values]:
        """Return the values of the buffers that are kept: (rows, columns, *shape) by name."""
        values = {}
        for (_, count, first), (name, buffer) in zip(
            self.keep.tolist(), self._kept_buffers.items(), strict=True
        ):
            size = self.shape[0] * self.shape[1]
            raw = self.kept.view(np.uint16)[first : first + size * count]
            values[name] = raw.view(NUMPY[buffer.dtype]).reshape(*self.shape, *buffer.shape)
        return values


def _only_buffer(program: Program, name: str) -> Buffer:
    """Return the buffer of a name, which must be the same in all codes.

    Raises NotCovered if it is not.
    """
    buffers = {code.buffer(name) for code in program.codes}
    buffer = buffers.pop()
    if buffers or buffer is None:
        raise NotCovered("codes have different buffers of one name")
    return buffer


def _words(values: Values) -> at.Memory:
    """Return values as 32-bit words, 16 more bits behind them if their number is odd."""
    halves = np.ascontiguousarray(values).view(np.uint16).ravel()
    if halves.size % 2:
        halves = np.append(halves, np.uint16(0))
    return halves.view(np.uint32)
