"""The slow, obvious twin of the machine: a program as a Kahn network, without any clock.

Queues are unbounded, threads run until they wait for a wavelet. For a program whose result does
not depend on time (what goes next is never decided by a race), final memories, edge streams and
action counts are those of every correct engine.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tilewright.simulator.instructions.control_flow import Add, If, Loop, Set
from tilewright.simulator.instructions.task_states import Activate, Block, Unblock
from tilewright.simulator.isa.dsd import Element, Fabin, Fabout, Immediate, Mem1d, Operand, Ref
from tilewright.simulator.isa.index_expression import Index
from tilewright.simulator.program.instruction import DsdOperation, Instruction
from tilewright.simulator.program.program import ElementCode, Program
from tilewright.simulator.program.routes import OPPOSITE, PORTS, STEP

TYPES = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i16": np.int16}
ARITHMETIC = {
    "fmovs": lambda a: a,
    "fadds": lambda a, b: np.float32(a + b),
    "fmuls": lambda a, b: np.float32(a * b),
    # A product of two float32 is exact in float64; the sum is rounded there first, which differs
    # from one rounding only in ties too rare for these tests.
    "fmacs": lambda a, b, c: np.float32(np.float64(a) + np.float64(b) * np.float64(c)),
}
KIND = {"fmovs": "moves", "fadds": "adds", "fmuls": "multiplies", "fmacs": "macs"}


@dataclass
class Cell:
    """One element: memory, counters, queues and tasks."""

    code: ElementCode
    memory: dict[str, np.ndarray]
    counters: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    arrived: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))
    active: set[str] = field(default_factory=set)
    blocked: set[str] = field(default_factory=set)
    threads: list[Iterator[None]] = field(default_factory=list)
    main: Iterator[None] | None = None


class Untimed:
    """Run a program; afterwards `memory(name)`, `edges` and `counts` hold the outcome."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.counts: Counter[str] = Counter()
        self.reads: Counter[str] = Counter()
        self.writes: Counter[str] = Counter()
        self.edges: dict[str, dict[int, list[float]]] = {p.name: {} for p in program.edge_outputs}
        self.routes = {
            (route.color, row, column): route
            for route in program.routes
            for row in route.area.rows
            for column in route.area.columns
        }
        self.cells = {
            (row, column): self._cell(program.codes[int(number)])
            for (row, column), number in np.ndenumerate(program.placement)
        }

    def _cell(self, code: ElementCode) -> Cell:
        memory = {b.name: np.zeros(b.elements, dtype=TYPES[b.dtype]) for b in code.buffers}
        cell = Cell(code, memory)
        cell.active = {task.name for task in code.tasks if task.entry}
        cell.blocked = {task.name for task in code.tasks if task.blocked}
        return cell

    def run(self, memory: dict[str, np.ndarray], edges: dict[str, np.ndarray]) -> Untimed:
        for name, values in memory.items():
            for place, cell in self.cells.items():
                if name in cell.memory:
                    cell.memory[name][:] = values[place].reshape(-1)
        for port in self.program.edge_inputs:
            for at, stream in enumerate(edges[port.name]):
                place = self._border(port.side, port.first + at)
                for value in stream:
                    self.counts["edge_in_words"] += 1
                    self._travel(port.color, place, PORTS.index(port.side), value)
        while any(self._advance(cell, place) for place, cell in self.cells.items()):
            pass
        waiting = [place for place, cell in self.cells.items() if cell.main or cell.threads]
        assert not waiting, f"these elements wait for ever: {waiting}"
        return self

    def memory(self, name: str) -> np.ndarray:
        rows, columns = self.program.placement.shape
        first = next(c for c in self.cells.values() if name in c.memory)
        result = np.zeros((rows, columns, *first.memory[name].shape), first.memory[name].dtype)
        for place, cell in self.cells.items():
            if name in cell.memory:
                result[place] = cell.memory[name]
        return result

    def edge(self, name: str) -> np.ndarray:
        lines = self.edges[name]
        return np.array([lines[position] for position in sorted(lines)])

    # -- fabric ------------------------------------------------------------------------------

    def _border(self, side: str, position: int) -> tuple[int, int]:
        rows, columns = self.program.placement.shape
        return {
            "N": (0, position),
            "S": (rows - 1, position),
            "W": (position, 0),
            "E": (position, columns - 1),
        }[side]

    def _travel(self, color: str, place: tuple[int, int], came: int, value: float) -> None:
        route = self.routes[color, *place]
        assert PORTS[came] in route.rx, (color, place, PORTS[came])
        for letter in route.tx:
            port = PORTS.index(letter)
            if letter == "R":
                self.counts["ramp_in_words"] += 1
                self.cells[place].arrived[color].append(value)
                continue
            target = (place[0] + STEP[port][0], place[1] + STEP[port][1])
            if target in self.cells:
                self.counts["wavelet_hops"] += 1
                self._travel(color, target, OPPOSITE[port], value)
            else:
                self._leave(color, letter, place, value)

    def _leave(self, color: str, side: str, place: tuple[int, int], value: float) -> None:
        position = place[1] if side in "NS" else place[0]
        for port in self.program.edge_outputs:
            inside = port.first <= position < port.first + port.positions
            if port.color == color and port.side == side and inside:
                self.counts["edge_out_words"] += 1
                self.edges[port.name].setdefault(position, []).append(value)
                return
        raise AssertionError(f"{color} leaves {place} by {side} where no port waits")

    # -- elements ----------------------------------------------------------------------------

    def _advance(self, cell: Cell, place: tuple[int, int]) -> bool:
        """Run every thread until it waits; tell whether anything happened."""
        moved = False
        for thread in list(cell.threads):
            steps = self._drain(thread)
            moved |= steps.progressed
            if steps.ended:
                cell.threads.remove(thread)
        if cell.main is None:
            ready = [t for t in cell.code.tasks if t.name in cell.active - cell.blocked]
            if ready:
                cell.active.discard(ready[0].name)
                cell.main = self._body(cell, place, ready[0].body)
                moved = True
        if cell.main is not None:
            steps = self._drain(cell.main)
            moved |= steps.progressed
            if steps.ended:
                cell.main = None
        return moved

    @dataclass
    class Steps:
        progressed: bool
        ended: bool

    def _drain(self, thread: Iterator[bool]) -> Untimed.Steps:
        """Step until the thread says that it waits (False) or ends."""
        progressed = False
        for went in thread:
            if not went:
                return Untimed.Steps(progressed, False)
            progressed = True
        return Untimed.Steps(True, True)

    def _body(
        self, cell: Cell, place: tuple[int, int], body: tuple[Instruction, ...]
    ) -> Iterator[bool]:
        for step in body:
            match step:
                case Loop(name, count, inner):
                    for value in range(count):
                        cell.counters[name] = value
                        yield from self._body(cell, place, inner)
                case Set(name, value):
                    cell.counters[name] = value
                case Add(name, value):
                    cell.counters[name] += value
                case If(name, limit, then, otherwise):
                    branch = then if cell.counters[name] < limit else otherwise
                    yield from self._body(cell, place, branch)
                case Activate(task):
                    cell.active.add(task)
                case Block(task):
                    cell.blocked.add(task)
                case Unblock(task):
                    cell.blocked.discard(task)
                case DsdOperation():
                    run = self._operation(cell, place, step, dict(cell.counters))
                    if step.asynchronous:
                        cell.threads.append(run)
                    else:
                        yield from run

    def _operation(
        self, cell: Cell, place: tuple[int, int], step: DsdOperation, at: dict[str, int]
    ) -> Iterator[bool]:
        self.counts[KIND[step.operation]] += self._extent(cell, step)
        scalars = {}
        for number, source in enumerate(step.sources):
            if isinstance(source, Element):
                self.reads[source.buffer] += 1
                scalars[number] = cell.memory[source.buffer][value_of(source.index, at)]
            elif isinstance(source, Immediate):
                scalars[number] = np.float32(source.value)
        for i in range(self._extent(cell, step)):
            values = []
            for number, source in enumerate(step.sources):
                if number in scalars:
                    values.append(scalars[number])
                    continue
                dsd = cell.code.dsd(source.dsd)
                if isinstance(dsd, Fabin):
                    color = next(q.color for q in cell.code.input_queues if q.id == dsd.queue)
                    while not cell.arrived[color]:
                        yield False
                    values.append(cell.arrived[color].popleft())
                else:
                    self.reads[dsd.buffer] += 1
                    values.append(cell.memory[dsd.buffer][element_of(dsd, source, at, i)])
            self._write(cell, place, step.dest, ARITHMETIC[step.operation](*values), (at, i))
            yield True
        if step.activate:
            cell.active.add(step.activate)
        if step.unblock:
            cell.blocked.discard(step.unblock)

    def _write(
        self,
        cell: Cell,
        place: tuple[int, int],
        dest: Operand,
        value: float,
        when: tuple[dict, int],
    ) -> None:
        assert isinstance(dest, Ref)
        dsd = cell.code.dsd(dest.dsd)
        if isinstance(dsd, Fabout):
            color = next(q.color for q in cell.code.output_queues if q.id == dsd.queue)
            self.counts["ramp_out_words"] += 1
            self._travel(color, place, PORTS.index("R"), value)
            return
        self.writes[dsd.buffer] += 1
        cell.memory[dsd.buffer][element_of(dsd, dest, *when)] = value

    def _extent(self, cell: Cell, step: DsdOperation) -> int:
        operands = (step.dest, *step.sources)
        return next(cell.code.dsd(o.dsd).extent for o in operands if isinstance(o, Ref))


def value_of(index: Index, at: dict[str, int]) -> int:
    return index.constant + sum(factor * at.get(name, 0) for name, factor in index.terms)


def element_of(dsd: Mem1d, operand: Ref, at: dict[str, int], i: int) -> int:
    position = dsd.offset + dsd.stride * i + value_of(operand.offset, at)
    assert position >= 0
    return position
