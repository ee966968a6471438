"""Copy Einsums: nothing is computed and nothing reused, so that tile shapes cost the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import prod

from tilewright.mapper.mapping import Mapping
from tilewright.mapper.mapspace.assemble import Tile, assemble
from tilewright.mapper.mapspace.fanout import Fan
from tilewright.mapper.mapspace.skeleton import skeleton
from tilewright.mapper.mapspace.slots import Loops, Slot
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.errors import UnsupportedFeature
from tilewright.mapper.searches.exhaustive import best_of
from tilewright.mapper.searches.metrics import Goal
from tilewright.mapper.searches.problem import compulsory_latency, leaks_of
from tilewright.mapper.searches.result import EinsumMapping, SpaceResult, Statistics


class CopySearch:
    """Two points of each template: with the most lanes and without any, tiles of one value.

    Every holder passes every value once, whatever the tiles: where both tensors have all rank
    variables, all points of a template move the same values (accelforge.md §2.2). So the energy
    is optimal when nothing leaks; of the latency only the compulsory time is proven.
    """

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> SpaceResult:
        """Return the best point; UnsupportedFeature when the copy repeats values."""
        began = time.monotonic()
        for access in space.einsum.accesses:
            if any(access.relevance(v) != "relevant" for v in space.einsum.bounds):
                raise UnsupportedFeature(
                    f"{space.einsum.name} is a copy that repeats or slides over {access.tensor}",
                    instead="from Python: search(..., method=RandomSearch(samples=…, seed=…))",
                )
        del budget  # two points of each template take no time
        best, count, _ = best_of(copy_mappings(space), space, goal, float("inf"))
        statistics = Statistics(len(space.templates), 0, 0, count, 1, time.monotonic() - began)
        if best is None:
            return SpaceResult(None, 0.0, False, statistics)
        return SpaceResult(best, least_of_copies(best, space, goal), True, statistics)


def least_of_copies(best: EinsumMapping, space: Mapspace, goal: Goal) -> float:
    """Return a lower bound of the goal, given the best of the points that copies have."""
    latency = compulsory_latency(space) * space.einsum.n_instances
    steady = not leaks_of(space.flat, space.conventions) and goal.price == 0
    return goal.value(best.energy if steady else 0.0, min(latency, best.latency))


def copy_mappings(space: Mapspace) -> Iterator[Mapping]:
    """Yield two points of each template: with the most lanes, and without any."""
    for template in space.templates:
        slots = skeleton(space.frame, template)
        fans = [slot for slot in slots if isinstance(slot, Fan)]
        if all(fan.choices for fan in fans):
            for slim in (True, False):
                yield assemble(space.frame, slots, tuple(_tiles(space, slots, slim)))


def _tiles(space: Mapspace, slots: tuple[Slot, ...], slim: bool) -> Iterator[Tile]:
    """Yield the tile below each slot: all iterations that no lane takes, at the first gap."""
    left = dict(space.einsum.bounds)
    chosen: dict[Slot, dict[str, int]] = {}
    for slot in slots:
        if isinstance(slot, Fan):
            lanes = _lanes(slot, left, slim)
            chosen[slot] = lanes
            left = {v: extent // lanes.get(v, 1) for v, extent in left.items()}
    shape = dict(space.einsum.bounds)
    for slot in slots:
        if isinstance(slot, Fan):
            shape = {v: extent // chosen[slot].get(v, 1) for v, extent in shape.items()}
        elif isinstance(slot, Loops):
            for v in slot.variables:
                shape[v] //= left.get(v, 1)
                left[v] = 1
        yield tuple(shape.values())


def _lanes(fan: Fan, left: dict[str, int], slim: bool) -> dict[str, int]:
    named = [dict(zip(fan.variables, choice, strict=True)) for choice in fan.choices]
    fitting = [c for c in named if all(left[v] % n == 0 for v, n in c.items())]
    order = sorted(fitting, key=lambda choice: prod(choice.values()), reverse=not slim)
    return order[0] if order else {}
