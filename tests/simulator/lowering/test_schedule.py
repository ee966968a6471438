"""Tasks of an element: what is received, worked on and sent, in one task or overlapped."""

import pytest
from grids import candidate, matvec

from tilewright.simulator.lowering.lower import lower
from tilewright.simulator.lowering.roles import Role
from tilewright.simulator.lowering.schedule import SendOperation, send_operations
from tilewright.simulator.program.code_parts import all_instructions
from tilewright.simulator.program.instruction import DsdOperation


def test_sums_before_the_last_go_through_memory() -> None:
    assert send_operations("y", Role((), None)) == ()
    assert send_operations("y", Role((), "sum0a")) == (SendOperation("y_out", ("y_tile",)),)
    assert send_operations("y", Role(("sum0a", "sum1b"), "out")) == (
        SendOperation("y_tile", ("y_tile", "sum0a_in")),
        SendOperation("y_out", ("y_tile", "sum1b_in")),
    )


@pytest.mark.parametrize(("buffers", "tasks"), [(1, ["work"]), (2, ["start", "work"])])
def test_double_buffers_have_a_task_that_starts_the_first_tile(
    buffers: int, tasks: list[str]
) -> None:
    found = candidate(
        matvec(8, 24), 2, 2, shard_x="k", shard_y="m", tile_variable="k", tile=3, buffers=buffers
    )
    for code in lower(found).program.codes:
        assert [task.name for task in code.tasks][: len(tasks)] == tasks
        starts = {task.name for task in code.tasks if task.entry}
        assert starts == {tasks[0]}


def test_single_buffers_receive_work_and_send_in_turn() -> None:
    found = candidate(matvec(8, 24), 2, 2, shard_x="k", shard_y="m")
    program = lower(found).program
    for code in program.codes:
        operations = [i for _, i in all_instructions(code) if isinstance(i, DsdOperation)]
        labels = [op.label for op in operations if op.label]
        assert labels[0].startswith("receive ")
        assert labels[-1].startswith("send ")
        assert not any(op.asynchronous for op in operations)


def test_overlapped_receives_run_on_microthreads() -> None:
    found = candidate(
        matvec(8, 24), 2, 2, shard_x="k", shard_y="m", tile_variable="k", tile=3, buffers=2
    )
    for code in lower(found).program.codes:
        receives = [
            i
            for _, i in all_instructions(code)
            if isinstance(i, DsdOperation) and i.label.startswith("receive")
        ]
        assert any(op.asynchronous for op in receives)
