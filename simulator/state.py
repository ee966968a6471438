"""The engine's state of one run: fresh tables for a compiled program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.simulator.engine import layout as at
from tilewright.simulator.network import Network
from tilewright.simulator.program import Program
from tilewright.simulator.tables import CodeLayout

WHEEL = 1024
"""Slots of the time wheel, a power of two; longer waits stay in their slot for another turn."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each element's memory, variables, threads and counters start."""

    element: at.Table
    """The element table at cycle 0."""
    words: int
    variables: int
    threads: int
    runs: int
    tasks: int


def element_layout(program: Program, layouts: tuple[CodeLayout, ...]) -> Layout:
    """Lay out the state of all elements, class by class."""
    codes = program.placement.ravel()
    table = np.zeros((codes.size, at.E_WIDTH), dtype=np.int64)
    sizes = {
        at.E_MEMORY: [_even(layout.code.words) for layout in layouts],
        at.E_VARIABLES: [len(layout.variables) for layout in layouts],
        at.E_THREADS: [len(layout.threads) + 1 for layout in layouts],
        at.E_RUNS: [len(layout.operations) for layout in layouts],
    }
    totals = {}
    for column, per_code in sizes.items():
        amounts = np.array(per_code, dtype=np.int64)[codes]
        table[:, column] = np.cumsum(amounts) - amounts
        totals[column] = int(amounts.sum())
    fixed = {
        at.E_ACTIVE: [_bits(layout, "entry") for layout in layouts],
        at.E_BLOCKED: [_bits(layout, "blocked") for layout in layouts],
        at.E_TASKS: [layout.first_task for layout in layouts],
        at.E_OPS: [layout.first_operation for layout in layouts],
        at.E_THREAD_COUNT: [len(layout.threads) + 1 for layout in layouts],
    }
    for column, per_code in fixed.items():
        table[:, column] = np.array(per_code, dtype=np.int64)[codes]
    tasks = np.array([len(layout.code.tasks) for layout in layouts], dtype=np.int64)[codes]
    return Layout(
        table,
        totals[at.E_MEMORY],
        totals[at.E_VARIABLES],
        totals[at.E_THREADS],
        totals[at.E_RUNS],
        int(tasks.sum()),
    )


def fresh_fabric(network: Network, elements: int) -> at.Fabric:
    """Return the network at cycle 0, nothing scheduled."""
    agents = np.full((network.fifo.shape[0] + elements, 3), -1, dtype=np.int64)
    return at.Fabric(
        network.fifo.copy(),
        np.zeros((network.ring_entries, 2), dtype=np.int64),
        agents,
        np.full(WHEEL, -1, dtype=np.int64),
        np.full((network.links, 2), -1, dtype=np.int64),
        np.zeros(at.S_WIDTH, dtype=np.int64),
    )


def fresh_elements(layout: Layout, network: Network, events: int) -> at.Elements:
    """Return the elements at cycle 0 with zeroed memory."""
    memory = np.zeros(layout.words // 2, dtype=np.uint32)
    return at.Elements(
        layout.element.copy(),
        np.zeros((layout.threads, at.T_WIDTH), dtype=np.int64),
        network.queue,
        np.zeros(layout.variables, dtype=np.int64),
        np.zeros(layout.runs, dtype=np.int64),
        memory.view(np.uint16),
        memory,
        np.zeros((events, at.V_WIDTH), dtype=np.int64),
    )


def most_events(layout: Layout) -> int:
    """Return an upper bound of the timeline entries that one cycle can add."""
    return 2 * layout.threads + layout.tasks + layout.element.shape[0]


def start_agents(fabric: at.Fabric, agents: npt.NDArray[np.int64], cycles: at.Table) -> None:
    """Schedule agents, in order, before the run."""
    from tilewright.simulator.engine.fabric import schedule_all

    schedule_all(fabric, agents, cycles)


def _even(words: int) -> int:
    return words + words % 2


def _bits(layout: CodeLayout, attribute: str) -> int:
    return sum(
        1 << number
        for number, task in enumerate(layout.code.tasks)
        if getattr(task, attribute)
    )
