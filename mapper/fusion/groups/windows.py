"""Cut the workload into windows of neighbouring Einsums, and bound each of them by itself.

What the Einsums of a window cost at least is known from their choices of tensors on chip; joining
them finds more, as they share a memory and loops. Where windows meet, only the tensors on chip
there must agree, so that bounds of windows add up to a bound of the workload (theory/fusion.md
§6.4).

Example: Q and K fit on chip each, not both: the window of the attention costs more than the sum of
what its Einsums cost at least, and that is found without the Einsums of the feed-forward layers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.fusion.bounds.on_chip_relaxation import OnChipRelaxation, Places
from tilewright.mapper.searches.exact.kernels import Floats

FEWEST_EINSUMS = 3  # of a window
MOST_CROSSING = 2  # places of tensors on chip where two windows meet

Costs = Sequence[Mapping[int, float]]  # per Einsum, by choice of tensors on chip as bits


class Window(NamedTuple):
    """Name a window: the Einsums `first` to `end - 1`, with the tensors on chip at its two ends.

    `number`: position of the window in the workload. `source`, `target`: numbers of the sets of
    tensors that are on chip before the first Einsum and behind the last.
    """

    number: int
    first: int
    end: int
    source: int
    target: int


class WindowCost(NamedTuple):
    """Pair a window with lower bounds: `cost` of its Einsums, `others` of all other Einsums.

    In joule or second. `attained`: some mapping of its Einsums, looked at by themselves, costs just
    `cost`.
    """

    window: Window
    cost: float
    others: float
    attained: bool


def window_ends(exchanged: ExchangedTensors) -> list[int]:
    """Return, per window, the number of the first Einsum behind it.

    A window ends only where at most MOST_CROSSING tensors are live, each passed from one Einsum to
    the next; windows have at least FEWEST_EINSUMS Einsums. One entry: the workload is not cut.
    """
    count, ends = len(exchanged.workload.einsums), [0]
    for end in range(1, count):
        live = exchanged.live_after(end - 1)
        passes_on = all(exchanged.users[place.tensor] == (end - 1, end) for place in live)
        is_long = end - ends[-1] >= FEWEST_EINSUMS and count - end >= FEWEST_EINSUMS
        if is_long and passes_on and len(live) <= MOST_CROSSING:
            ends.append(end)
    return [*ends[1:], count]


class WindowBounds:
    """Lower bounds of windows, and what follows for the workload and for each Einsum.

    `relaxation`: states (sets of live tensors on chip) and transitions of the Einsums. `ends`:
    number of the first Einsum behind each window. `tracked`: the (tensor, memory) pairs about which
    windows must agree. The argument `costs` of the methods: lower bound per Einsum by choice of
    tensors on chip as bits, joule or second.
    """

    def __init__(self, relaxation: OnChipRelaxation, ends: Sequence[int]) -> None:
        self._steps = relaxation.steps
        self._states = relaxation.states
        self.tracked = relaxation.tracked
        self._spans = list(zip([0, *ends[:-1]], ends, strict=True))
        self._raised: dict[Window, tuple[float, bool]] = {}  # bound, and whether it is attained

    def raise_to(self, window: Window, bound: float, attained: bool) -> None:
        """Set the lower bound of a window.

        `attained`: some mapping of its Einsums costs just that.
        """
        self._raised[window] = bound, attained

    def least_cost(self, costs: Costs) -> float:
        """Return a lower bound of the workload: the least sum of windows that agree."""
        return float(self._tails(self._matrices(costs))[0].min())

    def cheapest(self, costs: Costs) -> list[WindowCost]:
        """Return the cheapest path: one window per run of Einsums, agreeing where they meet."""
        matrices = self._matrices(costs)
        tails, heads = self._tails(matrices), self._heads(matrices)
        source, path = 0, list[WindowCost]()
        for number, matrix in enumerate(matrices):
            target = int(np.argmin(matrix[source] + tails[number + 1]))
            window = Window(number, *self._spans[number], source, target)
            others = float(heads[number][source] + tails[number + 1][target])
            bound, attained = self._raised.get(window, (0.0, False))
            cost = float(matrix[source, target])
            path.append(WindowCost(window, cost, others, attained and cost == bound))
            source = target
        return path

    def costs_of_others(self, costs: Costs) -> list[dict[int, float]]:
        """Return, per Einsum and choice of tensors on chip, the least cost of all other Einsums."""
        matrices = self._matrices(costs)
        tails, heads = self._tails(matrices), self._heads(matrices)
        result: list[dict[int, float]] = []
        for number, span in enumerate(self._spans):
            others: list[dict[int, float]] = [{} for _ in range(*span)]
            for source, target in np.ndindex(matrices[number].shape):
                rest = float(heads[number][source] + tails[number + 1][target])
                within = self.others_within(Window(number, *span, source, target), costs)
                for known, least in zip(others, within, strict=True):
                    for mask, cost in least.items():
                        known[mask] = min(known.get(mask, inf), cost + rest)
            result += others
        return result

    def costs_of_later(self, costs: Costs) -> list[dict[Places, float]]:
        """Return, per Einsum and set on chip behind it, the least cost of all later Einsums."""
        tails = self._tails(self._matrices(costs))
        result: list[dict[Places, float]] = []
        for number, (first, end) in enumerate(self._spans):
            remaining = [tails[number + 1]]
            for einsum in range(end - 1, first, -1):
                remaining.append(self._steps[einsum].backward(remaining[-1], costs[einsum]))
            for einsum, least in zip(range(first, end), reversed(remaining), strict=True):
                states = self._states[einsum].items()
                result.append({state: float(least[index]) for state, index in states})
        return result

    def within(self, window: Window, limit: float, costs: Costs) -> list[Window]:
        """Return the windows of the same Einsums whose bound is at most `limit`, over all ends."""
        matrix = self._matrices(costs)[window.number]
        pairs = np.argwhere(matrix <= limit).tolist()
        return [window._replace(source=source, target=target) for source, target in pairs]

    def with_nothing_between(self) -> list[Window]:
        """Return all windows with no tensor on chip before or behind any of them."""
        windows = [Window(number, *span, 0, 0) for number, span in enumerate(self._spans)]
        return [self.with_sets(window, frozenset()) for window in windows]

    def cost(self, window: Window, costs: Costs) -> float:
        """Return the lower bound of a window, joule or second."""
        return float(self._matrices(costs)[window.number][window.source, window.target])

    def with_sets(self, window: Window, on_chip: Places) -> Window:
        """Return the window with those tensors at its ends that are in `on_chip`."""
        source = self._state(window.first - 1, on_chip) if window.first else 0
        return window._replace(source=source, target=self._state(window.end - 1, on_chip))

    def _state(self, einsum: int, on_chip: Places) -> int:
        """Return the number of the state behind an Einsum with just the tensors of `on_chip`."""
        live = frozenset[TensorPlace]().union(*self._states[einsum])
        return self._states[einsum][on_chip & live]

    def others_within(self, window: Window, costs: Costs) -> list[dict[int, float]]:
        """Return, per Einsum of a window and choice, the least cost of its other Einsums."""
        paid = np.full(self._steps[window.first].sources, inf)
        paid[window.source] = 0.0
        result: list[dict[int, float]] = []
        behind = self._remaining(window, costs)
        for number, remaining in zip(range(window.first, window.end), behind, strict=True):
            step = self._steps[number]
            result.append(step.others(paid, remaining))
            paid = step.forward(paid, costs[number])
        return result

    def later_within(
        self, window: Window, costs: Costs, seen: Sequence[Places]
    ) -> list[dict[Places, float]]:
        """Return, per Einsum of a window, the least cost of the window's later Einsums.

        By the set of tensors on chip behind the Einsum. `seen`: per Einsum, the pairs that such a
        set is made of; over all other pairs the least is taken.
        """
        result: list[dict[Places, float]] = []
        behind = zip(range(window.first, window.end), self._remaining(window, costs), strict=True)
        for (number, remaining), places in zip(behind, seen, strict=True):
            least: dict[Places, float] = {}
            for state, index in self._states[number].items():
                key = state & places
                least[key] = min(least.get(key, inf), float(remaining[index]))
            result.append(least)
        return result

    def _remaining(self, window: Window, costs: Costs) -> list[Floats]:
        """Return, behind each Einsum of a window, the least cost of later ones in it; (states,)."""
        remaining = [np.full(self._steps[window.end - 1].targets, inf)]
        remaining[0][window.target] = 0.0
        for number in range(window.end - 1, window.first, -1):
            remaining.append(self._steps[number].backward(remaining[-1], costs[number]))
        return remaining[::-1]

    def _matrices(self, costs: Costs) -> list[Floats]:
        """Return, per window number, its lower bound by pair of ends; shape (sources, targets)."""
        matrices: list[Floats] = []
        for number, (first, end) in enumerate(self._spans):
            rows: list[Floats] = []
            for source in range(self._steps[first].sources):
                paid = np.full(self._steps[first].sources, inf)
                paid[source] = 0.0
                for einsum in range(first, end):
                    paid = self._steps[einsum].forward(paid, costs[einsum])
                for target in range(len(paid)):
                    window = Window(number, first, end, source, target)
                    paid[target] = max(paid[target], self._raised.get(window, (0.0, False))[0])
                rows.append(paid)
            matrices.append(np.array(rows))
        return matrices

    def _tails(self, matrices: Sequence[Floats]) -> list[Floats]:
        """Return, before each window and at the end, the least cost of later ones; (states,)."""
        tails = [np.zeros(self._steps[-1].targets)]
        for matrix in reversed(matrices):
            tails.append((matrix + tails[-1]).min(axis=1))
        return tails[::-1]

    def _heads(self, matrices: Sequence[Floats]) -> list[Floats]:
        """Return, before each window and at the end, the least cost of earlier ones; (states,)."""
        heads = [np.zeros(1)]
        for matrix in matrices:
            heads.append((heads[-1][:, np.newaxis] + matrix).min(axis=0))
        return heads
