"""Scripts of tasks: their parts add up to the cycles of the task, turn by turn."""

import pytest
from grid_mappings import random_space_time

from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.lowering.lower_bound.task_cycles import TaskCycles
from tilewright.simulator.lowering.lower_bound.task_script import ScriptWriter
from tilewright.simulator.lowering.plan import plan_of
from tilewright.simulator.profiles.profile import Profile, load_profile

PROFILES = [load_profile(name) for name in ("wse2-sdk-sim", "wse3-silicon")]


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_transfers_and_the_work_between_them_are_all_of_a_task(profile: Profile) -> None:
    compared = 0
    for seed in range(60):
        try:
            read = random_space_time(seed)[1]
            plan = plan_of(read)
        except InfeasibleMapping:
            continue
        role = plan.roles[plan.placement[plan.sums.first]]
        code = plan.code(role)
        task = code.tasks[0]
        if task.name != "work" or plan.sums.ring is not None:
            continue
        cycles = TaskCycles(code, profile)
        labels = {f"receive {tensor.name}" for tensor in read.streams}
        script = ScriptWriter(cycles, frozenset({*labels, f"send {read.output.name}"})).of(task)
        whole = cycles.of("work", task.body)
        parts = sum(transfer.before + transfer.moving for transfer in script.transfers)
        assert parts + script.after == pytest.approx(whole.total)
        assert script.slot == pytest.approx(whole.slot)
        assert {transfer.label for transfer in script.transfers} >= labels
        visits = sum(read.visits(tensor) for tensor in read.streams)
        received = sum(transfer.label in labels for transfer in script.transfers)
        assert received == visits
        compared += 1
    assert compared > 20
