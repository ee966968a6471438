"""Make the tables of a workload; Einsums that differ in names only are solved once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from math import inf, prod

from tilewright.arch.flat import FlatArch
from tilewright.mapper.cascade.boundary import Boundaries
from tilewright.mapper.cascade.budget import Allowance, Budget
from tilewright.mapper.cascade.layout import banned_above, layouts, memories_of
from tilewright.mapper.cascade.lower import LowerSearch, Part, parts
from tilewright.mapper.cascade.rows import RowMaker, Rules, gaps_of
from tilewright.mapper.cascade.table import Solution, Table, named
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.fields import fields
from tilewright.mapper.searches.identical import signature
from tilewright.mapper.searches.kernels import ENERGY, LATENCY
from tilewright.mapper.searches.metrics import Metrics
from tilewright.mapper.searches.problem import leaks_of, refuse_unsupported
from tilewright.mapper.searches.result import Statistics
from tilewright.mapper.searches.tables import Engine

DEEPENING = (1e-9, 0.003, 0.02, 0.1, 0.5, inf)
NOISE = 1e-9  # relative: sums of the same terms in another order


@dataclass(frozen=True, slots=True)
class Run:
    """One Einsum on the way to one of its computes: the `number`-th.

    `key`: equal for runs that pose the same problem under other names.
    """

    space: Mapspace
    number: int
    boundary: tuple[str, ...]
    key: Hashable

    @property
    def einsum(self) -> Einsum:
        """The Einsum."""
        return self.space.einsum

    @property
    def work(self) -> tuple[float, float]:
        """Joule and second that computing alone takes at least, all instances."""
        compute, operations = self.space.flat.compute, self.einsum.operations
        each = sum(action.energy for action in compute.actions if action.name == "compute")
        lanes = prod(component.own_fanout for component in self.space.flat.components)
        rule, times = compute.latency, self.einsum.n_instances
        seconds = 0.0
        if rule is not None:
            calls = {action.name: 0.0 for action in compute.actions}
            scale = float(compute.actions_scale)
            most, least = (
                rule({**calls, "compute": n * scale}) for n in (operations, operations / lanes)
            )
            seconds = min(most, least)
        return float(each * operations * compute.actions_scale) * times, seconds * times


def run_of(
    boundaries: Boundaries,
    conventions: str,
    flat: FlatArch,
    place: tuple[Einsum, int],
    crowded: frozenset[str] = frozenset(),
) -> Run:
    """Prepare a run of `place` = (Einsum, number of the compute); `crowded`: see Mapspace."""
    einsum, number = place
    backed = frozenset(einsum.tensors) & boundaries.backed
    space = Mapspace(einsum, flat, conventions, backed, crowded=crowded)
    refuse_unsupported(space.frame)
    roles = _roles(boundaries, einsum)
    return Run(space, number, boundaries.of(einsum), (signature(space), einsum.n_instances, roles))


def _roles(boundaries: Boundaries, einsum: Einsum) -> Hashable:
    """Return what the boundaries say about the Einsum, in numbers."""
    carried, contested = boundaries.carried, boundaries.contested
    return tuple(
        (
            tensor in contested,
            tuple(v in carried[tensor] for v in einsum.bounds) if tensor in carried else None,
        )
        for tensor in einsum.tensors
    )


@dataclass(frozen=True, slots=True)
class Scope:
    """Which mappings a maker looks at.

    `fused`: Einsums may share loops; `capacity`: bits of the second memory; `timed`: latency
    counts.
    """

    fused: bool
    capacity: float
    timed: bool


@dataclass(frozen=True, slots=True)
class Prepared:
    """What does not depend on how much a row may cost.

    `start`: bounds of the energy and the latency of one instance.
    """

    engine: Engine
    metrics: Metrics
    rules: Rules
    lower: LowerSearch
    parts: int
    start: tuple[float, float]


def _deepened(bound: float) -> list[float]:
    """Return limits from a lower bound on."""
    return [bound * (1 + slack) if slack < inf and bound > 0 else inf for slack in DEEPENING]


class TableMaker:
    """Makes the tables of a workload; Einsums that differ in names only are solved once."""

    def __init__(self, boundaries: Boundaries, scope: Scope, budget: Budget):
        self._boundaries = boundaries
        self._scope = scope
        self._budget = budget
        self._prepared: dict[Hashable, Prepared] = {}
        self._known: dict[Hashable, tuple[tuple[Allowance, bool], Solution]] = {}
        self.statistics = Statistics()

    def floor(self, run: Run, objective: str) -> tuple[float, float]:
        """Return the least energy and a bound of the latency of `run`; for the objective latency
        the other way round. Both inf: nothing fits."""
        ready = self._ready(run)
        times = run.einsum.n_instances
        energy, latency = (bound * times for bound in ready.start)
        if objective == "latency":
            for most in _deepened(latency):
                blocks = self._solution(run, Allowance(inf, most), fused=True).blocks.values()
                if least := [float(b.values[:, 1].min()) for b in blocks if len(b.states)]:
                    return energy, min(least)
            return inf, inf
        for most in _deepened(energy):
            blocks = self._solution(run, Allowance(most, inf), fused=True).blocks.values()
            if least := [float(b.values[:, 0].min()) for b in blocks if len(b.states)]:
                return min(least), latency
        return inf, inf

    def table(self, run: Run, allowance: Allowance, fused: bool) -> Table:
        """Return the rows of `run` that cost no more than `allowance`; `fused`: also with loops.

        UnsupportedFeature for what it cannot model; OutOfBudget.
        """
        solution = self._solution(run, allowance, fused)
        table = named(solution, run.space, run.boundary, self._scope.capacity)
        return (
            replace(table, rows=tuple(replace(row, table=run.number) for row in table.rows))
            if run.number
            else table
        )

    def _solution(self, run: Run, allowance: Allowance, fused: bool) -> Solution:
        known = self._known.get(run.key)
        if known is None or known[0] != (allowance, fused):
            known = self._known[run.key] = (allowance, fused), self._solve(run, allowance, fused)
        return known[1]

    def _ready(self, run: Run) -> Prepared:
        if run.key not in self._prepared:
            made = self._prepared[run.key] = self._prepare(run)
            counts = Statistics(made.parts, made.engine.lattice.size, solved=1)
            self.statistics = self.statistics.plus(counts)
        return self._prepared[run.key]

    def _solve(self, run: Run, allowance: Allowance, fused: bool) -> Solution:
        ready = self._ready(run)
        share = (1 + NOISE) / run.einsum.n_instances
        most = Allowance(allowance.energy * share, allowance.latency * share)
        bound = ready.metrics.bound(ENERGY, most.energy, inf)
        if most.latency < inf:
            bound = ready.metrics.bound(LATENCY, most.latency, most.energy)
        before = ready.lower.labels
        solved = ready.lower.solve(bound)
        counts = Statistics(labels=ready.lower.labels - before)
        self.statistics = self.statistics.plus(counts)
        maker = RowMaker(ready.engine, ready.metrics, replace(ready.rules, fused=fused), most)
        blocks = maker.make(solved)
        return Solution(run.space, ready.engine, blocks, tuple(maker.sources))

    def _prepare(self, run: Run) -> Prepared:
        space, capacity = run.space, self._scope.capacity
        leaks = leaks_of(space.flat, space.conventions)
        timed = self._scope.timed or bool(leaks)
        layout_of_label = fields(space.frame, any(leak.gates for leak in leaks))
        inner = memories_of(space.flat)[1]
        if capacity == inf and inner is not None:
            room = {m: f for m, f in layout_of_label.room.items() if m != inner.name}
            layout_of_label = replace(layout_of_label, room=room)
        engine = Engine(space.frame, layout_of_label)
        rules = Rules(
            self._boundaries.carried,
            self._boundaries.contested,
            inner.name if inner else None,
            capacity,
            timed,
            self._scope.fused,
        )
        compiled = self._parts(run, engine, rules)
        nd = layout_of_label.width if timed else layout_of_label.n_energy
        lower = LowerSearch(engine, nd, compiled, self._budget)
        metrics = Metrics(space.frame, layout_of_label, leaks)
        return Prepared(engine, metrics, rules, lower, len(compiled), lower.start(metrics))

    def _parts(self, run: Run, engine: Engine, rules: Rules) -> list[Part]:
        space = run.space
        names = tuple(space.einsum.bounds) if self._scope.fused else ()
        found: list[Part] = []
        for layout in layouts(space, frozenset(run.boundary)):
            self._budget.check()
            banned = banned_above(space, layout)
            places = [gaps_of(name, layout, rules.carried, banned) for name in names]
            legal = tuple((v, gaps) for v, gaps in enumerate(places) if gaps)
            found += parts(space.frame, engine.fields, layout, legal)
        return found
