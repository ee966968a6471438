"""Relax the search of a workload to the choice of the tensors that stay on chip.

Each Einsum keeps a set of its exchanged tensors on chip, and the users of one tensor must agree.
The pmappings of an Einsum with one such choice cost at least so much, and all other Einsums
together at least the least that agrees with it. This bound is far above the sum of what each Einsum
costs at best (theory/fusion.md §6.3, with the choice as the compatibility).

Example: Y costs 5 in its producer and 4 in its consumer on chip, 3 and 9 off chip. The bound is
9 = 5 + 4; the sum of the least costs would be 7 = 3 + 4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.searches.exact.kernels import Floats, Ints

MAX_TRACKED = 10  # tensors live at a time whose users must agree here; more would only take time

Places = frozenset[TensorPlace]  # tracked tensors on chip, at their places


@dataclass(frozen=True, slots=True)
class Transitions:
    """Say how the choices of one Einsum lead from states before it to states behind it.

    A state is the set of live tracked tensors on chip, by number. `masks`: the choices, as bits of
    the boundary. `source`, `choice`, `target`: numbers of state before, choice and state behind;
    one entry per transition. `sources`, `targets`: how many states there are before and behind.
    """

    masks: tuple[int, ...]
    source: Ints
    choice: Ints
    target: Ints
    sources: int
    targets: int

    def costs_of(self, cost: Mapping[int, float]) -> Floats:
        """Return the cost of each choice, shape (choices,).

        Inf for one that `cost` does not list.
        """
        return np.array([cost.get(mask, inf) for mask in self.masks])

    def forward(self, paid: Floats, cost: Mapping[int, float]) -> Floats:
        """Return, per state behind the Einsum, the least cost of Einsums so far; (targets,).

        `paid`: least cost per state before it, shape (sources,). `cost`: of its choices, joule or
        second.
        """
        following = np.full(self.targets, inf)
        total = paid[self.source] + self.costs_of(cost)[self.choice]
        np.minimum.at(following, self.target, total)
        return following

    def backward(self, remaining: Floats, cost: Mapping[int, float]) -> Floats:
        """Return, per state before the Einsum, the least cost of it and later ones; (sources,).

        `remaining`: least cost of the later ones per state behind it, shape (targets,). `cost`: of
        its choices, joule or second.
        """
        before = np.full(self.sources, inf)
        total = self.costs_of(cost)[self.choice] + remaining[self.target]
        np.minimum.at(before, self.source, total)
        return before

    def others(self, paid: Floats, remaining: Floats) -> dict[int, float]:
        """Return, per choice of this Einsum, the least cost of all other Einsums.

        `paid`: least cost of earlier ones per state before. `remaining`: of later ones per state
        behind.
        """
        costs = np.full(len(self.masks), inf)
        np.minimum.at(costs, self.choice, paid[self.source] + remaining[self.target])
        return dict(zip(self.masks, costs.tolist(), strict=True))


class RelaxationSweep:
    """Walk over the Einsums in order, and tell what all other Einsums cost at least.

    Einsums already passed cost what `advance` was told, those to come what was known at the start;
    users of one tensor must agree where it stays. `steps`: how choices of tensors on chip lead from
    set to set of live tensors. `remaining`: least cost behind each Einsum, per such set.
    """

    def __init__(self, steps: tuple[Transitions, ...], remaining: Sequence[Floats]) -> None:
        self._steps = steps
        self._remaining = remaining
        self._number = 0
        self._paid = np.zeros(1)

    def costs_of_others(self) -> dict[int, float]:
        """Return, per choice of the next Einsum, the least that all other Einsums cost.

        Keys are choices of tensors on chip as bits. In the unit of the costs, joule or second; inf
        if no choices of the others agree.
        """
        return self._steps[self._number].others(self._paid, self._remaining[self._number])

    def advance(self, cost: Mapping[int, float]) -> None:
        """Pass the next Einsum, with new lower bounds of its choices of tensors on chip.

        `cost`: joule or second by choice, as bits; a choice that is not listed costs inf.
        """
        self._paid = self._steps[self._number].forward(self._paid, cost)
        self._number += 1


class OnChipRelaxation:
    """Bound the cost of the workload by choosing only which tensors stay on chip.

    Each Einsum makes a choice: the places of its exchanged tensors on chip, as bits over all its
    places. Users of one tensor must agree; everything else is ignored, so that the cheapest choices
    that agree give a lower bound (theory/fusion.md §6.3). `exchanged`: which tensors may stay
    where. `allowed`: per Einsum, the choices looked at. `tracked`: the places about which users
    must agree; others are left out so that at most MAX_TRACKED are live at a time, which weakens
    the bound. `steps`: per Einsum, how choices lead from state to state. `states`: per Einsum, the
    numbers of the states behind it, each a set of tracked tensors on chip.
    """

    def __init__(self, exchanged: ExchangedTensors, allowed: Sequence[Collection[int]]) -> None:
        """Prepare how the choices of each Einsum lead from set to set of live tensors on chip.

        `allowed`: per Einsum, its choices of tensors on chip, each a number with a bit per tensor.
        """
        self.tracked = tracked = _tracked_places(exchanged)
        steps: list[Transitions] = []
        self.states: list[dict[Places, int]] = []
        states: dict[Places, int] = {frozenset(): 0}
        live: Places = frozenset()
        for number, masks in enumerate(allowed):
            places = exchanged.places_of_einsum(exchanged.workload.einsums[number])
            boundary = [place if place in tracked else None for place in places]
            live_before, live = live, frozenset(exchanged.live_after(number)) & tracked
            choices = _EinsumChoices(boundary, tuple(sorted(masks)), live_before, live)
            step, states = _join_states(states, choices)
            steps.append(step)
            self.states.append(states)
        self.steps = tuple(steps)

    def costs_of_others(self, costs: Sequence[Mapping[int, float]]) -> list[dict[int, float]]:
        """Return, per Einsum and choice of tensors on chip, the least that all other Einsums cost.

        `costs`: lower bounds per Einsum by choice (as bits), joule or second. inf if no choices of
        the others agree. Example: Y costs its producer 5 and its consumer 4 on chip, 3 and 9 off
        chip: for the producer's choices the others cost 4 and 9 (theory/fusion.md §6.3).
        """
        sweep = self.sweep(costs)
        costs_of_others: list[dict[int, float]] = []
        for cost in costs:
            costs_of_others.append(sweep.costs_of_others())
            sweep.advance(cost)
        return costs_of_others

    def sweep(self, costs: Sequence[Mapping[int, float]]) -> RelaxationSweep:
        """Start a walk over the Einsums on which their costs may be raised one after the other.

        `costs`: lower bounds per Einsum by choice of tensors on chip (as bits), joule or second.
        """
        remaining = self._remaining_costs(costs)
        return RelaxationSweep(self.steps, remaining[1:])

    def costs_of_later(self, costs: Sequence[Mapping[int, float]]) -> list[dict[Places, float]]:
        """Return, per Einsum and set of tensors on chip behind it, the least cost of later Einsums.

        `costs`: lower bounds per Einsum by choice of tensors on chip (as bits), joule or second.
        Keys of the result are sets of (tensor, memory) pairs; inf if no choices of the later
        Einsums agree.
        """
        remaining = self._remaining_costs(costs)[1:]
        return [
            {state: float(costs_after[number]) for state, number in states.items()}
            for states, costs_after in zip(self.states, remaining, strict=True)
        ]

    def least_cost(self, costs: Sequence[Mapping[int, float]]) -> float:
        """Return the least that all Einsums cost together, with choices that agree.

        `costs`: lower bounds per Einsum by choice of tensors on chip (as bits), joule or second; so
        is the result. inf if no choices agree (theory/fusion.md §6.3).
        """
        costs_of_others = self.costs_of_others(costs)[0]
        return min((costs_of_others[mask] + cost for mask, cost in costs[0].items()), default=inf)

    def _remaining_costs(self, costs: Sequence[Mapping[int, float]]) -> list[Floats]:
        """Return, before each Einsum and at the end, the least cost of later Einsums per state.

        Arrays of shape (states,), joule or second.
        """
        remaining = [np.zeros(self.steps[-1].targets)]
        for step, cost in zip(reversed(self.steps), reversed(costs), strict=True):
            remaining.append(step.backward(remaining[-1], cost))
        return remaining[::-1]


def _tracked_places(exchanged: ExchangedTensors) -> Places:
    """Return the (tensor, memory) pairs about which Einsums must agree: few live at a time."""
    chosen: set[TensorPlace] = set()
    for tensor in exchanged.workload.tensors:
        if tensor in exchanged.exchangeable:
            users = exchanged.users[tensor]
            live_sets = [set(exchanged.live_after(b)) for b in range(users[0], users[-1])]
            places = exchanged.places_of_tensor(tensor)
            if all(len(live & chosen) + len(places) <= MAX_TRACKED for live in live_sets):
                chosen.update(places)
    return frozenset(chosen)


class _EinsumChoices(NamedTuple):
    """The choices of one Einsum, and the tracked places that may be live around it.

    `boundary`: per bit of a choice its (tensor, memory) pair, None if not tracked. `masks`: the
    choices. `live_before`, `live_after`: pairs that may be on chip before and behind the Einsum.
    """

    boundary: Sequence[TensorPlace | None]
    masks: tuple[int, ...]
    live_before: Places
    live_after: Places


def _join_states(
    states: Mapping[Places, int], choices: _EinsumChoices
) -> tuple[Transitions, dict[Places, int]]:
    """Combine each state before an Einsum with each of its choices that agrees with it.

    `states`: sets of pairs on chip, with their numbers. Return the transitions and the numbered
    states behind the Einsum.
    """
    boundary, masks, live_before, live_after = choices
    common = live_before.intersection(boundary)
    targets: dict[Places, int] = {}
    entries: list[tuple[int, int, int]] = []
    on_chip = [frozenset(p for i, p in enumerate(boundary) if p and m >> i & 1) for m in masks]
    for state, source in states.items():
        for number, places in enumerate(on_chip):
            if state & common == places & common:
                target = (state | places) & live_after
                entries.append((source, number, targets.setdefault(target, len(targets))))
    table = np.array(entries, np.int64).reshape(-1, 3)
    columns = table[:, 0], table[:, 1], table[:, 2]
    return Transitions(masks, *columns, len(states), len(targets)), targets
