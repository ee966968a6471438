"""Bounds of what each Einsum costs, by what it keeps on chip, and of what all others then cost.

They start at what computing and moving each tensor once takes, and are raised from there, each up
to the least that the Einsum can cost with that choice or to where the choice cannot matter: where
it exceeds what the incumbent leaves when all other Einsums cost their least.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.copies.fused_copies import CopyTable
from tilewright.mapper.fusion.fused_problem import EnergyLatency, FusedProblem
from tilewright.mapper.fusion.join.compatibility_graph import JoinLimits
from tilewright.mapper.fusion.join.cost_limit import CostLimit
from tilewright.mapper.fusion.join.on_chip_relaxation import OnChipRelaxation, RelaxationSweep
from tilewright.mapper.fusion.pmappings.pmapping_builder import (
    NOISE,
    OnChipChoice,
    PmappingFilter,
    TableBuilder,
)

DEEPENING = (1e-9, 0.003, 0.02, 0.1, 0.5, 2.0, 8.0, inf)
NEVER = (inf, inf)


@dataclass(frozen=True, slots=True)
class Tie:
    """What a search looks at that breaks ties: mappings that cost no more than `most`, with
    `choices` of tensors on chip (by name), of less than a known `value`."""

    value: float
    most: EnergyLatency
    choices: frozenset[tuple[str, int, int]]


@dataclass(slots=True)
class _ChoiceBound:
    """A choice of one Einsum. `bound`: of its costs; `start`: that before any search; `settled`:
    numbers of the metrics whose bounds are as high as they matter."""

    choice: OnChipChoice
    bound: EnergyLatency
    start: EnergyLatency | None = None
    raised: frozenset[int] = frozenset()


class EinsumBounds:
    """The bounds of one workload; of energy, or of latency if that is the objective."""

    def __init__(
        self,
        cascade: FusedProblem,
        maker: TableBuilder,
    ) -> None:
        self._builder = maker
        self._ties = cascade.ties
        self._metric = int(cascade.objective == "latency")
        self._copies = [solo if isinstance(solo, CopyTable) else None for solo in cascade.einsums]
        self._bounds = [
            [
                _ChoiceBound(choice, bound)
                for run in (() if isinstance(solo, CopyTable) else solo)
                for choice in maker.choices(run)
                if (bound := self._initial_bound(choice)) is not None
            ]
            for solo in cascade.einsums
        ]
        allowed = [list(costs) for costs in self._costs(0)]
        self._relaxation = OnChipRelaxation(cascade.exchanged, allowed)

    def _initial_bound(self, choice: OnChipChoice) -> EnergyLatency | None:
        """Return what is known of a choice before any search; None if it is not looked at."""
        if self._ties is None:
            return self._builder.compulsory_costs(choice)
        return self._ties.choice_bounds.get(choice.name)

    @property
    def least_costs(self) -> EnergyLatency:
        """A bound of the energy and one of the latency of the workload."""
        return self._relaxation.least_cost(self._costs(0)), self._relaxation.least_cost(
            self._costs(1)
        )

    def cost_limits(self, most: EnergyLatency) -> list[dict[OnChipChoice, CostLimit]]:
        """Return what each Einsum may cost with each choice that can matter, when the workload
        costs no more than `most`."""
        around = self._costs_of_others()
        found: list[dict[OnChipChoice, CostLimit]] = []
        for ways, others in zip(self._bounds, around, strict=True):
            found.append({})
            for way in ways:
                energy, latency = _remaining_limit(others[way.choice.mask], most)
                if way.bound[0] <= energy and way.bound[1] <= latency:
                    found[-1][way.choice] = CostLimit(energy, latency)
        return found

    def choice_bounds_within(
        self, most: EnergyLatency
    ) -> dict[tuple[str, int, int], EnergyLatency]:
        """Return the choices that can matter below `most`, by name, with their bounds."""
        allowed = self.cost_limits(most)
        pairs = [
            (way, few) for ways, few in zip(self._bounds, allowed, strict=True) for way in ways
        ]
        return {way.choice.name: way.bound for way, few in pairs if way.choice in few}

    def join_limits(self, most: EnergyLatency) -> JoinLimits:
        """Return what bounds a mapping that costs no more than `most` on the way."""
        energy, latency = (
            self._relaxation.costs_of_later(self._costs(metric)) for metric in (0, 1)
        )

        def to_go(number: int, on_chip: frozenset[TensorPlace]) -> EnergyLatency:
            state = on_chip & self._relaxation.tracked
            return energy[number].get(state, inf), latency[number].get(state, inf)

        loose = most[0] * (1 + NOISE), most[1] * (1 + NOISE)
        return JoinLimits(loose, to_go)

    def own_limits(self) -> list[dict[OnChipChoice, CostLimit]]:
        """Return the bounds of what each choice costs, as allowances: rows found so far."""
        first = self._metric
        return [
            {
                way.choice: CostLimit(*_with_metric(NEVER, first, way.bound[first]))
                for way in ways
                if way.bound[first] < inf
            }
            for ways in self._bounds
        ]

    def start_all(self) -> None:
        """Raise all bounds to where a search of each choice starts."""
        for way in (way for ways in self._bounds for way in ways):
            if way.start is None:
                self._start(way)

    def raise_bounds(
        self,
        wanted: Callable[[OnChipChoice], bool],
        most: Callable[[EnergyLatency], EnergyLatency],
        metric: int | None = None,
    ) -> None:
        """Raise the bounds of some choices as far as they matter when the workload costs no more
        than `most`, which depends on the least that it costs. `metric`: 0 energy, 1 latency."""
        first = self._metric if metric is None else metric
        for slack in DEEPENING:
            sweeps = [self._relaxation.sweep(self._costs(metric)) for metric in (0, 1)]
            for number, ways in enumerate(self._bounds):
                chosen = [way for way in ways if first not in way.raised and wanted(way.choice)]
                if chosen:
                    self._raise_choices(number, chosen, (first, slack), (sweeps, most))
                for place, sweep in enumerate(sweeps):
                    sweep.advance(self._einsum_costs(number, place))

    def _raise_choices(
        self, number: int, chosen: Sequence[_ChoiceBound],
        how: tuple[int, float],
        around: tuple[Sequence[RelaxationSweep], Callable[[EnergyLatency], EnergyLatency]],
    ) -> None:  # fmt: skip
        """Raise the bounds of some choices of one Einsum; `how`: metric, slack (see settle)."""
        sweeps, most = around
        energy, latency = (sweep.costs_of_others() for sweep in sweeps)
        least = (
            _least_total(energy, self._einsum_costs(number, 0)),
            _least_total(latency, self._einsum_costs(number, 1)),
        )
        limit = most(least)
        for way in chosen:
            mask = way.choice.mask
            self._raise_choice(way, how, _remaining_limit((energy[mask], latency[mask]), limit))

    def _raise_choice(self, way: _ChoiceBound, how: tuple[int, float], most: EnergyLatency) -> None:
        """Look for rows a little above the start; without any the bound is there."""
        if way.start is None:
            self._start(way)
        assert way.start is not None
        first, slack = how
        if way.bound[0] > most[0] or way.bound[1] > most[1]:
            way.bound, way.raised = NEVER, frozenset((0, 1))
            return
        start = way.start[first]
        limit = start * (1 + slack) if start > 0 and slack < inf else inf
        limit = min(limit, most[first])
        met = self._look_below(way, how, _with_metric(most, first, limit))
        if not met and limit >= most[first]:
            way.bound, way.raised = NEVER, way.raised | {first}

    def _look_below(self, way: _ChoiceBound, how: tuple[int, float], most: EnergyLatency) -> bool:
        """Look for rows that cost no more than `most`; tell whether the bound is now the least."""
        first, slack = how
        known, met = self._cached_least(way, first)
        if met and self._ties is None:
            return self._set_bound(way, first, known, met)
        if known > most[first] or (known == most[first] and not met):
            return self._set_bound(way, first, known, False)
        within = CostLimit(
            *(most if self._ties is not None else _with_metric(NEVER, first, most[first]))
        )
        if first and slack == DEEPENING[0] and self._meets_start(way, within):
            assert way.start is not None
            return self._set_bound(way, first, way.start[first], True)
        least = self._builder.least_costs(way.choice, PmappingFilter(within))
        if least is None:
            return self._set_bound(way, first, most[first], False)
        return self._set_bound(way, first, least[first], True)

    def _set_bound(self, way: _ChoiceBound, metric: int, bound: float, met: bool) -> bool:
        """Note a bound of one metric, and whether some row costs that."""
        way.bound = _with_metric(way.bound, metric, bound)
        if met:
            way.raised |= {metric}
        known, _ = self._cached_least(way, metric)
        if self._ties is None and (met or bound > known):
            self._builder.cache.least_costs[way.choice.key, metric] = bound, met
        return met

    def _cached_least(self, way: _ChoiceBound, metric: int) -> tuple[float, bool]:
        return self._builder.cache.least_costs.get((way.choice.key, metric), (0.0, False))

    def _meets_start(self, way: _ChoiceBound, within: CostLimit) -> bool:
        """Tell whether few rows show already that the latency of the start can be had."""
        assert way.start is not None
        for fused in (False, True):
            few = self._builder.least_costs(
                way.choice, PmappingFilter(within, fused, representatives=True)
            )
            if few is not None and few[1] <= way.start[1] * (1 + NOISE):
                return True
        return False

    def _start(self, way: _ChoiceBound) -> None:
        energy, latency = self._builder.start_bounds(way.choice)
        energy, latency = way.start = max(energy, way.bound[0]), max(latency, way.bound[1])
        known = self._cached_least(way, 0)[0], self._cached_least(way, 1)[0]
        way.bound = max(energy, known[0]), max(latency, known[1])

    def _costs_of_others(self) -> list[dict[int, EnergyLatency]]:
        """Return what all other Einsums cost at least, per Einsum and choice."""
        both = [self._relaxation.costs_of_others(self._costs(metric)) for metric in (0, 1)]
        return [
            {mask: (energy[mask], latency[mask]) for mask in energy}
            for energy, latency in zip(*both, strict=True)
        ]

    def _costs(self, metric: int) -> list[dict[int, float]]:
        """Return the bounds of one metric per Einsum and choice."""
        return [self._einsum_costs(number, metric) for number in range(len(self._bounds))]

    def _einsum_costs(self, number: int, metric: int) -> dict[int, float]:
        """Return the bounds of one metric per choice of an Einsum."""
        lone, costs = self._copies[number], dict[int, float]()
        pairs = [(way.choice.mask, way.bound[metric]) for way in self._bounds[number]]
        if lone is not None:
            pairs = [
                (rows.on_chip_mask, float(rows.least_costs[:, metric].min()))
                for rows in lone.groups
            ]
        for mask, cost in pairs:
            costs[mask] = min(costs.get(mask, inf), cost)
        return costs


def _least_total(others: Mapping[int, float], costs: Mapping[int, float]) -> float:
    """Return what the workload costs at least, seen from one Einsum."""
    return min((others[mask] + cost for mask, cost in costs.items()), default=inf)


def _remaining_limit(others: EnergyLatency, most: EnergyLatency) -> EnergyLatency:
    """Return what an Einsum may cost when all others cost `others`."""
    energy, latency = others
    if inf in others:
        return -inf, -inf
    return most[0] - energy, most[1] - latency


def _with_metric(pair: EnergyLatency, place: int, value: float) -> EnergyLatency:
    return (pair[0], value) if place else (value, pair[1])
