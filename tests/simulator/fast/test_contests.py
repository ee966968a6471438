"""The groups of FIFOs that contend for links, against a search from each FIFO."""

from __future__ import annotations

import numpy as np
import pytest
from tests.simulator.fast.test_arbiter import scattered

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import ROUTER, FifoNetwork
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.units.contests import contests_of
from tilewright.simulator.fast.units.graph import (
    C_FILTER,
    C_LINKS,
    C_RAMP,
    C_RANK,
    C_RIVAL,
    C_RIVALS,
)
from tilewright.simulator.fast.units.ramp_filters import filters_of
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine


def links_of(network: FifoNetwork, fifo: int) -> set[int]:
    row = network.fifo[fifo]
    return {int(row[at.F_LINK + i]) for i in range(row[at.F_SUCCESSORS])}


def group_of(links: dict[int, set[int]], fifo: int) -> set[int]:
    """All FIFOs that share a link with one of the group, from one FIFO on."""
    group, reached = {fifo}, links[fifo]
    while more := {other for other in links if links[other] & reached} - group:
        group |= more
        reached = set().union(*(links[other] for other in group))
    return group


@pytest.mark.random
@pytest.mark.parametrize("seed", range(6))
def test_rivals_are_the_fifos_that_links_join(seed: int) -> None:
    draw = np.random.default_rng(seed)
    network = Machine(scattered(draw), load_profile("generic")).compiled.network
    contended = (network.kind == ROUTER) & (draw.random(network.kind.size) < 0.9)
    filters = filters_of(network, Division(network))
    contest, rival = contests_of(network, contended, filters)
    links = {int(fifo): links_of(network, int(fifo)) for fifo in np.flatnonzero(contended)}
    for fifo, wanted in links.items():
        row = contest[fifo]
        rivals = rival[row[C_RIVAL] : row[C_RIVAL] + row[C_RIVALS]].tolist()
        assert len(rivals) == len(set(rivals))
        assert {fifo, *rivals} == group_of(links, fifo)
        for other in rivals:
            assert bool(row[C_LINKS] & contest[other, C_LINKS]) == bool(wanted & links[other])
            colors = network.fifo[[fifo, other], at.F_COLOR].tolist()
            assert (row[C_RANK] < contest[other, C_RANK]) == (
                (colors[0], fifo) < (colors[1], other)
            )
    assert (contest[~contended, C_RIVALS] == 0).all()
    filtered = np.isin(np.arange(contended.size), filters.router) & (contest[:, C_RIVALS] > 0)
    assert ((contest[:, C_FILTER] >= 0) == filtered).all()
    ramps = contest[filtered & (contest[:, C_RAMP] > 0)]
    assert ramps.size
    assert ((ramps[:, C_LINKS] & ramps[:, C_RAMP]) == ramps[:, C_RAMP]).all()


def test_without_contended_fifos_nobody_has_rivals() -> None:
    network = Machine(scattered(np.random.default_rng(0)), load_profile("generic")).compiled.network
    none = np.zeros(network.kind.size, dtype=bool)
    contest, rival = contests_of(network, none, filters_of(network, Division(network)))
    assert rival.size == 0
    assert not contest[:, C_RIVALS].any()
