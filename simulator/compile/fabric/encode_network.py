"""The network's rows in the store of a program: row numbers turned into addresses."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import FifoNetwork
from tilewright.simulator.compile.store_layout import StoreLayout


def place_network(store: at.Table, parts: StoreLayout, network: FifoNetwork) -> None:
    """Write the FIFO network into the engine's store: FIFOs, links, routers that choose.

    store: the int64 array, changed; parts: where each table is in it. Row numbers of the network
    become addresses in the store; all FIFOs are empty.
    """
    fifo = parts.fifo.view(store)
    fifo[:] = network.fifo
    unset = [at.A_WHEN, at.A_NEXT, at.A_PREVIOUS, at.F_POPPED, at.F_PUSHED, at.F_WAITER]
    fifo[:, unset] = -1
    first = np.cumsum(fifo[:, at.F_CAP]) - fifo[:, at.F_CAP]
    fifo[:, at.F_RING] = parts.ring.address(first)
    succeeding = slice(at.F_NEXT, at.F_NEXT + 5)
    fifo[:, succeeding] = parts.fifo.address(fifo[:, succeeding])
    linked = slice(at.F_LINK, at.F_LINK + 5)
    fifo[:, linked] = parts.bid.address(fifo[:, linked])
    user = fifo[:, at.F_USER]
    elements = user <= at.USER_IS_ELEMENT
    user[~elements] = parts.fifo.address(user[~elements])
    user[elements] = parts.element.address(at.USER_IS_ELEMENT - user[elements])
    parts.bid.view(store)[:] = -1
    parts.ring.view(store)[:, 0] = at.NEVER_USED
    parts.change.view(store)[:] = network.steered.change
    if parts.state.rows:
        _place_steering(store, parts, network)


def _place_steering(store: at.Table, parts: StoreLayout, network: FifoNetwork) -> None:
    """Write the routers that choose; arguments as of `place_network`."""
    fifo = parts.fifo.view(store)
    fifo[:, at.F_WAY] = parts.way.address(fifo[:, at.F_WAY])
    selectors = parts.way.view(store)
    selectors[:] = network.steered.way
    selectors[:, at.W_STATE] = parts.state.address(selectors[:, at.W_STATE])
    state = parts.state.view(store)
    state[:] = network.steered.state
    waiting = slice(at.X_FIFOS, at.X_FIFOS + 5)
    state[:, waiting] = parts.fifo.address(state[:, waiting])
    state[:, at.X_ELEMENT] = parts.element.address(state[:, at.X_ELEMENT])
    state[:, at.X_CHANGES] = parts.change.address(state[:, at.X_CHANGES])
    _chain_states(store, parts)


def _chain_states(store: at.Table, parts: StoreLayout) -> None:
    """Let every element lead to the states of its router."""
    state = parts.state.view(store)
    order = np.argsort(state[:, at.X_ELEMENT], kind="stable")
    element = state[order, at.X_ELEMENT]
    begins = np.ones(order.size, dtype=bool)
    begins[1:] = element[1:] != element[:-1]
    address = parts.state.address(order)
    store[element[begins] + at.E_ROUTER] = address[begins]
    state[order[:-1][~begins[1:]], at.X_NEXT] = address[1:][~begins[1:]]


def place_bindings(
    store: at.Table, parts: StoreLayout, network: FifoNetwork, codes: npt.NDArray[np.int32]
) -> None:
    """Write into the store to which FIFOs the queues of each element may be bound later.

    codes: (elements,) number of each element's code. An input FIFO that no queue is bound to at the
    start gets capacity 0, so that words wait in the router. Call it after `place_network`.
    """
    fifo = parts.fifo.view(store)
    for number, bound in enumerate(network.bound):
        if not bound.size:
            continue
        first = parts.element.view(store)[codes == number, at.E_BOUND]
        for column, fifos in enumerate(bound.T):
            store[first + column * at.B_WIDTH + at.B_FIFO] = parts.fifo.address(fifos)
            store[first + column * at.B_WIDTH + at.B_CAP] = network.fifo[fifos, at.F_CAP]
    fifo[network.closed, at.F_CAP] = 0
