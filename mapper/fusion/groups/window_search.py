"""Raise the bounds of windows of neighbouring Einsums by joining the Einsums of one at a time.

The windows of the cheapest way through the workload are joined, each below a limit that rises from
what its Einsums cost at least. Without a mapping the window costs more than the limit. Tables hold
only what the limit of one window leaves to its Einsums, so that they stay small where a limit of
the workload would leave each Einsum all that all windows together may cost more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.fusion.groups.fusion_groups import JoinedMapping
from tilewright.mapper.fusion.groups.windows import Window, WindowBounds, WindowCost
from tilewright.mapper.fusion.join.compatibility_graph import RemainingBound
from tilewright.mapper.fusion.join.cost_limit import CostLimit, EnergyLatency
from tilewright.mapper.fusion.join.exchange_choice_bounds import EinsumBounds
from tilewright.mapper.fusion.pmappings.pmapping_builder import OnChipChoice

# above what a window costs at least, relative to what the workload costs at least
RISES = (1e-9, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.08, 0.15, 0.3, 0.6, 1.0)


class WindowLimits(NamedTuple):
    """What the Einsums of a window may cost when they are joined by themselves.

    `window`: which. `limits`: per Einsum, by choice of tensors on chip. `remaining`: what its later
    Einsums cost at least. `highest`: what all may cost, joule or second.
    """

    window: Window
    limits: Sequence[Mapping[OnChipChoice, CostLimit]]
    remaining: RemainingBound
    highest: float


class WindowSearch:
    """Raise the bounds of the windows on the cheapest way until joins of windows attain them.

    `exchanged`: which tensors may stay on chip. `bounds`: of the Einsums, with windows. `join`:
    returns the best mapping of a window within limits, or None. `incumbent`: returns what the best
    known mapping of the workload costs. `mappings`: of windows, by themselves whole mappings.
    """

    def __init__(
        self,
        exchanged: ExchangedTensors,
        bounds: EinsumBounds,
        join: Callable[[WindowLimits], JoinedMapping | None],
        incumbent: Callable[[], float],
    ) -> None:
        assert bounds.windows is not None
        self._exchanged = exchanged
        self._bounds = bounds
        self._windows: WindowBounds = bounds.windows
        self._join = join
        self._incumbent = incumbent
        self._searches: dict[Window, int] = {}
        self.mappings: dict[Window, JoinedMapping] = {}

    def step(self) -> bool:
        """Raise one bound of a window; tell whether any is left to be raised.

        Raises OutOfBudget, and UnsupportedFeature for templates that cannot be modelled.
        """
        path = self._windows.cheapest(self._bounds.costs)
        value = sum(each.cost for each in path)
        open_windows = [each for each in path if not each.attained]
        if not open_windows or value >= self._incumbent():
            return False
        least = min(open_windows, key=lambda each: self._searches.get(each.window, 0))
        self._raise(least, value)
        return True

    def whole(self) -> list[JoinedMapping] | None:
        """Return the mappings of the windows on the cheapest way, if these are one of the workload.

        That is so if each was attained and no tensor on chip passes between windows.
        """
        path = self._windows.cheapest(self._bounds.costs)
        if any(each.window not in self.mappings or not each.attained for each in path):
            return None
        return [self.mappings[each.window] for each in path]

    def _raise(self, known: WindowCost, value: float) -> None:
        """Join the Einsums of a window below a higher limit than before."""
        window = known.window
        number = self._searches[window] = self._searches.get(window, 0) + 1
        rise = RISES[min(number, len(RISES)) - 1] * value
        highest = self._incumbent() - known.others
        limit = min(known.cost + rise, highest)
        most = self._most(window, limit)
        while self._bounds.raise_below(window.first, most, self._incumbent()):
            most = self._most(window, limit)
        limits = self._bounds.limits_below(window.first, most)
        mapping = self._join(WindowLimits(window, limits, self._remaining(window), limit))
        if mapping is None:
            self._windows.raise_to(window, limit, attained=False)
            return
        self._windows.raise_to(window, mapping.label.measures[self._bounds.metric], attained=True)
        if not self._exchanged.part(window.first, window.end).used_outside & _on_chip(mapping):
            self.mappings[window] = mapping

    def _most(self, window: Window, limit: float) -> list[dict[int, float]]:
        """Return what each Einsum of a window may cost, by choice of tensors on chip."""
        others = self._windows.others_within(window, self._bounds.costs)
        return [{mask: limit - cost for mask, cost in costs.items()} for costs in others]

    def _remaining(self, window: Window) -> RemainingBound:
        """Return what bounds the later Einsums of a window, by what is on chip in between."""
        part = self._exchanged.part(window.first, window.end)
        seen = [
            self._windows.tracked & frozenset(part.live_after(number))
            for number in range(window.end - window.first)
        ]
        later = self._windows.later_within(window, self._bounds.costs, seen)
        metric, infinite = self._bounds.metric, float("inf")

        def remaining(number: int, on_chip: frozenset[TensorPlace]) -> EnergyLatency:
            cost = later[number].get(on_chip & seen[number], infinite)
            return (0.0, cost) if metric else (cost, 0.0)

        return remaining


def _on_chip(mapping: JoinedMapping) -> frozenset[str]:
    """Return the tensors that a mapping of neighbouring Einsums exchanges on chip."""
    return frozenset(
        place.tensor
        for chosen, step in zip(mapping.label.pmappings, mapping.steps, strict=True)
        for place, depth in zip(step.tables[0].boundary, chosen.group.depths, strict=True)
        if depth >= 0
    )
