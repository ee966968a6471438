"""Keep the FIFO networks of programs: those of one topology are compiled once.

Such programs differ in what elements compute, in how many words enter and leave at the edges, or in
how many words the counters of filters let pass.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from threading import Lock
from typing import Final

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.simd_modes import paired_queues
from tilewright.simulator.compile.fabric.network import FifoNetwork
from tilewright.simulator.compile.fabric.network_compiler import compile_network
from tilewright.simulator.compile.fabric.steering import (
    COUNTER_COLUMNS,
    control_colors,
    counter_kind,
    counter_numbers,
)
from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.profiles.profile import Profile, profile_number
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import CounterFilter, EdgeInput, EdgeOutput, Route

MOST_FIFOS: Final = 1 << 18
"""FIFOs of all networks together that are kept for later programs."""
_KEPT: Final[dict[Hashable, FifoNetwork]] = {}
"""Networks by topology and profile, the one used last at the end."""
_ONE_AT_A_TIME: Final = Lock()
"""Runs of a search that go on side by side share them."""


def network_of(program: Program, layouts: tuple[CodeLayout, ...], profile: Profile) -> FifoNetwork:
    """Return the FIFO network of a program, from an earlier program of the same topology if kept.

    Programs that differ only in what their elements compute, or in how many words enter, leave and
    pass filters, have one topology; only capacities of edge ports and numbers of filters are then
    set anew. The networks used last are kept, of 2^18 FIFOs in all. Raises ProgramError for routes,
    queues and edge ports that do not fit together (a route that leads nowhere, a queue without a
    route), and for too many words of space.
    """
    key = structure(program, layouts), profile_number(profile)
    with _ONE_AT_A_TIME:
        kept = _KEPT.pop(key, None)
        if kept is not None:
            _KEPT[key] = kept
    if kept is not None:
        return _with_counts(kept, program)
    network = compile_network(program, layouts, profile)
    if network.kind.size <= MOST_FIFOS:
        _keep(key, network)
    return network


def forget_networks() -> None:
    """Forget all networks that are kept, as measurements and tests want it."""
    with _ONE_AT_A_TIME:
        _KEPT.clear()


def _keep(key: Hashable, network: FifoNetwork) -> None:
    """Keep a network; the ones used least recently make place for it."""
    with _ONE_AT_A_TIME:
        _KEPT[key] = network
        total = sum(kept.kind.size for kept in _KEPT.values())
        while total > MOST_FIFOS:
            total -= _KEPT.pop(next(iter(_KEPT))).kind.size


def structure(program: Program, layouts: tuple[CodeLayout, ...]) -> Hashable:
    """Return a hashable key of all that a program's FIFO network depends on, but numbers of words.

    Equal keys and profiles mean networks that are equal but for words at the edges and numbers of
    counter filters. It holds placement, colors, routes, queues, SIMD modes, rebindings and the
    places of edge ports.
    """
    codes = tuple(
        (
            *(layout.code.name, layout.code.input_queues, layout.code.output_queues),
            *(layout.queues, paired_queues(layout.code)),
            tuple((color, tuple(changes)) for color, changes in layout.changes.items()),
            tuple(layout.bindings),
            tuple((n, task.teardown) for n, task in enumerate(layout.code.tasks) if task.teardown),
        )
        for layout in layouts
    )
    ports: tuple[EdgeInput | EdgeOutput, ...] = (*program.edge_inputs, *program.edge_outputs)
    places = tuple((type(p), p.name, p.side, p.first, p.positions, p.color) for p in ports)
    placement = program.placement.shape, program.placement.tobytes()
    commanded = frozenset(control_colors(program))
    routes = tuple(map(_without_numbers, program.routes))
    return placement, program.colors, routes, codes, places, commanded


def _without_numbers(route: Route) -> Hashable:
    """Return what decides the routers of a route: all but the numbers of its counter filter."""
    kind = counter_kind(route.filter)
    if kind is None:
        return route
    settings = route.switch, route.teardown, route.swap
    return route.color, route.area, route.rx, route.tx, settings, kind


def _with_counts(network: FifoNetwork, program: Program) -> FifoNetwork:
    """Return a copy of a network with the numbers of a program's ports and filters."""
    fifo = network.fifo.copy(order="K")
    ports: tuple[EdgeInput | EdgeOutput, ...] = (*program.edge_inputs, *program.edge_outputs)
    for port, fifos in zip(ports, (*network.edge_inputs, *network.edge_outputs), strict=True):
        fifo[fifos, at.F_CAP] = port.count
    steered = replace(network.steered, state=_with_filters(network.steered.state, program))
    intervals = tuple(port.interval for port in program.edge_outputs)
    words = int(fifo[:, at.F_CAP].sum())
    return replace(
        network, fifo=fifo, ring_entries=words, exit_intervals=intervals, steered=steered
    )


def _with_filters(state: at.Table, program: Program) -> at.Table:
    """Return states of routers (a row per router and color) with the numbers of counter filters."""
    filtered = [(r, r.filter) for r in program.routes if isinstance(r.filter, CounterFilter)]
    if not filtered:
        return state
    renewed, row_of = state.copy(), np.zeros(program.placement.shape, dtype=np.int64)
    ids = {color.name: color.id for color in program.colors}
    for route, counter in filtered:
        rows = np.flatnonzero(state[:, at.X_COLOR] == ids[route.color])
        row_of.ravel()[state[rows, at.X_ELEMENT]] = rows
        renewed[row_of[route.area.places].ravel()[:, None], COUNTER_COLUMNS] = counter_numbers(
            counter
        )
    return renewed
