"""Which tensors stay on chip, and nothing else: a relaxation of the search of a workload.

Each Einsum keeps a set of its exchanged tensors on chip; users of one tensor must agree. Rows of an
Einsum with one such choice cost at least so much, and all other Einsums together at least the least
that goes with it: a bound far above the sum of what each Einsum costs at best (fusion.md §6.3,
with the choice as the key).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.searches.exact.kernels import Floats, Ints

MAX_TRACKED = 10  # tensors live at a time whose users must agree here; more would only take time


@dataclass(frozen=True, slots=True)
class _Transitions:
    """Transitions of one Einsum: from state `source` by choice number `choice` to `target`."""

    masks: tuple[int, ...]
    source: Ints
    choice: Ints
    target: Ints
    sources: int
    targets: int

    def costs_of(self, cost: Mapping[int, float]) -> Floats:
        """Return the costs of the choices, inf where there is none."""
        return np.array([cost.get(mask, inf) for mask in self.masks])


class RelaxationSweep:
    """A walk over the Einsums, first to last: what all others cost, when those already passed cost
    what `go_on` was told and those to come what was known at the start."""

    def __init__(self, steps: tuple[_Transitions, ...], rest: Sequence[Floats]) -> None:
        self._steps = steps
        self._rest = rest
        self._number = 0
        self._paid = np.zeros(1)

    def costs_of_others(self) -> dict[int, float]:
        """Return, per choice of the next Einsum, the least that all others cost (inf: no way)."""
        step = self._steps[self._number]
        around = np.full(len(step.masks), inf)
        rest = self._rest[self._number]
        np.minimum.at(around, step.choice, self._paid[step.source] + rest[step.target])
        return dict(zip(step.masks, around.tolist(), strict=True))

    def advance(self, cost: Mapping[int, float]) -> None:
        """Pass the next Einsum, whose choices cost at least so much."""
        step = self._steps[self._number]
        following = np.full(step.targets, inf)
        np.minimum.at(
            following, step.target, self._paid[step.source] + step.costs_of(cost)[step.choice]
        )
        self._paid = following
        self._number += 1


class OnChipRelaxation:
    """The choices of all Einsums, as bits of their boundary tensors."""

    def __init__(self, boundaries: ExchangedTensors, allowed: Sequence[Collection[int]]) -> None:
        self.tracked = tracked = _tracked_places(boundaries)
        self._steps: list[_Transitions] = []
        self._states: list[dict[frozenset[TensorPlace], int]] = []
        states: dict[frozenset[TensorPlace], int] = {frozenset(): 0}
        live: frozenset[TensorPlace] = frozenset()
        for number, masks in enumerate(allowed):
            boundary = boundaries.places_of_einsum(boundaries.workload.einsums[number])
            own = [place if place in tracked else None for place in boundary]
            before, live = live, frozenset(boundaries.live_after(number)) & tracked
            step, states = _join_states(states, own, (before, live), tuple(sorted(masks)))
            self._steps.append(step)
            self._states.append(states)

    def costs_of_others(self, costs: Sequence[Mapping[int, float]]) -> list[dict[int, float]]:
        """Return, per Einsum and choice, the least that all other Einsums cost (inf: no way)."""
        sweep = self.sweep(costs)
        found: list[dict[int, float]] = []
        for cost in costs:
            found.append(sweep.costs_of_others())
            sweep.advance(cost)
        return found

    def sweep(self, costs: Sequence[Mapping[int, float]]) -> RelaxationSweep:
        """Start a walk over the Einsums whose own costs may rise on the way."""
        return RelaxationSweep(
            tuple(self._steps), self._remaining_costs(self._costs_per_step(costs))[1:]
        )

    def costs_of_later(
        self, costs: Sequence[Mapping[int, float]]
    ) -> list[dict[frozenset[TensorPlace], float]]:
        """Return, per Einsum and set of tracked tensors on chip behind it, the least that all later
        Einsums cost."""
        rest = self._remaining_costs(self._costs_per_step(costs))[1:]
        return [
            {state: float(few[number]) for state, number in states.items()}
            for states, few in zip(self._states, rest, strict=True)
        ]

    def least_cost(self, costs: Sequence[Mapping[int, float]]) -> float:
        """Return the least that all Einsums cost together."""
        others = self.costs_of_others(costs)[0]
        return min((others[mask] + cost for mask, cost in costs[0].items()), default=inf)

    def _costs_per_step(self, costs: Sequence[Mapping[int, float]]) -> list[Floats]:
        return [step.costs_of(cost) for step, cost in zip(self._steps, costs, strict=True)]

    def _remaining_costs(self, priced: Sequence[Floats]) -> list[Floats]:
        rest = [np.zeros(self._steps[-1].targets)]
        for step, cost in zip(reversed(self._steps), reversed(priced), strict=True):
            here = np.full(step.sources, inf)
            np.minimum.at(here, step.source, cost[step.choice] + rest[-1][step.target])
            rest.append(here)
        return rest[::-1]


def _tracked_places(boundaries: ExchangedTensors) -> frozenset[TensorPlace]:
    """Choose tensors that with their places are at most MAX_TRACKED at a time."""
    chosen: set[TensorPlace] = set()
    for tensor in boundaries.workload.tensors:
        if tensor in boundaries.exchangeable:
            users = boundaries.users[tensor]
            lives = [set(boundaries.live_after(b)) for b in range(users[0], users[-1])]
            places = boundaries.places_of_tensor(tensor)
            if all(len(live & chosen) + len(places) <= MAX_TRACKED for live in lives):
                chosen.update(places)
    return frozenset(chosen)


def _join_states(
    states: Mapping[frozenset[TensorPlace], int],
    boundary: Sequence[TensorPlace | None],
    live: tuple[frozenset[TensorPlace], frozenset[TensorPlace]],
    masks: tuple[int, ...],
) -> tuple[_Transitions, dict[frozenset[TensorPlace], int]]:
    """Join every state with every choice that agrees with it; `live`: before and after."""
    here = live[0].intersection(boundary)
    after: dict[frozenset[TensorPlace], int] = {}
    rows: list[tuple[int, int, int]] = []
    stays = [frozenset(t for i, t in enumerate(boundary) if t and m >> i & 1) for m in masks]
    for state, source in states.items():
        for number, kept in enumerate(stays):
            if state & here == kept & here:
                target = (state | kept) & live[1]
                rows.append((source, number, after.setdefault(target, len(after))))
    table = np.array(rows, np.int64).reshape(-1, 3)
    columns = table[:, 0], table[:, 1], table[:, 2]
    return _Transitions(masks, *columns, len(states), len(after)), after
