"""A machine: a program compiled for a profile, run as often as wanted on fresh memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.deadlock import Final as FinalState
from tilewright.simulator.deadlock import find_waits
from tilewright.simulator.engine import layout as at
from tilewright.simulator.errors import DeadlockError, MachineError
from tilewright.simulator.memory import BufferMap, MemoryInput, stream_bits
from tilewright.simulator.network import EDGE_OUT, compile_network
from tilewright.simulator.profile import Profile
from tilewright.simulator.program import Program
from tilewright.simulator.resources import check_resources
from tilewright.simulator.results import Outcome, collect_result
from tilewright.simulator.state import (
    element_layout,
    fresh_elements,
    fresh_fabric,
    most_events,
    start_agents,
)
from tilewright.simulator.tables import compile_codes
from tilewright.simulator.trace import RunResult
from tilewright.simulator.validate import check_program

MAX_CYCLES: Final = 1_000_000_000
FIRST_EVENTS: Final = 4096


class Machine:
    """A program on the machine of a profile.

    Raises ProgramError when the program does not hold or does not fit.
    """

    def __init__(self, program: Program, profile: Profile) -> None:
        check_program(program)
        check_resources(program, profile)
        self.program = program
        self.profile = profile
        self._codes, self._layouts = compile_codes(program.codes, profile)
        self._network = compile_network(program, self._layouts, profile)
        self._layout = element_layout(program, self._layouts)
        self._buffers = BufferMap(program, self._layout.element[:, at.E_MEMORY].copy())

    def run(
        self,
        *,
        memory: Mapping[str, MemoryInput] | None = None,
        edges: Mapping[str, npt.ArrayLike] | None = None,
        timeline: bool = False,
        max_cycles: int = MAX_CYCLES,
        shuffle: int = 0,
    ) -> RunResult:
        """Run to the end from zeroed memory.

        memory: buffer name -> (H, W, *shape) or {(row, column): array}; edges: edge input name ->
        (positions, count). A shuffle seed above 0 permutes the order of visits within a cycle;
        nothing may depend on it. Raises MachineError and DeadlockError.
        """
        fabric = fresh_fabric(self._network, self.program.placement.size)
        margin = most_events(self._layout)
        events = FIRST_EVENTS + 2 * margin if timeline else 0
        elements = fresh_elements(self._layout, self._network, events)
        for name, values in (memory or {}).items():
            self._buffers.load(elements.word, name, values)
        self._fill_edges(fabric, dict(edges or {}))
        self._start(fabric, elements)
        fabric.status[at.S_LIMIT] = max_cycles
        fabric.status[at.S_SHUFFLE] = shuffle
        fabric.status[at.S_RECORD] = int(timeline)
        fabric.status[at.S_MARGIN] = margin
        elements = self._loop(fabric, elements)
        self._check_end(fabric, elements)
        outcome = Outcome(self.program, self._layouts, self._network, fabric, elements)
        return collect_result(outcome, self._buffers)

    def _fill_edges(self, fabric: at.Fabric, edges: dict[str, npt.ArrayLike]) -> None:
        for port, fifos in zip(self.program.edge_inputs, self._network.edge_inputs, strict=True):
            if port.name not in edges:
                raise MachineError("an edge input has no data", value=port.name)
            shape = (port.positions, port.count)
            bits = stream_bits(edges.pop(port.name), port.dtype, shape, port.name)
            at_ring = fabric.fifo[fifos, at.F_RING][:, None] + np.arange(port.count)
            fabric.ring[at_ring, 0] = port.start + port.interval * np.arange(port.count)
            fabric.ring[at_ring, 1] = bits
            fabric.fifo[fifos, at.F_COUNT] = port.count
        if edges:
            known = ", ".join(port.name for port in self.program.edge_inputs)
            raise MachineError(
                "data for an unknown edge input", value=min(edges), instead=f"one of {known}"
            )

    def _start(self, fabric: at.Fabric, elements: at.Elements) -> None:
        """Schedule the edge inputs and every element with an active task."""
        entry = np.flatnonzero(elements.element[:, at.E_ACTIVE]).astype(np.int64)
        agents = [entry + fabric.fifo.shape[0]]
        cycles = [np.zeros_like(entry)]
        for port, fifos in zip(self.program.edge_inputs, self._network.edge_inputs, strict=True):
            agents.append(fifos)
            cycles.append(np.full_like(fifos, port.start))
        start_agents(fabric, np.concatenate(agents), np.concatenate(cycles))

    def _loop(self, fabric: at.Fabric, elements: at.Elements) -> at.Elements:
        """Run the kernel; give it a longer timeline whenever that is full."""
        from tilewright.simulator.engine.kernel import run

        batch = np.zeros(fabric.agent.shape[0], dtype=np.int64)
        with np.errstate(all="ignore"):
            run(fabric, self._codes, elements, batch)
            while fabric.status[at.S_ERROR] == at.EVENTS_FULL:
                fabric.status[at.S_ERROR] = at.OK
                longer = np.zeros_like(elements.event)
                elements = elements._replace(event=np.concatenate([elements.event, longer]))
                run(fabric, self._codes, elements, batch)
        return elements

    def _check_end(self, fabric: at.Fabric, elements: at.Elements) -> None:
        final = FinalState(
            self.program, self._layouts, self._network, fabric.fifo, elements, self._codes
        )
        cycle = int(fabric.status[at.S_CYCLE])
        if fabric.status[at.S_ERROR] != at.OK:
            raise _error(final, fabric.status)
        if self._is_complete(fabric, elements):
            return
        waits = find_waits(final)
        raise DeadlockError(
            f"deadlock: nothing moves from cycle {cycle} on in program {self.program.name}",
            cycle=cycle,
            waits=waits,
        )

    def _is_complete(self, fabric: at.Fabric, elements: at.Elements) -> bool:
        sinks = self._network.kind == EDGE_OUT
        counts = fabric.fifo[:, at.F_COUNT]
        return bool(
            not elements.element[:, [at.E_RUNNING, at.E_ACTIVE]].any()
            and (elements.element[:, at.E_STATE] == at.M_IDLE).all()
            and not counts[~sinks].any()
            and (counts[sinks] == fabric.fifo[sinks, at.F_CAP]).all()
        )


def _error(final: FinalState, status: at.Table) -> MachineError:
    """Name the operation, element and cycle of a run-time error."""
    cycle = int(status[at.S_CYCLE])
    error, element = int(status[at.S_ERROR]), int(status[at.S_ERROR_ELEMENT])
    row, value = int(status[at.S_ERROR_ROW]), int(status[at.S_ERROR_VALUE])
    if error == at.ERROR_LIMIT:
        return MachineError("the run takes more cycles than allowed", value=cycle)
    if error == at.ERROR_TWO_ARRIVALS:
        where = final.name(int(final.network.element[row]))
        color = next(
            c.name for c in final.program.colors if c.id == int(final.fifo[row, at.F_COLOR])
        )
        return MachineError(
            f"cycle {cycle}, {where}: two wavelets of color {color} arrive in the same cycle from "
            "two rx ports of its router",
            instead="one rx port at a time, or two colors",
        )
    if error == at.ERROR_BOUNDS:
        return _bounds_error(final, element, row, cycle)
    where = f"cycle {cycle}, {final.name(element)}, {final.operation(element, row)}"
    if error == at.ERROR_QUEUE_BUSY:
        slot = (value & -value).bit_length() - 1
        kind = "input" if slot < at.OUTPUT_SLOT else "output"
        return MachineError(
            f"{where}: {kind} queue {slot % at.OUTPUT_SLOT} is in use by another operation"
        )
    return MachineError(
        f"{where}: its microthread is in use by {final.operation(element, value)}"
    )


def _bounds_error(final: FinalState, element: int, row: int, cycle: int) -> MachineError:
    layout = final.layout(element)
    columns = slice(at.O_OPERANDS, at.O_SCALAR_ROW + 1)
    operation = next(
        i
        for i in range(len(layout.operations))
        if row in final.codes.operation[layout.first_operation + i, columns]
    )
    first, last = final.codes.operand[row, at.D_FIRST], final.codes.operand[row, at.D_LAST]
    buffer = next(
        b.name
        for b in layout.code.buffers
        if b.address == first and b.address + b.words > last >= b.address
    )
    where = final.operation(element, layout.first_operation + operation)
    counters = final.elements.element[element, at.E_VARIABLES]
    names = layout.variables
    values = ", ".join(
        f"{name} = {int(final.elements.variable[counters + i])}" for i, name in enumerate(names)
    )
    return MachineError(
        f"cycle {cycle}, {final.name(element)}, {where}: an operand leaves buffer {buffer}",
        value=values,
    )
