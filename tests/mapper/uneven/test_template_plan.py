"""The compiled form of a template for the uneven search."""

from __future__ import annotations

from math import prod

from buffer_spaces import space
from uneven_cases import uneven_space

from tilewright.mapper.searches.exact.label_fields import label_fields
from tilewright.mapper.searches.uneven.search_parts import whole_parts
from tilewright.mapper.searches.uneven.template_plan import TemplatePlan, make_plan
from tilewright.mapper.templates.slots import Reservation, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops


def plans(seed: int, *, timed: bool) -> list[TemplatePlan]:
    room = uneven_space(seed)
    fields = label_fields(room.problem, ())
    parts = whole_parts(room.problem, room.templates[:10])
    return [make_plan(room.problem, fields, part, timed) for part in parts]


def test_every_array_has_an_entry_per_slot() -> None:
    for seed in range(6):
        for plan in plans(seed, timed=True):
            slots = len(plan.slots)
            assert len(plan.charges) == len(plan.pins) == len(plan.needed_kinds) == slots + 1
            assert len(plan.most_lanes) == len(plan.most_lanes_of) == slots + 1
            assert len(plan.capacity_checks) == len(plan.tails) == slots
            assert plan.most_lanes[-1] == 1
            assert plan.step_kinds is not None
        assert all(plan.step_kinds is None for plan in plans(seed, timed=False))


def test_lanes_and_tails_shrink_slot_by_slot() -> None:
    for plan in plans(1, timed=False):
        for index, slot in enumerate(plan.slots):
            most = max(map(prod, slot.choices)) if isinstance(slot, SpatialLoops) else 1
            assert plan.most_lanes[index] == most * plan.most_lanes[index + 1]
            if index == 0:
                continue
            for v, tail in enumerate(plan.tails[index]):
                longer = plan.tails[index - 1][v]
                assert longer[len(longer) - len(tail) :] == tail
                assert len(longer) - len(tail) in (0, 1)


def test_only_memories_that_can_overflow_are_checked() -> None:
    for size, checked in ((4096, 0), (96, 3)):
        room = space("keep: All", size=size)
        fields = label_fields(room.problem, ())
        part = next(iter(whole_parts(room.problem, room.templates)))
        plan = make_plan(room.problem, fields, part, timed=False)
        checks = [check for check in plan.capacity_checks if check is not None]
        assert len(checks) == checked
        assert all(check.size == size for check in checks)
        assert [check.is_last for check in checks] == [False, False, True][:checked]
        reserved = [s for s in plan.slots if isinstance(s, Reservation) and s.component == "BUF"]
        assert [check.slot for check in checks] == reserved[:checked]
        assert any(isinstance(slot, TemporalLoops) for slot in plan.slots)
