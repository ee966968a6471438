"""Raise the bounds of windows of neighbouring Einsums by joining the Einsums of one at a time.

The windows of the cheapest path through the workload are joined, each below a limit that rises from
what its Einsums cost at least. Without a mapping the window costs more than the limit. The limit of
one window leaves little to each of its Einsums, so that their tables of pmappings stay small; a
limit of the workload would leave each Einsum the excess of all windows together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors
from tilewright.mapper.fusion.bounds.exchange_choice_bounds import EinsumBounds
from tilewright.mapper.fusion.bounds.on_chip_relaxation import Places
from tilewright.mapper.fusion.bounds.rising_limit import RisingLimit
from tilewright.mapper.fusion.groups.fusion_groups import JoinedMapping, PartLimits, joined
from tilewright.mapper.fusion.groups.windows import Window, WindowBounds, WindowCost

SECOND_STEP = 0.01  # of a limit, relative to what the workload costs at least
BEAM = (0.05, 0.2)  # above what a window costs at least: for a first mapping


class WindowSearch:
    """Raise the bounds of windows, until mappings attain them on the cheapest path of the workload.

    A window is a run of neighbouring Einsums with the tensors on chip before and behind it; a path
    has one window per run. `exchanged`: which tensors may stay on chip. `bounds`: of the Einsums,
    with windows. `join`: returns the best mapping of a window within limits, or None. `incumbent`:
    returns what the best known mapping of the workload costs. `work`: returns how many partial
    mappings all searches made so far. `mappings`: best mappings of windows that exchange nothing on
    chip with others.
    """

    def __init__(
        self,
        exchanged: ExchangedTensors,
        bounds: EinsumBounds,
        join: Callable[[PartLimits], JoinedMapping | None],
        incumbent: Callable[[], float],
        work: Callable[[], int],
    ) -> None:
        assert bounds.windows is not None
        self._exchanged = exchanged
        self._bounds = bounds
        self._windows: WindowBounds = bounds.windows
        self._join = join
        self._incumbent = incumbent
        self._work = work
        self._rising: dict[Window, RisingLimit] = {}
        self._attained: set[Window] = set()
        self.mappings: dict[Window, JoinedMapping] = {}

    def first(self) -> list[JoinedMapping] | None:
        """Find a mapping of each window fast, nothing on chip in between; None if one has none.

        Together they are a mapping of the workload. Only choices of tensors on chip are looked at
        that were searched before. Raises OutOfBudget.
        """
        ends = self._windows.with_nothing_between()
        mappings: list[JoinedMapping] = []
        for window in ends:
            cost = self._windows.cost(window, self._bounds.costs)
            mapping = next(filter(None, (self._beam(window, cost, rise) for rise in BEAM)), None)
            if mapping is None:
                return None
            mappings.append(mapping)
        return mappings

    def _beam(self, window: Window, cost: float, rise: float) -> JoinedMapping | None:
        """Search a window up to `cost * (1 + rise)` with few partial mappings; None: none found."""
        limit = cost * (1 + rise)
        others = self._windows.others_within(window, self._bounds.costs)
        most = [{mask: limit - each for mask, each in costs.items()} for costs in others]
        limits = self._bounds.limits_below(window.first, most, searched=True)
        remaining = self._remaining_in([window], window)
        return self._join(PartLimits(window.first, limits, remaining, limit))

    def step(self) -> bool:
        """Raise the bound of one window on the cheapest path; tell if any was left to raise.

        It is the one whose last search made fewest partial mappings. Raises OutOfBudget, and
        UnsupportedFeature for templates that cannot be modelled.
        """
        path = self._windows.cheapest(self._bounds.costs)
        value = sum(each.cost for each in path)
        open_windows = [each for each in path if not each.attained]
        if not open_windows or value >= self._incumbent():
            return False
        self._raise(min(open_windows, key=self._work_of), value)
        return True

    def whole(self) -> list[JoinedMapping] | None:
        """Return the windows' mappings on the cheapest path if they make a whole mapping.

        None unless each window's bound is attained and no tensor on chip passes between windows.
        """
        path = self._windows.cheapest(self._bounds.costs)
        if any(each.window not in self.mappings or not each.attained for each in path):
            return None
        return [self.mappings[each.window] for each in path]

    def improved(self, whole: JoinedMapping) -> JoinedMapping:
        """Return a mapping of the workload with its parts replaced by cheaper ones of windows.

        A part is replaced only where neither the old nor the new one exchanges tensors on chip with
        Einsums outside the window.
        """
        metric = self._bounds.metric
        for window, mapping in self.mappings.items():
            part = whole.part(window.first, window.end)
            is_closed = not self._crossing(window, frozenset(part.places_on_chip))
            if is_closed and mapping.label.measures[metric] < part.label.measures[metric]:
                before = whole.part(0, window.first)
                behind = whole.part(window.end, len(whole.steps))
                whole = joined([before, mapping, behind])
        return whole

    def _crossing(self, window: Window, on_chip: Places) -> frozenset[str]:
        """Return those tensors of `on_chip` that Einsums of the window and others use."""
        part = self._exchanged.part(window.first, window.end)
        return part.used_outside & {place.tensor for place in on_chip}

    def _raise(self, known: WindowCost, value: float) -> None:
        """Join the Einsums of a window below a higher limit than before, and set its bound.

        `value`: lower bound of the workload, of which the limit rises by a share. As long as no
        mapping of the window is found, windows with other tensors on chip at its ends are searched
        together with it: most tables are the same.
        """
        window = known.window
        rising = self._rising.setdefault(window, RisingLimit(SECOND_STEP))
        limit = min(known.cost + rising.step * value, self._incumbent() - known.others)
        made = self._work()
        most = self._most(window, limit)
        while self._bounds.raise_below(window.first, most, self._incumbent()):
            most = self._most(window, limit)
        limits = self._bounds.limits_below(window.first, most)
        remaining = self._remaining_in(self._alike(window, limit), window)
        mapping = self._join(PartLimits(window.first, limits, remaining, limit, beam=False))
        rising.advance(self._work() - made)
        bound = limit if mapping is None else mapping.label.measures[self._bounds.metric]
        on_chip = frozenset(mapping.places_on_chip) if mapping else frozenset()
        attained = self._windows.with_sets(window, on_chip) if mapping else None
        for each in self._alike(window, bound):
            self._windows.raise_to(each, bound, attained=False)
        if attained is None or mapping is None:
            return
        self._windows.raise_to(attained, bound, attained=True)
        self._attained.add(attained)
        if not self._crossing(window, on_chip):
            self.mappings[attained] = mapping

    def _work_of(self, known: WindowCost) -> int:
        """Return how many partial mappings the last search of a window made."""
        rising = self._rising.get(known.window)
        return 0 if rising is None else rising.work

    def _alike(self, window: Window, limit: float) -> list[Window]:
        """Return the windows to search together with one: other tensors on chip at their ends.

        `limit`: cost of the workload above which a window is of no use. Only the window itself once
        a mapping of these Einsums attains a bound.
        """
        if any(each.number == window.number for each in self._attained):
            return [window]
        return self._windows.within(window, limit, self._bounds.costs)

    def _most(self, window: Window, limit: float) -> list[dict[int, float]]:
        """Return, per Einsum of a window, what it may cost by choice of tensors on chip as bits.

        That is the window's limit less the least of the window's other Einsums.
        """
        most: list[dict[int, float]] = [{} for _ in range(window.first, window.end)]
        for each in self._alike(window, limit):
            others = self._windows.others_within(each, self._bounds.costs)
            for known, costs in zip(most, others, strict=True):
                for mask, cost in costs.items():
                    known[mask] = max(known.get(mask, -inf), limit - cost)
        return most

    def _remaining_in(
        self, alike: Sequence[Window], window: Window
    ) -> Callable[[int, Places], float]:
        """Return a function from an Einsum of a window and the set on chip behind it to a bound.

        The bound is of the window's later Einsums: the least over the windows `alike`.
        """
        part = self._exchanged.part(window.first, window.end)
        seen = [
            self._windows.tracked & frozenset(part.live_after(number))
            for number in range(window.end - window.first)
        ]
        later: list[dict[Places, float]] = [{} for _ in seen]
        for each in alike:
            of_window = self._windows.later_within(each, self._bounds.costs, seen)
            for known, costs in zip(later, of_window, strict=True):
                for places, cost in costs.items():
                    known[places] = min(known.get(places, inf), cost)
        return lambda number, on_chip: later[number].get(on_chip & seen[number], inf)
