"""Run some columns of a grid alone, without values, and look at them on the way.

Words of passing streams leave a narrow grid in the east, by ports that always have space. When they
left is in the ports' queues, which nobody empties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.compiled_program import CompiledProgram
from tilewright.simulator.compile.fabric.exit_times import arrivals_at, last_arrivals
from tilewright.simulator.compile.fabric.network import EDGE_OUT, ROUTER
from tilewright.simulator.engine.features import compile_needed
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.subset import unknown_parts
from tilewright.simulator.fast.walk.scripts import PlacedCode, script_of
from tilewright.simulator.fast.walk.walker import MOST_INSTRUCTIONS
from tilewright.simulator.instructions.control_flow import Add, If, Loop, Set
from tilewright.simulator.isa.index_expression import Index
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.code_parts import all_instructions
from tilewright.simulator.program.program import ElementCode
from tilewright.simulator.program.routes import EdgeInput
from tilewright.simulator.quotient.line_blocks import Ints
from tilewright.simulator.quotient.passing_streams import PassingStream, PassingStreams
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.run_data import load_data, no_values, schedule_start, step_to_end

_DEPENDS: Final = IdentityCache(256)
NONE: Final = np.zeros(0, dtype=np.int64)
PLAIN: Final = ElementCode("plain")
"""A code with the usual priorities."""


def may_depend_on_data(code: ElementCode) -> bool:
    """Return whether a counter that gets values of data may decide a branch or a place.

    Loops, `set` and `add` give counters numbers of the program; all else may give them data. A walk
    of the code knows better: what a counter of data holds may be set before it decides.
    """
    by_data, decides = set[str](), set(_counters_of(code.dsds))
    for _, instruction in all_instructions(code):
        if isinstance(instruction, Loop | If):
            decides.add(instruction.variable)
        if not isinstance(instruction, Loop | Set | Add):
            by_data.update(instruction.counters_set)
        decides.update(_counters_of(instruction))
    return not by_data.isdisjoint(decides)


def _counters_of(part: object) -> Iterator[str]:
    """Yield the counters of all index expressions in a record, or in records of a tuple."""
    if isinstance(part, Index):
        yield from (name for name, _ in part.terms)
    elif isinstance(part, tuple):
        for inner in part:
            yield from _counters_of(inner)
    elif is_dataclass(part):
        for inner_field in fields(part):
            yield from _counters_of(getattr(part, inner_field.name))


def check_values_decide_nothing(compiled: CompiledProgram) -> None:
    """Check that no element's work depends on the values of words.

    Routes are then those of the program for the whole run. Raises NotCovered, with the reason.
    """
    program = compiled.program
    codes = tuple(replace(code, main_priority=PLAIN.main_priority) for code in program.codes)
    for missing in unknown_parts(replace(program, codes=codes), compiled.network):
        raise missing
    for number in np.unique(program.placement).tolist():
        code = program.codes[number]
        if _DEPENDS.of(code, "data", partial(may_depend_on_data, code)):
            script_of(PlacedCode.alone(compiled.tables.blocks[number]), MOST_INSTRUCTIONS)


def start_without_values(compiled: CompiledProgram) -> tuple[at.Table, at.Memory]:
    """Return the engine's table and the SRAM at the start of a run on zeros for its cycles only."""
    compile_needed(compiled.store, compiled.parts)
    # scalars decide nothing: `check_values_decide_nothing`
    data = no_values(compiled.program, at.NO_SCALARS)
    store, sram = load_data(compiled, compiled.store, data)
    schedule_start(compiled, store, NONE)
    return store, sram


def ends_well(compiled: CompiledProgram, store: at.Table, sinks: Ints) -> bool:
    """Return whether a run has nothing left to do, and some ports to the outside all their words.

    sinks: the FIFOs of these ports.
    """
    fifo, element = compiled.parts.fifo.view(store), compiled.parts.element.view(store)
    ended = store[at.S_ERROR] == at.OK and (element[:, at.E_STATE] == at.M_IDLE).all()
    ended &= not element[:, [at.E_ACTIVE, at.E_RUNNING]].any()
    ended &= not fifo[compiled.network.kind != EDGE_OUT, at.F_COUNT].any()
    return bool(ended and (fifo[sinks, at.F_COUNT] == fifo[sinks, at.F_CAP]).all())


class NarrowRun:
    """A run of some columns of a program alone, from cycle 0 on.

    Raises NotCovered, at once, for elements whose work depends on the words that they get.
    """

    def __init__(self, streams: PassingStreams, columns: Ints, profile: Profile) -> None:
        """Prepare the run of the columns `columns`, as of `PassingStreams.narrow`."""
        self.streams, self.hop_cycles = streams, profile.hop_cycles
        self.program = streams.narrow(columns)
        try:
            self.compiled = Machine(self.program, profile).compiled
        except ProgramError as error:
            raise NotCovered("some columns alone do not fit the machine") from error
        check_values_decide_nothing(self.compiled)
        self.store, self.sram = start_without_values(self.compiled)
        self._limit = int(self.store[at.S_LIMIT])

    def step_to(self, cycle: int) -> None:
        """Simulate up to the beginning of a cycle."""
        self._step(cycle - 1)

    def step_to_end(self) -> None:
        """Simulate to the end. Raises NotCovered if the columns alone do not end well."""
        self._step(self._limit)
        if not ends_well(self.compiled, self.store, self._sinks()):
            raise NotCovered("some columns alone do not end")

    def _step(self, last: int) -> None:
        store = self.store
        store[at.S_LIMIT] = last
        if store[at.S_ERROR] == at.ERROR_LIMIT:
            store[at.S_ERROR] = at.OK
        self.store = step_to_end(store, self.sram)

    def _exits(self, stream: PassingStream) -> Ints:
        """Return the FIFOs of the ports by which a stream leaves, in the order of its rows."""
        names = [port.name for port in self.program.edge_outputs]
        exits = self.streams.exits(stream)
        ports = [self.compiled.network.edge_outputs[names.index(p.name)] for p in exits]
        return np.concatenate([NONE, *ports])

    def _sinks(self) -> Ints:
        """Return the FIFOs of the program's own ports to the outside."""
        passed = [self._exits(stream) for stream in self.streams.streams]
        sinks = np.flatnonzero(self.compiled.network.kind == EDGE_OUT)
        return np.setdiff1d(sinks, np.concatenate([NONE, *passed]))

    def sent(self, stream: PassingStream) -> tuple[Ints, Ints]:
        """Return when words of a stream came to the next column's router, and how many in each row.

        (rows, words) and (rows,); cycles behind the words of a row mean nothing.
        """
        fifo = self.compiled.parts.fifo.view(self.store)[self._exits(stream)]
        words = np.asarray(fifo[:, at.F_COUNT], dtype=np.int64)
        most = np.minimum(np.arange(words.max(initial=0)), np.maximum(words - 1, 0)[:, None])
        ready = self.store[fifo[:, at.F_RING, None] + 2 * most]
        return np.asarray(ready - fifo[:, at.F_LATENCY, None]), words

    def passed(self, stream: PassingStream) -> Ints:
        """Return (rows, words): what `sent` does, at the end of a run.

        Raises NotCovered if the rows have different numbers of words.
        """
        cycles, words = self.sent(stream)
        if (words != cycles.shape[1]).any():
            raise NotCovered("the rows of a stream have different numbers of words")
        return cycles

    def rests(self, place: int) -> bool:
        """Return whether nothing can move in a column any more, but for words that pass.

        place: of the column in the narrow grid. Nothing of it is due: all that is left waits for
        words of passing streams.
        """
        parts, store = self.compiled.parts, self.store
        element = parts.element.view(store)[place :: self.program.width]
        fifo = parts.fifo.view(store)[self._rest_of(place)]
        when = np.concatenate([element[:, at.A_WHEN], fifo[:, at.A_WHEN]])
        return bool((when < store[at.S_CYCLE]).all())

    def waits_outside(self, place: int, since: int) -> bool:
        """Return whether a column waits for a word from the north or south that is not there yet.

        place: of the column in the narrow grid; since: the cycle from which on that counts. A word
        that enters in the cycle behind the one before it could not have come earlier.
        """
        ports = zip(self.program.edge_inputs, self.compiled.network.edge_inputs, strict=True)
        return any(
            self._waits_for(port, int(fifos[place - port.first]), since)
            for port, fifos in ports
            if port.side in "NS" and 0 <= place - port.first < port.positions
        )

    def _waits_for(self, port: EdgeInput, fifo: int, since: int) -> bool:
        """Return whether a word of a port's stream enters as it becomes ready, after a run."""
        if port.interval == 1:
            return False  # the words behind one that waits are ready
        ring = int(self.compiled.parts.fifo.view(self.store)[fifo, at.F_RING])
        entered = self.store[ring + 2 * np.arange(port.count)]
        ready = port.start + port.interval * np.arange(port.count)
        behind = np.diff(entered, prepend=-2) == 1
        behind[1:] &= entered[:-1] >= since
        return bool(((entered == ready) & ~behind)[entered >= since].any())

    def _rest_of(self, place: int) -> Ints:
        """Return the FIFOs of a column without the routers of passing streams, and what follows."""
        network, program = self.compiled.network, self.program
        names = {stream.color for stream in self.streams.streams}
        passing = np.array([c.id for c in program.colors if c.name in names], dtype=np.int64)
        routers = (network.kind == ROUTER) & np.isin(network.fifo[:, at.F_COLOR], passing)
        rest = (network.element % program.width == place) & ~routers & (network.kind != EDGE_OUT)
        return np.flatnonzero(rest)

    def ends(self) -> Ints:
        """Return (columns,) the last cycle of each: of its tasks, operations, and words outside.

        Raises NotCovered if an operation may end after its task.
        """
        parts, store, width = self.compiled.parts, self.store, self.program.width
        execute, complete = int(store[at.K_EXECUTE]), int(store[at.K_COMPLETION])
        if execute + 1 < max(1, complete):
            raise NotCovered("an operation may end after its task")
        element = parts.element.view(store)
        until = element[:, at.E_UNTIL]
        end = np.where(until > 0, until - store[at.K_END] + execute, 0)
        thread = parts.thread.view(store)
        due = thread[:, at.T_NEXT]
        beside = np.ones(due.size, dtype=bool)  # microthreads: without the first of each element
        beside[(element[:, at.E_THREADS] - parts.thread.start) // at.T_WIDTH] = False
        ended = np.where(beside & (due > 0), due - complete + max(1, complete), 0)
        of_element = np.repeat(np.arange(end.size), element[:, at.E_THREAD_COUNT])
        np.maximum.at(end, of_element, ended)
        place = self.compiled.network.element[self._sinks()].astype(np.int64)
        np.maximum.at(end, place, self._last_outside())
        return np.asarray(end.reshape(-1, width).max(axis=0))

    def _last_outside(self) -> Ints:
        """Return the cycle in which the last word came to each port to the outside, 0 without."""
        fifo = self.compiled.parts.fifo.view(self.store)
        return last_arrivals(self.store, fifo[self._sinks()])

    def slow_exits(self, place: int) -> Iterator[tuple[Ints, int]]:
        """Yield the arrivals (cycles) of words that leave a column by ports that are slow.

        place: of the column in the narrow grid. With them comes the interval of the port.
        """
        network, width = self.compiled.network, self.program.width
        fifo = self.compiled.parts.fifo.view(self.store)
        for fifos, interval in zip(network.edge_outputs, network.exit_intervals, strict=True):
            of_column = fifos[network.element[fifos] % width == place] if interval > 1 else NONE
            for row in fifo[of_column]:
                yield arrivals_at(self.store, row), interval

    @property
    def last_outside(self) -> int:
        """The cycle in which the last word came to the outside, 0 without one."""
        return int(self._last_outside().max(initial=0))
