"""Counters of runs and stalls, and waits, as the reference engine leaves them."""

from __future__ import annotations

import numpy as np

from tilewright.simulator.examples.gemv import gemv_like
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import DEPENDENT, WAVELETS


def test_runs_stalls_and_waits_of_a_product() -> None:
    program, profile = gemv_like(3, 4, 16, 5), load_profile("wse3-sdk-sim")
    edges = {port.name: np.ones((port.positions, port.count)) for port in program.edge_inputs}
    fast = FastMachine(program, profile).run(edges=edges, timeline=True)
    assert fast.certificate.granted
    mine = fast.result.trace
    theirs = Machine(program, profile).run(edges=edges, timeline=True).trace
    assert np.array_equal(mine.stall_cycles, theirs.stall_cycles)
    assert np.array_equal(mine.stalls, theirs.stalls)
    assert (mine.stall_cycles[..., DEPENDENT] > 0).all()
    assert mine.stall_cycles[..., WAVELETS].sum() > 0
