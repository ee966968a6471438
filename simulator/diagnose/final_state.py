"""The engine's store at the end of a run, read with the names of the program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.queue_slots import first_color
from tilewright.simulator.compile.compiled_program import CompiledProgram
from tilewright.simulator.compile.fabric.network import EDGE_OUT, FifoNetwork
from tilewright.simulator.compile.store_layout import (
    StoreLayout,
)
from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.isa.operands import operation_name
from tilewright.simulator.program.program import Program


@dataclass(frozen=True, slots=True)
class FinalState:
    """The engine's state when a run has stopped; `compiled` says what its rows mean.

    Elements are numbers `row * width + column`, FIFOs are rows of the network's table.
    """

    compiled: CompiledProgram
    store: at.Table

    @property
    def program(self) -> Program:
        return self.compiled.program

    @property
    def layouts(self) -> tuple[CodeLayout, ...]:
        return self.compiled.layouts

    @property
    def network(self) -> FifoNetwork:
        return self.compiled.network

    @property
    def parts(self) -> StoreLayout:
        return self.compiled.parts

    @property
    def fifo(self) -> at.Table:
        """The rows of the network's FIFOs, columns F_..."""
        return self.parts.fifo.view(self.store)

    @property
    def element(self) -> at.Table:
        """The rows of the elements, columns E_..."""
        return self.parts.element.view(self.store)

    def name(self, element: int) -> str:
        """Name an element by its place."""
        width = self.program.width
        return f"element ({element // width}, {element % width})"

    def layout(self, element: int) -> CodeLayout:
        """Return the layout of an element's code."""
        return self.layouts[int(self.program.placement.ravel()[element])]

    def operation(self, element: int, address: int) -> str:
        """Name an operation of an element by its row's address."""
        layout = self.layout(element)
        number = int(self.store[address + at.O_NUMBER])
        task, resolved = layout.operations[number]
        return operation_name(layout.code, task, resolved.source)

    def queue(self, element: int, slot: int) -> int:
        """Return the FIFO that a queue slot is bound to now."""
        return self.parts.fifo.number(self.element[element, at.E_QUEUES + slot])

    def slot(self, element: int, fifo: int) -> int:
        """Return the queue slot of an element that is bound to a FIFO now, or -1."""
        bound = self.element[element, at.E_QUEUES : at.E_QUEUES + 2 * at.OUTPUT_SLOT]
        slots = np.flatnonzero(bound == self.parts.fifo.address(np.array([fifo])))
        return int(slots[0]) if slots.size else -1

    def color(self, element: int, slot: int) -> str:
        """Return the color that a queue slot is bound to now."""
        layout, address = self.layout(element), self.element[element, at.E_QUEUES + slot]
        first = int(self.element[element, at.E_BOUND]) + at.B_FIFO
        for column, (bound_slot, color) in enumerate(layout.bindings):
            if bound_slot == slot and self.store[first + column * at.B_WIDTH] == address:
                return color
        return first_color(layout.code, slot)

    def is_complete(self) -> bool:
        """Return whether nothing is left to do: tasks, operations, words, edge outputs.

        Operations that are endless by their extent may wait.
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
