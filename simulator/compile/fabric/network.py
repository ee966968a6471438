"""A program's fabric as a network of FIFOs: queues, router buffers and edge ports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile.fabric.connections import SteeredTables
from tilewright.simulator.program.routes import EdgeInput, EdgeOutput

Ids = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
"""The engine's columns, of half the width: a wafer's table is the largest of all."""


@dataclass(frozen=True, slots=True)
class FifoNetwork:
    """Hold a program's fabric as a network of FIFOs: queues, router buffers and edge ports.

    - `fifo`: (FIFOs, columns) the engine's row of each FIFO; references are row numbers.
    - `queue`: (elements, 16) FIFO of each queue slot (0 to 7 input, 8 to 15 output queues), -1 if
      none.
    - `links`: number of links, six per element and one per border place where words enter.
    - `ring_entries`: words that all FIFOs hold together.
    - `element`: (FIFOs,) row * width + column; of an edge port, the element at the border.
    - `kind`: (FIFOs,) OUTPUT or INPUT queue, ROUTER buffer, EDGE_IN or EDGE_OUT port.
    - `edge_inputs`, `edge_outputs`: per port of the program the FIFOs of its positions.
    - `exit_intervals`: per edge output the cycles between two words that leave a position.
    - `leaving`: per router port (N, E, S, W, ramp) the FIFOs whose words leave by it.
    - `steered`: tables of routers with switches, filters or changes.
    - `bound`: per code (its elements, rebindings): FIFOs that queues may be bound to later.
    - `closed`: input FIFOs that no queue is bound to at the start; they take nothing.
    """

    fifo: Rows
    queue: npt.NDArray[np.int32]
    links: int
    ring_entries: int
    element: Rows
    kind: npt.NDArray[np.int8]
    edge_inputs: tuple[Ids, ...]
    edge_outputs: tuple[Ids, ...]
    exit_intervals: tuple[int, ...]
    leaving: tuple[Rows, ...]
    steered: SteeredTables
    bound: tuple[Ids, ...]
    closed: Ids


OUTPUT, ROUTER, INPUT, EDGE_IN, EDGE_OUT = range(5)
Kinds = npt.NDArray[np.int8]


def are_of(kind: Kinds, *kinds: int) -> npt.NDArray[np.bool_]:
    """Return which FIFOs are of some kinds (OUTPUT, ROUTER, ...). kind: of each FIFO."""
    result: npt.NDArray[np.bool_] = kind == kinds[0]
    for further in kinds[1:]:
        result |= kind == further
    return result


def border_elements(port: EdgeInput | EdgeOutput, shape: tuple[int, int]) -> Ids:
    """Return the elements (row * width + column) at an edge port's positions.

    `shape`: height and width of the grid.
    """
    along = np.arange(port.first, port.first + port.positions, dtype=np.int64)
    height, width = shape
    if port.side == "N":
        return along
    if port.side == "S":
        return (height - 1) * width + along
    return along * width + (width - 1 if port.side == "E" else 0)
