"""Broadcasts with the task structure of the SDK's collectives library: one color, many roots."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.examples.library_calls import library_broadcasts
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult

WSE3 = load_profile("wse3-sdk-sim")


def run(elements: int, words: int, roots: tuple[int, ...], shuffle: int = 0) -> RunResult:
    """Run the calls and check what every element got."""
    machine = Machine(library_broadcasts(elements, words, roots), WSE3)
    mine = np.random.default_rng(1).random((1, elements, words), dtype=np.float32)
    result = machine.run(memory={"mine": mine}, shuffle=shuffle)
    got = result.memory["got"][0].reshape(elements, len(roots), words)
    for call, root in enumerate(roots):
        expected = np.tile(mine[0, root], (elements, 1))
        expected[root] = 0
        assert (got[:, call] == expected).all()
    return result


@pytest.mark.parametrize("roots", [(0,), (3, 0, 1, 2), (1, 1, 1)])
@pytest.mark.parametrize("elements", [4, 7])
def test_every_call_reaches_all_elements(elements: int, roots: tuple[int, ...]) -> None:
    assert run(elements, 5, roots).cycles == run(elements, 5, roots, shuffle=3).cycles


def test_a_call_costs_its_tasks_and_a_cycle_per_word() -> None:
    """A word more is a cycle more; the rest of a call does not depend on the words."""
    short, long = run(4, 4, (0,)).cycles, run(4, 204, (0,)).cycles
    assert long - short == 200
    assert short == 157  # the figure of docs/examples/gemv_collectives.md


def test_wrong_roots_are_refused() -> None:
    for roots in ((), (4,)):
        with pytest.raises(ProgramError, match="roots from 0 to 3"):
            library_broadcasts(4, 4, roots)
