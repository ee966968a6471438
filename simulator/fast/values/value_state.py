"""The state of a run of values (`value_run.py`): streams of words, elements, tasks."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import EDGE_IN, OUTPUT
from tilewright.simulator.compile.store_layout import StoreLayout
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.times.timed_program import TimedProgram
from tilewright.simulator.fast.units.graph import P_FILTER, P_WORDS, Ints

S_BASE, S_SENT, S_TAKEN, S_ROOT, S_WAITING, S_FILTER, S_WIDTH = range(7)
"""A FIFO's stream: its first word in `data`, words sent so far (of the root), words taken, the FIFO
where the stream begins, the first element that waits for its words, the filter before it or -1."""
G_ADDRESS, G_TASK, G_LAST, G_NEXT, G_WIDTH = range(5)
"""An element: its address, its next task, the end of its tasks, the element that waits after it."""
NOBODY: Final = -1


class ValueState(NamedTuple):
    """Hold the state of a run that computes values without times.

    - `store`: the engine's int64 array; `memory`: 32-bit words of all elements.
    - `data`: all words of all streams; `stream`: (FIFOs, S_WIDTH) first word in `data`, words sent
      and taken so far, FIFO at which the stream begins, who waits for words, filter.
    - `element`: (elements, G_WIDTH) address, next task, end of its tasks, and the next element that
      waits for the same stream.
    - `tasks`: tasks of all codes in the order in which they run.
    - `stack`: numbers of the elements that can go on.
    - `fifo`: address of the first FIFO in the store.
    - `filter`: (filters, K_WIDTH) the counter filters at ramps.
    """

    store: at.Table
    memory: at.Memory
    data: npt.NDArray[np.uint32]
    stream: Ints
    element: Ints
    tasks: Ints
    stack: Ints
    fifo: int
    filter: Ints


def new_value_state(
    timed: TimedProgram, store: at.Table, memory: at.Memory, parts: StoreLayout
) -> ValueState:
    """Return the state of a run of values before the first operation.

    All words of edge inputs count as sent; their values are filled in by the caller. timed: the
    program with its times; parts: where each table is in the store.
    """
    layout, network = timed.layout, timed.network
    words = timed.graph.port[:, P_WORDS]
    root = layout.root
    begins = np.isin(network.kind, [OUTPUT, EDGE_IN])
    sizes = np.where(begins, words, 0)
    stream = np.zeros((words.size, S_WIDTH), dtype=np.int64)
    stream[:, S_BASE] = np.cumsum(sizes) - sizes
    stream[:, S_ROOT], stream[:, S_WAITING] = root, NOBODY
    stream[:, S_FILTER] = timed.graph.port[:, P_FILTER]
    stream[network.kind == EDGE_IN, S_SENT] = words[network.kind == EDGE_IN]
    elements = parts.element.rows
    element = np.zeros((elements, G_WIDTH), dtype=np.int64)
    element[:, G_ADDRESS] = parts.element.address(np.arange(elements, dtype=np.int64))
    tasks: list[int] = []
    for members, script in zip(layout.elements, timed.scripts, strict=True):
        element[members, G_TASK] = len(tasks)
        tasks.extend(script.tasks)
        element[members, G_LAST] = len(tasks)
    return ValueState(
        store,
        memory,
        np.zeros(int(sizes.sum()), dtype=np.uint32),
        stream,
        element,
        np.array(tasks, dtype=np.int64),
        np.zeros(elements + 1, dtype=np.int64),
        parts.fifo.start,
        timed.graph.filter,
    )


def check_values(state: ValueState) -> None:
    """Check that a run of values came to its end in all elements.

    Raises NotCovered if an operand left its buffer, or if operations wait for each other's words.
    """
    if state.store[at.S_ERROR] != at.OK:
        raise NotCovered("an operand leaves its buffer")
    if state.store[at.S_EVENTS] != state.element.shape[0]:
        raise NotCovered("operations wait for each other's words")
