"""What an element does with partial sums: by its role, and by the number type."""

from __future__ import annotations

import pytest
from grid_mappings import HARDWARE, typed_workload

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.instructions.element_map import Map
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.lowering.sums.sum_operations import (
    SumOperation,
    append_sum,
    joining_cycles,
    passed_parts,
    sends_beside_work,
    sum_operations,
)
from tilewright.simulator.lowering.sums.sum_roles import Role
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.instruction import DsdOperation


def added(form: str, dtype: str, *, passes: bool = False) -> SpaceTime:
    """A mapping whose elements add up; `passes`: the output passes in two buffers."""
    workload = typed_workload(form, dtype, dtype)
    (einsum,) = workload.einsums
    flat = grid_path(load_arch(HARDWARE), workload, einsum)
    space = GridMapspace(grid_of(flat), einsum)
    for family in space.families():
        read = space_time(flat, einsum, space.mapping_of(space.members(family)[0]))
        if max(space.groups(family.shares)) > 1 and (read.output.buffers == 2) == passes:
            return read
    raise AssertionError("no such mapping")


def test_the_last_sum_that_comes_is_sent_on_at_once() -> None:
    role = Role(("a", "b"), send="c", passes="d", passed=2)
    assert sum_operations("Z", role, 6) == (
        SumOperation("Z_tile", ("Z_tile", "a_in")),
        SumOperation("Z_out", ("Z_tile", "b_in")),
        SumOperation("Z_pass", ("d_in",), passes=True),
    )


@pytest.mark.parametrize(
    ("values", "passed", "parts"),
    [
        (2048, 15, (30720,)),
        (2048, 16, (30720, 2048)),
        (2000, 20, (32000, 8000)),
        (2048, 30, (30720, 30720)),
        (30000, 3, (30000, 30000, 30000)),
        (1, 0x7FFF, (0x7FFE, 1)),
    ],
)
def test_what_is_passed_on_goes_in_as_many_operations_as_it_needs(
    values: int, passed: int, parts: tuple[int, ...]
) -> None:
    assert passed_parts(values, passed) == parts
    assert sum(parts) == values * passed
    steps = sum_operations("Z", Role((), send="c", passes="d", passed=passed), values)
    assert [step.passes for step in steps] == [False] + [True] * len(parts)
    assert len({step.dest for step in steps[1:]}) == len(set(parts))


@pytest.mark.parametrize(
    ("form", "dtype", "expected"),
    [
        ("matrix times vector", "i16", "add16"),
        ("matrix times vector", "i32", "add"),
        ("largest of rows", "i16", "max"),
        ("largest of rows", "f16", "fmaxh"),
    ],
)
def test_a_sum_is_an_operation_or_a_map(form: str, dtype: str, expected: str) -> None:
    task = TaskBuilder("work")
    append_sum(task, added(form, dtype), Ref("out"), (Ref("tile"), Ref("in")), "add Z")
    (step,) = task.body
    if isinstance(step, DsdOperation):
        assert step.operation == expected
    else:
        assert isinstance(step, Map)
        assert [name for name, _ in step.inputs] == ["held", "came"]
        assert [inner.operation for inner in step.body] == [expected]  # type: ignore[attr-defined]
    assert getattr(step, "label", "") == "add Z"


def test_maps_send_behind_the_work() -> None:
    assert sends_beside_work(added("matrix product", "i16", passes=True))
    assert not sends_beside_work(added("matrix product", "i32", passes=True))
    assert not sends_beside_work(added("matrix product", "i16"))


def test_cycles_of_a_map_that_adds() -> None:
    """A launch; for each of 10 words a step of two cycles, an addition, a store but the last."""
    profile = load_profile("wse2-sdk-sim")
    launch = profile.descriptor_use_cycles + profile.descriptor_load_cycles
    assert joining_cycles(added("matrix product", "i32"), 10, profile) == launch + 39
    assert joining_cycles(added("matrix product", "i16"), 10, profile) is None
