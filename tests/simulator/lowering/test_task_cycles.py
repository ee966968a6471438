"""Cycles of a body of instructions: in all, and behind the last operation of a label."""

import pytest

from tilewright.simulator.build.program_builder import CodeBuilder
from tilewright.simulator.lowering.task_cycles import BodyCycles, TaskCycles
from tilewright.simulator.profiles.profile import load_profile

PROFILE = load_profile("wse2-sdk-sim")


def cycles(turns: int) -> BodyCycles:
    """Turns of a loop that each receive 8 words and add 32 values."""
    code = CodeBuilder("work")
    code.buffer("tile", "f32", 32)
    code.mem1d("all", "tile", extent=32)
    code.mem1d("some", "tile", extent=8)
    code.input_queue(0, "words")
    code.fabin("come", 0, 8)
    task = code.task("work", entry=True)
    with task.loop("turn", turns):
        task.op("fmovs", "some", "come", label="receive")
        task.op("fadds", "all", "all", "all", label="compute")
    built = code.build()
    return TaskCycles(built, PROFILE).of("work", built.tasks[0].body)


@pytest.mark.parametrize("turns", [2, 16])
def test_earlier_turns_are_not_behind_the_last_operation(turns: int) -> None:
    """Behind the last receive stand one addition and the branch out of the loop."""
    result = cycles(turns)
    assert result.since == cycles(1).since
    assert result.since["compute"] == PROFILE.branch_not_taken_cycles
    each = cycles(turns + 1).total - result.total
    assert each == cycles(2).total - cycles(1).total > PROFILE.loop_back_edge_cycles
