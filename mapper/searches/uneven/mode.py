"""The templates of one mapspace made ready for the uneven search, and bounds of their steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import prod

from tilewright.mapper.mapspace.fanout import Fan
from tilewright.mapper.mapspace.frame import Frame
from tilewright.mapper.mapspace.placement import Template
from tilewright.mapper.mapspace.skeleton import skeleton
from tilewright.mapper.mapspace.slots import Slot
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.fields import Fields
from tilewright.mapper.searches.program import check_order
from tilewright.mapper.searches.uneven.chains import ALL, Chains, Kind
from tilewright.mapper.searches.uneven.grid import Grid
from tilewright.mapper.searches.uneven.plan import Plan, make_plan
from tilewright.mapper.searches.uneven.sweep import Sweep

MAX_COMBINATIONS = 5_000


class Mode:
    """A layout of the labels with what it needs: `timed` counts steps and calls too."""

    def __init__(
        self, frame: Frame, layout: Fields, grid: Grid, templates: Iterable[Template], timed: bool
    ) -> None:
        self.timed = timed
        self.layout = layout if timed else replace(layout, gates={}, calls={})
        self.plans: list[Plan] = []
        for template in templates:
            slots = skeleton(frame, template)
            if all(slot.choices for slot in slots if isinstance(slot, Fan)):
                check_order(frame, slots)
                self.plans.append(make_plan(frame, self.layout, template, slots, timed))
        chains = [
            Chains(bound, v in frame.uneven, self._kinds(i))
            for i, (v, bound) in enumerate(frame.einsum.bounds.items())
        ]
        self.sweep = Sweep(frame, self.layout, grid, chains)

    def _kinds(self, variable: int) -> list[Kind]:
        return sorted({ALL, *(k for plan in self.plans for k in plan.needed[0][variable])})


def least_steps(space: Mapspace, slots: tuple[Slot, ...]) -> float:
    """Return a lower bound of the steps: each variable's share of the lanes, rounded up."""
    bounds = space.einsum.bounds
    fans = [slot for slot in slots if isinstance(slot, Fan)]
    reached = {(1,) * len(bounds)}
    for fan in fans:
        chosen = [dict(zip(fan.variables, choice, strict=True)) for choice in fan.choices]
        if len(reached) * len(chosen) > 50 * MAX_COMBINATIONS:
            most = prod(max(map(prod, one.choices)) for one in fans)
            return space.einsum.operations / most
        reached = {
            tuple(
                min(bound, used * lanes.get(v, 1))
                for (v, bound), used in zip(bounds.items(), spent, strict=True)
            )
            for spent in reached
            for lanes in chosen
        }
    return float(
        min(
            prod(-(-b // lanes) for b, lanes in zip(bounds.values(), spent, strict=True))
            for spent in reached
        )
    )
