"""State of the run of values; see `value_run.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import EDGE_IN, OUTPUT, FifoNetwork
from tilewright.simulator.compile.store import StoreLayout
from tilewright.simulator.fast.graph import P_WORDS, Graph, Ints, Layout
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.script import Script

S_BASE, S_SENT, S_TAKEN, S_ROOT, S_WAITING, S_WIDTH = range(6)
"""A FIFO's stream: its first word in `data`, words sent so far (of the root), words taken, the
FIFO where it begins, and the first element that waits for it."""
G_ADDRESS, G_TASK, G_LAST, G_NEXT, G_WIDTH = range(5)
"""An element: its address, its next task, the end of its tasks, who waits after it."""
NOBODY: Final = -1


class Flow(NamedTuple):
    """State of the run of values."""

    store: at.Table
    memory: at.Memory
    data: npt.NDArray[np.uint32]
    stream: Ints
    element: Ints
    tasks: Ints
    stack: Ints
    fifo: int
    """Address of the first FIFO."""


def new_flow(
    state: tuple[at.Table, at.Memory],
    parts: StoreLayout,
    network: FifoNetwork,
    tables: tuple[Graph, Layout],
    scripts: Sequence[Script],
) -> Flow:
    """Return the state before the first operation; what edge inputs hold is all sent."""
    graph, layout = tables
    store, memory = state
    words = graph.port[:, P_WORDS]
    root = layout.root
    begins = np.isin(network.kind, [OUTPUT, EDGE_IN])
    sizes = np.where(begins, words, 0)
    stream = np.zeros((words.size, S_WIDTH), dtype=np.int64)
    stream[:, S_BASE] = np.cumsum(sizes) - sizes
    stream[:, S_ROOT], stream[:, S_WAITING] = root, NOBODY
    stream[network.kind == EDGE_IN, S_SENT] = words[network.kind == EDGE_IN]
    elements = parts.element.rows
    element = np.zeros((elements, G_WIDTH), dtype=np.int64)
    element[:, G_ADDRESS] = parts.element.address(np.arange(elements, dtype=np.int64))
    tasks: list[int] = []
    for mine, script in zip(layout.elements, scripts, strict=True):
        element[mine, G_TASK] = len(tasks)
        tasks.extend(script.tasks)
        element[mine, G_LAST] = len(tasks)
    return Flow(
        store,
        memory,
        np.zeros(int(sizes.sum()), dtype=np.uint32),
        stream,
        element,
        np.array(tasks, dtype=np.int64),
        np.zeros(elements + 1, dtype=np.int64),
        parts.fifo.start,
    )


def check_values(flow: Flow) -> None:
    """Refuse a run of values that did not come to its end. Raises NotCovered."""
    if flow.store[at.S_ERROR] != at.OK:
        raise NotCovered("an operand leaves its buffer")
    if flow.store[at.S_EVENTS] != flow.element.shape[0]:
        raise NotCovered("operations wait for each other's words")
