"""The engine's store at the end of a run, read with the names of the program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.queue_slots import first_color
from tilewright.simulator.compile.compiled_program import CompiledProgram
from tilewright.simulator.compile.fabric.network import EDGE_OUT, FifoNetwork
from tilewright.simulator.compile.store_layout import StoreLayout
from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.instructions.scalar_operation import ScalarOperation
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.resolving import operation_name
from tilewright.simulator.program.program import Program


@dataclass(frozen=True, slots=True)
class FinalState:
    """The state of a run that has stopped, read with the names of the program.

    `compiled`: the program as the engine's tables; `store`: their contents at the end. Elements are
    numbers row * width + column; a FIFO (queue, router buffer or edge port) is a row of the
    network's table.
    """

    compiled: CompiledProgram
    store: at.Table

    @property
    def program(self) -> Program:
        """The program that ran."""
        return self.compiled.program

    @property
    def layouts(self) -> tuple[CodeLayout, ...]:
        """For each code (program of a class of elements), what the rows of its tables stand for.

        Example: which operation of the program row 7 of the operation table is.
        """
        return self.compiled.layouts

    @property
    def network(self) -> FifoNetwork:
        """The network of queues, router buffers and edge ports that the routes were compiled to."""
        return self.compiled.network

    @property
    def parts(self) -> StoreLayout:
        """Where each table (elements, queues, instructions, ...) lies in the store.

        The store is the one array of 64-bit words that the engine works on.
        """
        return self.compiled.parts

    @property
    def fifo(self) -> at.Table:
        """The table of queues, a row each, with the columns F_... of compile/columns.py."""
        return self.parts.fifo.view(self.store)

    @property
    def element(self) -> at.Table:
        """The table of elements, a row each, with the columns E_... of compile/columns.py."""
        return self.parts.element.view(self.store)

    def name(self, element: int) -> str:
        """Return the words `element (row, column)` for an element's number row * width + column."""
        width = self.program.width
        return f"element ({element // width}, {element % width})"

    def layout(self, element: int) -> CodeLayout:
        """Return what the rows of the tables of an element's code stand for.

        `element`: row * width + column.
        """
        return self.layouts[int(self.program.placement.ravel()[element])]

    def operation(self, element: int, address: int) -> str:
        """Return words that name an operation of an element: code, task, operation, label.

        `element`: row * width + column; `address`: of the operation's row in the store, the one
        array that the engine works on.
        """
        layout = self.layout(element)
        number = int(self.store[address + at.O_NUMBER])
        task, resolved = layout.operations[number]
        return operation_name(layout.code, task, resolved.source)

    def instruction(self, element: int, address: int) -> str:
        """Return words that name a scalar instruction or an operation of an element.

        `address`: of the instruction, or of the operation's row, in the store; in which of the two
        tables it lies says what it is.
        """
        table, layout = self.parts.instruction, self.layout(element)
        if not table.start <= address < table.end:
            return self.operation(element, address)
        task, instruction = layout.sources[table.number(address) - layout.first["instruction"]]
        name = (
            f"{instruction.operation}.{instruction.dtype}"
            if isinstance(instruction, ScalarOperation)
            else ""
        )
        return f"code {layout.code.name}, task {task}, {name or 'an instruction'}"

    def memory_place(self, element: int, word: int) -> str:
        """Return words that name a 16-bit word of an element's memory: `x[3] at address 6`."""
        for buffer in self.layout(element).code.buffers:
            number = (word - buffer.address) // DTYPES[buffer.dtype]
            if 0 <= number < buffer.elements:
                return f"{buffer.name}[{number}] at address {word}"
        return f"address {word}"

    def queue(self, element: int, slot: int) -> int:
        """Return the FIFO that queue slot `slot` of an element is bound to now.

        Slots 0 to 7 are the input queues, 8 to 15 the output queues.
        """
        return self.parts.fifo.number(self.element[element, at.E_QUEUES + slot])

    def slot(self, element: int, fifo: int) -> int:
        """Return the queue slot (0-7 input, 8-15 output) of an element that is bound to a FIFO now.

        -1 if none is.
        """
        bound = self.element[element, at.E_QUEUES : at.E_QUEUES + 2 * at.OUTPUT_SLOT]
        slots = np.flatnonzero(bound == self.parts.fifo.address(np.array([fifo])))
        return int(slots[0]) if slots.size else -1

    def color(self, element: int, slot: int) -> str:
        """Return the name of the color that a queue slot of an element is bound to now.

        Slots 0 to 7 are the input queues, 8 to 15 the output queues.
        """
        layout, address = self.layout(element), self.element[element, at.E_QUEUES + slot]
        first = int(self.element[element, at.E_BOUND]) + at.B_FIFO
        for column, (bound_slot, color) in enumerate(layout.bindings):
            if bound_slot == slot and self.store[first + column * at.B_WIDTH] == address:
                return color
        return first_color(layout.code, slot)

    def is_complete(self) -> bool:
        """Return whether nothing is left to do: tasks, operations, words in queues, edge outputs.

        Operations of endless extent may still wait.
        """
        sinks = self.network.kind == EDGE_OUT
        counts = self.fifo[:, at.F_COUNT]
        return bool(
            not self.element[:, at.E_ACTIVE].any()
            and int(self.element[:, at.E_RUNNING].sum()) == self._endless_operations()
            and (self.element[:, at.E_STATE] == at.M_IDLE).all()
            and not counts[~sinks].any()
            and (counts[sinks] == self.fifo[sinks, at.F_CAP]).all()
        )

    def _endless_operations(self) -> int:
        """Return how many operations wait that are not meant to end."""
        thread = self.parts.thread.view(self.store)
        running = thread[thread[:, at.T_STATE] == at.RUNNING]
        special = self.store[running[:, at.T_OP] + at.O_SPECIAL] == 1
        return int((special & (running[:, at.T_STEP] == 0)).sum())
