"""Predict the cycles of moving data between units over a torus of two networks (layouts.md §12).

They are the most of: the busiest link, source port and destination port, and the reads that one
unit issues one after the other; plus a constant start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.layout import Layout
from tilewright.mapper.layout.machines.layout_machine import LayoutMachine
from tilewright.mapper.layout.queries.transfers import StridePattern, Transfer, transfers

Node = tuple[int, int]
_NETWORKS: Final = (0, 1)
_RATES: Final = (
    "noc_columns",
    "noc_rows",
    "noc_link_bytes_per_cycle",
    "noc_worker_bytes_per_cycle",
    "noc_dram_bytes_per_cycle",
    "noc_packet_bytes",
    "reshard_start_cycles",
    "reshard_issue_cycles",
)


@dataclass(frozen=True, slots=True)
class RoutedRead:
    """Reads of one unit from another over one network.

    `source`, `destination`: nodes (column, row); `network` 0 goes east, then south, 1 goes north,
    then west; `bytes`: in all; `packets`: reads that are issued one after the other.
    """

    source: Node
    destination: Node
    network: int
    bytes: int
    packets: int


@dataclass(frozen=True, slots=True)
class ReshardTime:
    """Predicted cycles, and the resource that decides them.

    `cycles`: start + the greatest of `resources`, which are cycles by resource: "source port",
    "destination port", "link", "issue".
    """

    cycles: float
    resources: dict[str, float]

    @property
    def limit(self) -> str:
        """Name of the resource that takes longest."""
        return max(self.resources, key=lambda name: (self.resources[name], name))


def route(read: RoutedRead, columns: int, rows: int) -> Iterator[tuple[int, int, str, int]]:
    """Yield the links of a read on a torus: (column, row, direction, network).

    Network 0: east along the row, then south; network 1: north along the column, then west.
    """
    (x, y), (end_x, end_y) = read.source, read.destination
    if read.network == 1:
        while y != end_y:
            yield x, y, "north", 1
            y = (y - 1) % rows
        while x != end_x:
            yield x, y, "west", 1
            x = (x - 1) % columns
        return
    while x != end_x:
        yield x, y, "east", 0
        x = (x + 1) % columns
    while y != end_y:
        yield x, y, "south", 0
        y = (y + 1) % rows


def read_time(
    reads: Iterable[RoutedRead], machine: LayoutMachine, dram_nodes: Sequence[Node] = ()
) -> ReshardTime:
    """Return the predicted cycles of reads that start together.

    `dram_nodes`: nodes with the rate of a DRAM port, which issue no reads: what goes to them is
    issued by its source. Rates and constants are those of the machine
    (`noc_...`, `reshard_...`). Raises SpecError for a machine without them.
    """
    rates = _rates(machine)
    columns, rows = int(rates["noc_columns"]), int(rates["noc_rows"])
    dram = frozenset(dram_nodes)
    sent, received = Counter[tuple[Node, int]](), Counter[tuple[Node, int]]()
    issued, carried = Counter[tuple[Node, int]](), Counter[tuple[int, int, str, int]]()
    for read in reads:
        port = (read.source, read.network)
        sent[port] += read.bytes
        received[read.destination, read.network] += read.bytes
        issuer = read.source if read.destination in dram else read.destination
        issued[issuer, read.network] += read.packets
        for link in route(read, columns, rows):
            carried[link] += read.bytes
    worker_rate, dram_rate = rates["noc_worker_bytes_per_cycle"], rates["noc_dram_bytes_per_cycle"]
    resources = {
        "source port": _busiest(sent, dram, worker_rate, dram_rate),
        "destination port": _busiest(received, dram, worker_rate, dram_rate),
        "link": max(carried.values(), default=0) / rates["noc_link_bytes_per_cycle"],
        "issue": max(issued.values(), default=0) * rates["reshard_issue_cycles"],
    }
    busiest = max(resources.values())
    return ReshardTime(rates["reshard_start_cycles"] + busiest if busiest else 0.0, resources)


def _busiest(
    carried: Mapping[tuple[Node, int], int],
    dram: frozenset[Node],
    worker_rate: float,
    dram_rate: float,
) -> float:
    """Return the cycles of the busiest port: most of bytes / rate.

    `carried`: bytes by port, a (node, network). `dram`: the nodes of DRAM, with `dram_rate` bytes
    per cycle; others have `worker_rate`.
    """
    cycles = (
        size / (dram_rate if node in dram else worker_rate) for (node, _), size in carried.items()
    )
    return max(cycles, default=0.0)


def reshard_time(source: Layout, destination: Layout, machine: LayoutMachine) -> ReshardTime:
    """Return the predicted cycles to turn one layout of a tensor into another on a machine.

    Units are (..., row, column) of the machine's compute units, or banks of DRAM. Each destination
    reads what it needs, half over each network, in packets of consecutive bytes; what comes from
    DRAM takes network 0, what goes there network 1. Equal layouts take no cycles.
    Raises SpecError for units without a node, and like `transfers`.
    """
    if source == destination:
        return read_time((), machine)
    moves = transfers(source, destination)
    element = source.tiling.element.bits / 8
    most = int(_rates(machine)["noc_packet_bytes"])
    counts = [sum(packets(pattern, element, most) for pattern in m.patterns) for m in moves]
    turns = {unit: count() for unit in {move.destination: None for move in moves}}
    ends = (source.memory, destination.memory)
    reads = [
        read
        for move, number in zip(moves, counts, strict=True)
        for read in _halves(move, number, next(turns[move.destination]), _BusyNodes(machine, ends))
    ]
    return read_time(reads, machine, machine.dram_nodes)


@dataclass(frozen=True, slots=True)
class _BusyNodes:
    """Finds the network nodes of the units of a reshard; `memories`: of source and destination."""

    machine: LayoutMachine
    memories: tuple[str, str]

    def of(self, move: Transfer) -> tuple[Node, Node]:
        """Return the nodes of the source and of the destination of a transfer."""
        source, destination = self.memories
        return self._node(move.source, source), self._node(move.destination, destination)

    def first_network(self, packets: int, turn: int) -> int:
        """Return how many of a transfer's packets take network 0; the others take network 1.

        Half of them; all from DRAM, none to DRAM. `turn`: of an odd number one more in every second
        turn.
        """
        if "dram" in self.memories:
            return packets if self.memories[0] == "dram" else 0
        return (packets + (turn + 1) % 2) // 2

    def _node(self, unit: Sequence[int], memory: str) -> Node:
        if memory != "dram":
            return node_of(unit, self.machine)
        if unit[-1] >= len(self.machine.dram_nodes):
            raise SpecError(
                f"{self.machine.name} has no node for bank {tuple(unit)} of dram",
                value=tuple(unit),
                instead="nodes.dram in the machine's file, one [column, row] per bank",
            )
        return self.machine.dram_nodes[unit[-1]]


def packets(pattern: StridePattern, element_bytes: float, most_bytes: int) -> int:
    """Return how many reads a pattern needs: one per run of positions consecutive at both ends.

    `most_bytes`: of one read; longer runs are split.
    """
    run, loops = 1, list(pattern.strides)
    while True:
        next_loop = next((s for s in loops if s.source == s.destination == run), None)
        if next_loop is None:
            break
        loops.remove(next_loop)
        run *= next_loop.count
    times = 1
    for stride in loops:
        times *= stride.count
    return times * -(-int(run * element_bytes) // most_bytes)


def node_of(unit: Sequence[int], machine: LayoutMachine) -> Node:
    """Return the network node (column, row) of a compute unit (..., row, column).

    SpecError if the machine has no such node.
    """
    row, column = (0, *unit)[-2:]
    if column >= len(machine.node_columns) or row >= len(machine.node_rows):
        raise SpecError(f"{machine.name} has no node for unit {tuple(unit)}", value=tuple(unit))
    return machine.node_columns[column], machine.node_rows[row]


def _halves(move: Transfer, number: int, turn: int, nodes: _BusyNodes) -> Iterator[RoutedRead]:
    """Yield the reads of a transfer on each network.

    `number`: packets in all; `turn`: number of the transfer.
    """
    ends, first = nodes.of(move), nodes.first_network(number, turn)
    for network, share in zip(_NETWORKS, (first, number - first), strict=True):
        if share:
            yield RoutedRead(*ends, network, round(move.bytes * share / number), share)


def _rates(machine: LayoutMachine) -> dict[str, float]:
    missing = [name for name in _RATES if name not in machine.rates]
    if missing:
        raise SpecError(
            f"machine {machine.name} has no {missing[0]}: its reshards cannot be timed",
            instead="wormhole",
        )
    return {name: machine.rates[name] for name in _RATES}
