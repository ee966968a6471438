"""Bounds of what each Einsum costs, by what it keeps on chip, and of what all others then cost.

They start at what computing and moving each tensor once takes, and are raised from there, each up
to the least that the Einsum can cost with that choice or to where the choice cannot matter: where
it exceeds what the incumbent leaves when all other Einsums cost their least.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from tilewright.mapper.fusion.boundary.exchanged_tensors import Place
from tilewright.mapper.fusion.copies.fused_copies import LoneTable
from tilewright.mapper.fusion.fused_problem import Cascade, Pair
from tilewright.mapper.fusion.join.compatibility_graph import Limits
from tilewright.mapper.fusion.join.cost_limit import Allowance
from tilewright.mapper.fusion.join.on_chip_relaxation import Choices, Sweep
from tilewright.mapper.fusion.pmappings.pmapping_builder import NOISE, Choice, TableMaker, Wanted

DEEPENING = (1e-9, 0.003, 0.02, 0.1, 0.5, 2.0, 8.0, inf)
NEVER = (inf, inf)


@dataclass(frozen=True, slots=True)
class Tie:
    """What a search looks at that breaks ties: mappings that cost no more than `most`, with
    `choices` of tensors on chip (by name), of less than a known `value`."""

    value: float
    most: Pair
    choices: frozenset[tuple[str, int, int]]


@dataclass(slots=True)
class _Way:
    """A choice of one Einsum. `bound`: of its costs; `start`: that before any search; `settled`:
    numbers of the metrics whose bounds are as high as they matter."""

    choice: Choice
    bound: Pair
    start: Pair | None = None
    settled: frozenset[int] = frozenset()


class Floors:
    """The bounds of one workload; of energy, or of latency if that is the objective."""

    def __init__(
        self,
        cascade: Cascade,
        maker: TableMaker,
    ) -> None:
        self._maker = maker
        self._tie = cascade.tie
        self._first = int(cascade.objective == "latency")
        self._fixed = [solo if isinstance(solo, LoneTable) else None for solo in cascade.einsums]
        self._ways = [
            [
                _Way(choice, bound)
                for run in (() if isinstance(solo, LoneTable) else solo)
                for choice in maker.choices(run)
                if (bound := self._known(choice)) is not None
            ]
            for solo in cascade.einsums
        ]
        allowed = [list(costs) for costs in self._costs(0)]
        self._choices = Choices(cascade.boundaries, allowed)

    def _known(self, choice: Choice) -> Pair | None:
        """Return what is known of a choice before any search; None if it is not looked at."""
        if self._tie is None:
            return self._maker.work(choice)
        return self._tie.choices.get(choice.name)

    @property
    def least(self) -> Pair:
        """A bound of the energy and one of the latency of the workload."""
        return self._choices.least(self._costs(0)), self._choices.least(self._costs(1))

    def allowances(self, most: Pair) -> list[dict[Choice, Allowance]]:
        """Return what each Einsum may cost with each choice that can matter, when the workload
        costs no more than `most`."""
        around = self._around()
        found: list[dict[Choice, Allowance]] = []
        for ways, others in zip(self._ways, around, strict=True):
            found.append({})
            for way in ways:
                energy, latency = _left(others[way.choice.mask], most)
                if way.bound[0] <= energy and way.bound[1] <= latency:
                    found[-1][way.choice] = Allowance(energy, latency)
        return found

    def within(self, most: Pair) -> dict[tuple[str, int, int], Pair]:
        """Return the choices that can matter below `most`, by name, with their bounds."""
        allowed = self.allowances(most)
        pairs = [(way, few) for ways, few in zip(self._ways, allowed, strict=True) for way in ways]
        return {way.choice.name: way.bound for way, few in pairs if way.choice in few}

    def limits(self, most: Pair) -> Limits:
        """Return what bounds a mapping that costs no more than `most` on the way."""
        energy, latency = (self._choices.ahead(self._costs(metric)) for metric in (0, 1))

        def to_go(number: int, on_chip: frozenset[Place]) -> Pair:
            state = on_chip & self._choices.tracked
            return energy[number].get(state, inf), latency[number].get(state, inf)

        loose = most[0] * (1 + NOISE), most[1] * (1 + NOISE)
        return Limits(loose, to_go)

    def alone(self) -> list[dict[Choice, Allowance]]:
        """Return the bounds of what each choice costs, as allowances: rows found so far."""
        first = self._first
        return [
            {
                way.choice: Allowance(*_with(NEVER, first, way.bound[first]))
                for way in ways
                if way.bound[first] < inf
            }
            for ways in self._ways
        ]

    def open(self) -> None:
        """Raise all bounds to where a search of each choice starts."""
        for way in (way for ways in self._ways for way in ways):
            if way.start is None:
                self._start(way)

    def settle(
        self,
        wanted: Callable[[Choice], bool],
        most: Callable[[Pair], Pair],
        metric: int | None = None,
    ) -> None:
        """Raise the bounds of some choices as far as they matter when the workload costs no more
        than `most`, which depends on the least that it costs. `metric`: 0 energy, 1 latency."""
        first = self._first if metric is None else metric
        for slack in DEEPENING:
            sweeps = [self._choices.sweep(self._costs(metric)) for metric in (0, 1)]
            for number, ways in enumerate(self._ways):
                chosen = [way for way in ways if first not in way.settled and wanted(way.choice)]
                if chosen:
                    self._raise_all(number, chosen, (first, slack), (sweeps, most))
                for place, sweep in enumerate(sweeps):
                    sweep.go_on(self._cost(number, place))

    def _raise_all(
        self, number: int, chosen: Sequence[_Way],
        how: tuple[int, float], around: tuple[Sequence[Sweep], Callable[[Pair], Pair]],
    ) -> None:  # fmt: skip
        """Raise the bounds of some choices of one Einsum; `how`: metric, slack (see settle)."""
        sweeps, most = around
        energy, latency = (sweep.others() for sweep in sweeps)
        least = _least(energy, self._cost(number, 0)), _least(latency, self._cost(number, 1))
        limit = most(least)
        for way in chosen:
            mask = way.choice.mask
            self._raise(way, how, _left((energy[mask], latency[mask]), limit))

    def _raise(self, way: _Way, how: tuple[int, float], most: Pair) -> None:
        """Look for rows a little above the start; without any the bound is there."""
        if way.start is None:
            self._start(way)
        assert way.start is not None
        first, slack = how
        if way.bound[0] > most[0] or way.bound[1] > most[1]:
            way.bound, way.settled = NEVER, frozenset((0, 1))
            return
        start = way.start[first]
        limit = start * (1 + slack) if start > 0 and slack < inf else inf
        limit = min(limit, most[first])
        met = self._look(way, how, _with(most, first, limit))
        if not met and limit >= most[first]:
            way.bound, way.settled = NEVER, way.settled | {first}

    def _look(self, way: _Way, how: tuple[int, float], most: Pair) -> bool:
        """Look for rows that cost no more than `most`; tell whether the bound is now the least."""
        first, slack = how
        known, met = self._known_least(way, first)
        if met and self._tie is None:
            return self._learn(way, first, known, met)
        if known > most[first] or (known == most[first] and not met):
            return self._learn(way, first, known, False)
        within = Allowance(*(most if self._tie is not None else _with(NEVER, first, most[first])))
        if first and slack == DEEPENING[0] and self._meets_start(way, within):
            assert way.start is not None
            return self._learn(way, first, way.start[first], True)
        least = self._maker.least(way.choice, Wanted(within))
        if least is None:
            return self._learn(way, first, most[first], False)
        return self._learn(way, first, least[first], True)

    def _learn(self, way: _Way, metric: int, bound: float, met: bool) -> bool:
        """Note a bound of one metric, and whether some row costs that."""
        way.bound = _with(way.bound, metric, bound)
        if met:
            way.settled |= {metric}
        known, _ = self._known_least(way, metric)
        if self._tie is None and (met or bound > known):
            self._maker.shelf.least[way.choice.key, metric] = bound, met
        return met

    def _known_least(self, way: _Way, metric: int) -> tuple[float, bool]:
        return self._maker.shelf.least.get((way.choice.key, metric), (0.0, False))

    def _meets_start(self, way: _Way, within: Allowance) -> bool:
        """Tell whether few rows show already that the latency of the start can be had."""
        assert way.start is not None
        for fused in (False, True):
            few = self._maker.least(way.choice, Wanted(within, fused, few=True))
            if few is not None and few[1] <= way.start[1] * (1 + NOISE):
                return True
        return False

    def _start(self, way: _Way) -> None:
        energy, latency = self._maker.start(way.choice)
        energy, latency = way.start = max(energy, way.bound[0]), max(latency, way.bound[1])
        known = self._known_least(way, 0)[0], self._known_least(way, 1)[0]
        way.bound = max(energy, known[0]), max(latency, known[1])

    def _around(self) -> list[dict[int, Pair]]:
        """Return what all other Einsums cost at least, per Einsum and choice."""
        both = [self._choices.others(self._costs(metric)) for metric in (0, 1)]
        return [
            {mask: (energy[mask], latency[mask]) for mask in energy}
            for energy, latency in zip(*both, strict=True)
        ]

    def _costs(self, metric: int) -> list[dict[int, float]]:
        """Return the bounds of one metric per Einsum and choice."""
        return [self._cost(number, metric) for number in range(len(self._ways))]

    def _cost(self, number: int, metric: int) -> dict[int, float]:
        """Return the bounds of one metric per choice of an Einsum."""
        lone, costs = self._fixed[number], dict[int, float]()
        pairs = [(way.choice.mask, way.bound[metric]) for way in self._ways[number]]
        if lone is not None:
            pairs = [(rows.mask, float(rows.least[:, metric].min())) for rows in lone.rows]
        for mask, cost in pairs:
            costs[mask] = min(costs.get(mask, inf), cost)
        return costs


def _least(others: Mapping[int, float], costs: Mapping[int, float]) -> float:
    """Return what the workload costs at least, seen from one Einsum."""
    return min((others[mask] + cost for mask, cost in costs.items()), default=inf)


def _left(others: Pair, most: Pair) -> Pair:
    """Return what an Einsum may cost when all others cost `others`."""
    energy, latency = others
    if inf in others:
        return -inf, -inf
    return most[0] - energy, most[1] - latency


def _with(pair: Pair, place: int, value: float) -> Pair:
    return (pair[0], value) if place else (value, pair[1])
