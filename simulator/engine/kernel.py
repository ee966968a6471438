"""The cycle loop of the reference engine: visit every due agent, then settle the bids."""

from __future__ import annotations

from tilewright.simulator.engine import layout as at
from tilewright.simulator.engine.element import visit_element
from tilewright.simulator.engine.fabric import settle_bid, unlink, visit_queue
from tilewright.simulator.engine.jit import kernel
from tilewright.simulator.engine.layout import Codes, Elements, Fabric, Table
from tilewright.simulator.engine.task import fail


@kernel
def collect(fabric: Fabric, batch: Table, now: int) -> int:
    """Move the agents that are due into the batch; return their number."""
    count = 0
    agent = fabric.wheel[now & (fabric.wheel.size - 1)]
    while agent >= 0:
        after = fabric.agent[agent, at.A_NEXT]
        if fabric.agent[agent, at.A_WHEN] == now:
            unlink(fabric, agent)
            batch[count] = agent
            count += 1
        agent = after
    return count


@kernel
def shuffle(fabric: Fabric, batch: Table, count: int) -> None:
    """Permute the batch (tests only): the result must not depend on the order."""
    state = fabric.status[at.S_SHUFFLE]
    for i in range(count - 1, 0, -1):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        j = (state >> 8) % (i + 1)
        kept = batch[i]
        batch[i] = batch[j]
        batch[j] = kept
    fabric.status[at.S_SHUFFLE] = state


@kernel
def visit_all(
    fabric: Fabric, codes: Codes, elements: Elements, batch: Table, count: int
) -> None:
    """Visit every agent of this cycle."""
    now = fabric.status[at.S_CYCLE]
    queues = fabric.fifo.shape[0]
    bids = 0
    for i in range(count):
        agent = batch[i]
        if agent >= queues:
            visit_element(fabric, codes, elements, agent - queues, now)
        elif visit_queue(fabric, agent, now):
            batch[bids] = agent
            bids += 1
    for i in range(bids):
        settle_bid(fabric, batch[i], now)


@kernel
def run(fabric: Fabric, codes: Codes, elements: Elements, batch: Table) -> None:
    """Run until nothing is due, an error, or a full timeline (then call again)."""
    status = fabric.status
    while status[at.S_AGENTS] > 0 and status[at.S_ERROR] == at.OK:
        now = status[at.S_CYCLE]
        if now > status[at.S_LIMIT]:
            fail(fabric, at.ERROR_LIMIT, -1, -1, now)
            return
        count = 0
        if fabric.wheel[now & (fabric.wheel.size - 1)] >= 0:
            room = elements.event.shape[0] - status[at.S_EVENTS]
            if status[at.S_RECORD] == 1 and room < status[at.S_MARGIN]:
                status[at.S_ERROR] = at.EVENTS_FULL
                return
            count = collect(fabric, batch, now)
        if count > 0:
            if status[at.S_SHUFFLE] > 0:
                shuffle(fabric, batch, count)
            visit_all(fabric, codes, elements, batch, count)
        status[at.S_CYCLE] = now + 1
