"""The final tables: accounts of cycles and timelines, by hand and beside the reference engine."""

import numpy as np

from tilewright.simulator.examples.known_costs import chain_reduce, relay
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.fast.partition_solve import solve_parts
from tilewright.simulator.fast.values.final_tables import element_cycles
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import BUSY, IDLE, WAIT_INPUT, WAIT_OUTPUT

WSE2 = load_profile("wse2-sdk-sim")


def test_cycles_of_a_chain_of_three() -> None:
    """East: 5 of dispatch, 4 words. Middle: 6, waits from 6 to 11, 4 words. West: 5, 5 to 17."""
    machine = Machine(chain_reduce(3, 4), WSE2)
    timed, _ = solve_parts(machine)
    assert timed is not None
    states = np.zeros((3, 4), dtype=np.int64)
    element_cycles(timed, 22, states)
    expected = np.zeros((3, 4), dtype=np.int64)
    expected[:, BUSY] = [5 + 4, 6 + 4, 5 + 4]
    expected[:, WAIT_INPUT] = [12, 5, 0]
    expected[:, IDLE] = [22 - 21, 22 - 15, 22 - 9]
    assert expected[:, WAIT_OUTPUT].sum() == 0
    assert states.tolist() == expected.tolist()
    assert np.array_equal(machine.run().trace.element_cycles[0], expected)


def test_the_store_is_that_of_a_run() -> None:
    """Counters, queues and states after a relay, which has microthreads."""
    program = relay(4, 9)
    fast, slow = FastMachine(program, WSE2), Machine(program, WSE2)
    assert fast.certificate.granted
    ours, theirs = fast.run(timeline=True).result, slow.run(timeline=True)
    assert np.array_equal(ours.trace.element_cycles, theirs.trace.element_cycles)
    assert np.array_equal(ours.trace.link_words, theirs.trace.link_words)
    assert ours.trace.timeline == theirs.trace.timeline
    assert ours.counts == theirs.counts


def test_a_timeline_of_one_element_has_its_rows_only() -> None:
    machine = FastMachine(chain_reduce(3, 4), WSE2)
    shown = machine.run(timeline=[(0, 1)]).result.trace.timeline
    every = machine.run(timeline=True).result.trace.timeline
    assert shown
    assert list(shown) == [event for event in every if (event.row, event.column) == (0, 1)]
