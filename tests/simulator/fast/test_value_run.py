"""Values without times: program order per element, words in the order in which they are sent."""

import numpy as np
import pytest

from tilewright.simulator.examples.known_costs import chain_reduce, relay, two_phase_reduce
from tilewright.simulator.fast.fast_entries import run_values
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.partition_solve import solve_parts
from tilewright.simulator.fast.values.value_state import (
    S_BASE,
    S_SENT,
    S_TAKEN,
    check_values,
    new_value_state,
)
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.run_data import load_data, run_data

WSE2 = load_profile("wse2-sdk-sim")


def state_of(program: Program, values: np.ndarray):  # type: ignore[no-untyped-def, type-arg]
    machine = Machine(program, WSE2)
    timed, _ = solve_parts(machine)
    assert timed is not None
    data = run_data(program, {"v": values}, None, False)
    compiled = machine.compiled
    store, memory = load_data(compiled, compiled.store, data)
    return new_value_state(timed, store, memory, compiled.parts)


def test_a_chain_adds_from_the_east_to_the_west() -> None:
    values = np.array([[[1, 2, 3], [10, 20, 30], [100, 200, 300]]], dtype=np.float32)
    state = state_of(chain_reduce(3, 3), values)
    run_values(state)
    check_values(state)
    sums = state.memory.view(np.float32)[:3]
    assert sums.tolist() == [111, 222, 333]
    sent = state.data.view(np.float32).tolist()
    assert sent == [100, 200, 300, 110, 220, 330]  # by the east, then by the middle: by color
    senders = state.stream[:, S_SENT] > 0
    assert state.stream[senders, S_SENT].tolist() == [3, 3]
    assert state.stream[senders, S_BASE].tolist() == [0, 3]
    assert state.stream[:, S_TAKEN].sum() == 6


@pytest.mark.parametrize("program", [relay(5, 8), two_phase_reduce(8, 5, 4)], ids=lambda p: p.name)
def test_values_are_those_of_a_run(program: Program) -> None:
    rng = np.random.default_rng(1)
    shape = (*program.placement.shape, program.codes[0].buffers[0].elements)
    values = rng.standard_normal(shape).astype(np.float32)
    state = state_of(program, values)
    run_values(state)
    check_values(state)
    result = Machine(program, WSE2).run(memory={"v": values})
    assert state.memory.tobytes()[: 4 * shape[-1]] == result.memory["v"][0, 0].tobytes()


def test_a_run_that_does_not_end_is_refused() -> None:
    state = state_of(chain_reduce(3, 3), np.zeros((1, 3, 3), dtype=np.float32))
    with pytest.raises(NotCovered, match="wait for each other's words"):
        check_values(state)
