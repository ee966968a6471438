"""Each check finds a pass whose result was changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from grid_mappings import random_space_time

from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.passes.pass_checks import (
    PassError,
    check_bound,
    check_choice,
    check_coverage,
    check_kernel,
    check_places,
    check_tasks,
    check_text,
)
from tilewright.simulator.lowering.plan import Plan, plan_of, program_of
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.text.printing import print_program


def plans() -> list[tuple[Plan, Profile]]:
    drawn = []
    for seed in range(40):
        try:
            read = random_space_time(seed)[1]
            profile = ExecutionSettings().profile(read.grid)
            drawn.append((plan_of(read, profile.sram_reserved_bytes), profile))
        except InfeasibleMapping:
            continue
    return drawn


PLANS = plans()


def plan_with(holds: Callable[[Plan], object]) -> tuple[Plan, Profile]:
    return next((plan, profile) for plan, profile in PLANS if holds(plan))


@pytest.mark.parametrize("place", ["space", "time"])
@pytest.mark.parametrize("field", ["tile", "count"])
def test_a_loop_that_skips_or_repeats_values_is_found(place: str, field: str) -> None:
    read = plan_with(lambda plan: getattr(plan.read, place))[0].read
    loops = list(getattr(read, place))
    loops[0] = replace(loops[0], **{field: getattr(loops[0], field) + 1})
    with pytest.raises(PassError, match="do not visit each value once"):
        check_coverage(replace(read, **{place: tuple(loops)}))


def test_a_part_that_does_not_enter_is_found() -> None:
    plan, _ = plan_with(lambda plan: plan.streams)
    stream = replace(plan.streams[0], number=plan.streams[0].number + 1)
    with pytest.raises(PassError, match="enter at a time"):
        check_choice(replace(plan, streams=(stream, *plan.streams[1:])))


def test_a_result_that_is_added_up_from_too_few_is_found() -> None:
    plan, _ = plan_with(lambda plan: plan.sums.group_columns > 1)
    with pytest.raises(PassError, match="add up a result"):
        check_choice(replace(plan, sums=replace(plan.sums, group_columns=1)))


def test_a_bound_below_the_words_of_a_stream_is_found() -> None:
    plan, profile = plan_with(lambda plan: plan.streams)
    with pytest.raises(PassError, match="a stream has"):
        check_bound(plan, profile, 1)


def test_tiles_that_overlap_and_elements_without_a_role_are_found() -> None:
    plan, profile = plan_with(lambda plan: len(plan.read.tensors) > 1)
    first = dict.fromkeys(plan.addresses.first_word, 4)
    with pytest.raises(PassError, match="lies on another tensor"):
        check_places(replace(plan, addresses=replace(plan.addresses, first_word=first)), profile)
    with pytest.raises(PassError, match="do not match"):
        check_places(replace(plan, placement=plan.placement + np.int32(1)), profile)
    with pytest.raises(PassError, match="end behind 8 bytes"):
        check_places(plan, profile.with_values({"sram_bytes": 8, "sram_reserved_bytes": 0}))


def test_work_outside_a_tile_and_a_lost_loop_are_found() -> None:
    plan, _ = plan_with(lambda plan: plan.kernel.vector)
    name = plan.read.output.name
    layouts = {**plan.layouts, name: replace(plan.layouts[name], origin=10**6)}
    with pytest.raises(PassError, match="leaves the tile"):
        check_kernel(replace(plan, layouts=layouts))
    with pytest.raises(PassError, match="are not those of a tile"):
        check_kernel(replace(plan, kernel=replace(plan.kernel, vector=())))


def test_a_program_that_breaks_a_rule_or_differs_from_its_text_is_found() -> None:
    plan, profile = plan_with(lambda plan: plan.streams)
    program = program_of(plan)
    with pytest.raises(ProgramError, match="routable color"):
        check_tasks(program, profile.with_values({"colors": 1}))
    assert check_text(program, print_program(program))
    with pytest.raises(PassError, match="another program"):
        check_text(program, print_program(program) + "\n\n")
