"""Exact search of mapspaces with uneven tiles: bounds first, then labels under them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any

import numpy as np

from tilewright.mapper.mapping import Mapping
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.fanout import Fan
from tilewright.mapper.mapspace.skeleton import skeleton
from tilewright.mapper.mapspace.slots import Slot
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.errors import InternalError
from tilewright.mapper.searches.fields import Fields, fields
from tilewright.mapper.searches.judge import TOLERANCE, Judge
from tilewright.mapper.searches.kernels import ENERGY, Floats
from tilewright.mapper.searches.metrics import KINDS, Goal, Metrics
from tilewright.mapper.searches.problem import compulsory_latency, leaks_of, refuse_unsupported
from tilewright.mapper.searches.program import check_order
from tilewright.mapper.searches.result import EinsumMapping, SpaceResult, Statistics
from tilewright.mapper.searches.tables import compute_energy
from tilewright.mapper.searches.uneven.chains import ALL, Chains, Kind
from tilewright.mapper.searches.uneven.grid import Grid, Outlook, look_ahead
from tilewright.mapper.searches.uneven.labels import Labels
from tilewright.mapper.searches.uneven.plan import Plan, make_plan
from tilewright.mapper.searches.uneven.sweep import OutOfBudget, Pruning, Sweep

TIE = 1e-12
DEEPENING = (1e-3, 1e-2, 0.1, 1.0, inf)
BEAM = 300  # labels that a first look keeps at a slot
FEW = 20
MAX_COMBINATIONS = 5_000


@dataclass(slots=True)
class Incumbent:
    """The best mapping so far, per instance of the Einsum."""

    mapping: Mapping | None = None
    value: float = inf
    second: float = inf
    energy: float = inf
    latency: float = inf


class UnevenSearch:
    """Optimal among mappings with at most one uneven loop per variable (lattice-dp.md §9.6).

    `seed`: searches the mappings with even tiles first, so that the bounds have something to cut.
    """

    def __init__(self, seed: Callable[[Mapspace, Goal, float | None], SpaceResult]) -> None:
        self._seed = seed

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> SpaceResult:
        """Return the optimum with its proof, or the best found with a bound when time runs out.

        UnsupportedFeature for what the program does not model (networks, copies, …).
        """
        began = time.monotonic()
        deadline = inf if budget is None else began + budget
        refuse_unsupported(space.frame)
        run = Run(space, goal, deadline)
        even = Mapspace(space.einsum, space.flat, space.conventions, space.backed)
        seeded = self._seed(even, goal, None if budget is None else budget / 4)
        if seeded.best is not None and space.contains(seeded.best.mapping) is None:
            run.take(seeded.best.mapping)
        lower, proven = run.solve()
        times = space.einsum.n_instances
        bound = lower * (times * times if goal.objective == "edp" else times)
        statistics = Statistics(
            templates=len(space.templates),
            states=run.states,
            labels=run.labels,
            solved=1,
            seconds=time.monotonic() - began,
        )
        best = run.best
        if best.mapping is None:
            return SpaceResult(None, bound, proven, statistics)
        found = EinsumMapping(best.mapping, best.energy * times, best.latency * times)
        return SpaceResult(found, bound, proven, statistics)


class _Mode:
    """A layout of the labels with what it needs: `timed` counts steps and calls too."""

    def __init__(self, space: Mapspace, layout: Fields, grid: Grid, *, timed: bool) -> None:
        frame = space.frame
        self.timed = timed
        self.layout = layout if timed else replace(layout, gates={}, calls={})
        self.plans: list[Plan] = []
        for template in space.templates:
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


class Run:
    """One search of one mapspace."""

    def __init__(self, space: Mapspace, goal: Goal, deadline: float) -> None:
        self._space = space
        self._judge = Judge(space)
        self._deadline = deadline
        self._kind = KINDS[goal.objective]
        leaks = leaks_of(space.flat, space.conventions)
        self._layout = fields(space.frame, leaks)
        self.metrics = Metrics(
            space.frame, self._layout, leaks, compulsory_latency(space), goal.price
        )
        self._goal = goal
        self._grid = Grid(space.frame)
        self.least: list[tuple[float, float, int]] = []  # value, energy, number of the plan
        self.states = prod(self._grid.shape)
        self.best = Incumbent()
        self._lower = 0.0
        self._modes: dict[bool, _Mode] = {}

    @property
    def _settled(self) -> bool:
        """The incumbent meets the lower bound."""
        return self.best.value <= self._lower * (1 + TIE)

    @property
    def _plain(self) -> bool:
        """Only dynamic energy counts."""
        steady = self.metrics.steady_watts == 0 and not self._layout.gates
        return self._kind == ENERGY and steady

    @property
    def labels(self) -> int:
        """Number of partial mappings made."""
        return sum(mode.sweep.labels for mode in self._modes.values())

    def _mode(self, timed: bool) -> _Mode:
        if timed not in self._modes:
            self._modes[timed] = _Mode(self._space, self._layout, self._grid, timed=timed)
        return self._modes[timed]

    def take(self, mapping: Mapping) -> EinsumMapping:
        """Let the model score a mapping and keep it if it is better."""
        judged, times = self._judge.candidate(mapping), self._space.einsum.n_instances
        energy, latency = judged.energy / times, judged.latency / times
        value = self._goal.value(energy, latency)
        second = latency if self._kind == ENERGY else energy
        best = self.best
        tied = abs(value - best.value) <= TIE * abs(value)
        if second < best.second if tied else value < best.value:
            self.best = Incumbent(mapping, value, second, energy, latency)
        return EinsumMapping(mapping, energy, latency)

    def solve(self) -> tuple[float, bool]:
        """Return a lower bound, and whether the search ended."""
        plain = self._plain
        self.rank()
        if not self.least:
            return inf, True
        self._lower = self.least[0][0]
        try:
            self._beams(plain)
            self._deepen(plain)
        except OutOfBudget:
            if self.best.mapping is None:
                self._answer_late()
            if not self._settled:
                return min(self._lower, self.best.value), False
        with suppress(OutOfBudget):  # the objective is optimal all the same
            self._break_ties()
        return self.best.value, True

    def rank(self) -> None:
        """Bound every template; the most promising one comes first."""
        ranked: list[tuple[float, float, int]] = []
        for number, plan in enumerate(self._mode(False).plans):
            if time.monotonic() > self._deadline and ranked:
                ranked.append((0.0, 0.0, number))  # nothing is known of it
                continue
            least = self._outlook(number).least + compute_energy(self._space.frame)
            steps = _least_steps(self._space, plan.slots)
            value = float(self._floor(np.array([least]), np.array([steps]), self._kind)[0])
            if value < inf:
                ranked.append((value, least, number))
        self.least = sorted(ranked)

    def _outlook(self, number: int) -> Outlook:
        plan = self._mode(False).plans[number]
        return look_ahead(self._grid, plan.slots, plan.floors)

    def _floor(self, energy: Floats, steps: Floats, kind: float) -> Floats:
        """Bound an objective from bounds of energy and steps."""
        rows = np.zeros((len(energy), self._layout.width))
        rows[:, 0] = energy
        rows[:, self._layout.lanes] = -float(self._space.einsum.operations) / steps
        return self.metrics.floor(rows, kind)

    def _beams(self, plain: bool) -> None:
        """Find some good mappings: few labels per slot."""
        for timed in (False, True) if not plain else (False,):
            for value, _, number in self.least:
                if value > self.best.value or self._settled:
                    break
                self._one(number, timed, self._keeper(inf), BEAM)

    def _answer_late(self) -> None:
        """Find any mapping, whatever the time: an answer, late, is better than none."""
        self._deadline = inf
        for _, _, number in self.least:
            with suppress(OutOfBudget):
                self._one(number, False, self._keeper(inf), FEW)
            if self.best.mapping is not None:
                return

    def _keeper(self, limit: float, *, tie: bool = False) -> Callable[[Floats, Floats], Any]:
        """Return the test for labels whose objective may come out at or below a limit.

        `tie`: and whose second metric may come out better than the best one's.
        """
        other = KINDS["latency"] if self._kind == ENERGY else ENERGY

        def keep(energy: Floats, steps: Floats) -> Any:
            bound = min(limit, self.best.value * (1 + TIE))
            kept = self._floor(energy, steps, self._kind) <= bound
            if tie:
                kept &= self._floor(energy, steps, other) < self.best.second * (1 - TIE)
            return kept

        return keep

    def _deepen(self, plain: bool) -> None:
        """Raise the limit until nothing better than the incumbent can lie below it."""
        for slack in DEEPENING:
            before = self.best.value
            if self._settled:
                return
            limit = min(self._lower * (1 + slack) if self._lower > 0 else inf, before * (1 - TIE))
            floor = self._level(plain, limit, exact=False)
            if floor < self.best.value * (1 - TIE):  # calls stand between a label and its floor
                self._level(plain, min(limit, self.best.value * (1 - TIE)), exact=True)
            if self.best.value <= limit or limit >= before * (1 - 2 * TIE):
                return
            self._lower = max(self._lower, limit)

    def _level(self, plain: bool, limit: float, *, exact: bool) -> float:
        """Sweep all templates below a limit; return the least floor of what arrived.

        `exact`: calls decide between labels too, so that every arrival is what it seems.
        """
        least = inf
        for value, _, number in self.least:
            if value > min(limit, self.best.value):
                break
            floor = self._one(number, not plain, self._keeper(limit), 0, exact=exact)
            least = min(least, floor)
        return least

    def _break_ties(self) -> None:
        """Among mappings of equal value take the least second metric."""
        best = self.best
        if best.mapping is None or self._kind == KINDS["edp"]:
            return
        for value, _, number in self.least:
            if value > best.value * (1 + TIE):
                break
            for exact in (False, True):
                keep = self._keeper(best.value * (1 + TIE), tie=True)
                if self._one(number, True, keep, 0, exact=exact) == inf:
                    break

    def _one(
        self,
        number: int,
        timed: bool,
        keep: Callable[[Floats, Floats], Any],
        beam: int,
        *,
        exact: bool = False,
    ) -> float:
        """Sweep one template; return the least floor of the labels that arrived."""
        mode = self._mode(timed)
        plan, layout = mode.plans[number], mode.layout
        leading = [0, *layout.room.values(), *layout.gates.values()]
        leading += list(layout.calls.values()) if exact else []
        pruning = Pruning(keep, tuple(leading), beam, self._deadline)
        energy = compute_energy(self._space.frame)
        path = mode.sweep.run(plan, self._outlook(number), energy, pruning)
        return self._arrive(mode, plan, path, keep)

    def _arrive(
        self,
        mode: _Mode,
        plan: Plan,
        path: list[Labels],
        keep: Callable[[Floats, Floats], Any],
    ) -> float:
        labels = path[-1]
        if not len(labels):
            return inf
        steps = mode.sweep.steps(plan, labels.states)
        floors = self._floor(labels.fields[:, 0], steps, self._kind)
        least = inf
        for row in np.argsort(floors, kind="stable").tolist():
            one = slice(row, row + 1)
            if not keep(labels.fields[one, 0], steps[one])[0]:
                continue
            least = min(least, float(floors[row]))
            if not mode.timed and not self._plain and least < floors[row]:
                break  # the energy alone does not tell which of these is best
            if self._promising(mode, labels.fields[row], float(steps[row])):
                tiles = mode.sweep.trace(path, row)
                judged = self.take(assemble(self._space.frame, plan.slots, tiles))
                self._check(mode, labels.fields[row], float(steps[row]), judged)
        return least

    def _label(self, row: Floats, steps: float) -> Floats:
        label = row.copy()
        label[self._layout.lanes] = -self._space.einsum.operations / steps
        return label

    def _promising(self, mode: _Mode, row: Floats, steps: float) -> bool:
        """Tell whether a label improves on the incumbent."""
        best = self.best
        if not mode.timed:
            value = float(self._floor(row[:1], np.ones(1), self._kind)[0])
            return value < best.value * (1 - TIE) or best.mapping is None
        label = self._label(row, steps)
        latency = self.metrics.latency(label)
        energy = self.metrics.energy(label, latency)
        value = self._goal.value(energy, latency)
        if abs(value - best.value) <= TIE * abs(value):
            return (latency if self._kind == ENERGY else energy) < best.second * (1 - TIE)
        return value < best.value

    def _check(self, mode: _Mode, row: Floats, steps: float, judged: EinsumMapping) -> None:
        """Compare what the labels say with the model; InternalError if they differ."""
        pairs = [("energy", float(row[0]), judged.energy)]
        if mode.timed:
            label = self._label(row, steps)
            latency = self.metrics.latency(label)
            pairs = [("energy", self.metrics.energy(label, latency), judged.energy)]
            pairs.append(("latency", latency, judged.latency))
        elif self.metrics.steady_watts != self._goal.price or self._layout.gates:
            return  # leakage is not in the label
        for name, mine, its in pairs:
            if abs(mine - its) > TOLERANCE * max(abs(mine), abs(its)):
                raise InternalError(
                    f"the search computed {name} {mine!r}, the model {its!r}, for the mapping\n"
                    f"{judged.mapping}"
                )


def _least_steps(space: Mapspace, slots: tuple[Slot, ...]) -> float:
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
