"""Make the tables of a workload; Einsums that differ in names only are solved once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.boundary.exchanged_tensors import Boundaries, Place
from tilewright.mapper.fusion.boundary.usage_peaks import NO_USAGE, Usage
from tilewright.mapper.fusion.join.cost_limit import Allowance
from tilewright.mapper.fusion.pmappings.backpointers import trails
from tilewright.mapper.fusion.pmappings.fused_templates import (
    Layout,
    alone_in,
    banned_above,
    layouts,
    memories_of,
)
from tilewright.mapper.fusion.pmappings.inner_programs import Carried, Part, parts
from tilewright.mapper.fusion.pmappings.inner_search import NO_PACES, LowerSearch, Rules
from tilewright.mapper.fusion.pmappings.pmapping_cache import Opened, Prepared, Shelf
from tilewright.mapper.fusion.pmappings.pmapping_table import Solution, Table, named
from tilewright.mapper.fusion.pmappings.pmappings import RowMaker, gaps_of
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.kernels import ENERGY, LATENCY
from tilewright.mapper.searches.exact.label_fields import LabelFields, label_fields
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.exact.metric_terms import (
    compulsory_latency,
    leaks_of,
    refuse_unsupported,
)
from tilewright.mapper.searches.exact.placement_bound import least_costs
from tilewright.mapper.searches.identical_einsums import problem_signature
from tilewright.mapper.searches.program.program import most_deferred
from tilewright.mapper.searches.result import SearchStatistics
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.templates.placement import Placement
from tilewright.mapper.workload.einsum import Einsum

NOISE = 1e-9  # relative: sums of the same terms in another order


@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """One Einsum on the way to one of its computes: the `number`-th.

    `key`: equal for runs that pose the same problem under other names. `placements`: by the
    exchanged tensors that they keep on chip, as bits of `boundary`.
    """

    space: Mapspace
    number: int
    boundary: tuple[Place, ...]
    key: Hashable
    placements: Mapping[int, Sequence[Placement]]

    @property
    def einsum(self) -> Einsum:
        """The Einsum."""
        return self.space.einsum

    def work(self, mask: int) -> tuple[float, float]:
        """Return joule and second that computing and moving each tensor once takes at least."""
        energy, latency = least_costs(self.space, self.placements[mask])
        return energy * self.einsum.n_instances, latency * self.einsum.n_instances


def run_of(
    boundaries: Boundaries,
    conventions: str,
    flat: FlatArch,
    place: tuple[Einsum, int],
    crowded: frozenset[str] = frozenset(),
) -> Run:
    """Prepare a run of `place` = (Einsum, number of the compute); `crowded`: see Mapspace."""
    einsum, number = place
    own = frozenset(einsum.tensors)
    backed = own & boundaries.backed
    space = Mapspace(
        einsum, flat, conventions, backed, crowded=crowded, exchanged=own & boundaries.chip,
        lists_lane_choices=True,
    )  # fmt: skip
    refuse_unsupported(space.problem, networks=True)
    boundary = boundaries.of(einsum)
    key = problem_signature(space), einsum.n_instances, _roles(boundaries, einsum)
    return Run(space, number, boundary, key, _by_mask(space, boundary))


def refuse_elsewhere(outer: str, runs: Iterable[Run]) -> None:
    """Refuse a small outermost memory that need not have what no other Einsum uses: what it has is
    known by the tensors that Einsums exchange."""
    for run in runs:
        for placement in (one for several in run.placements.values() for one in several):
            left = alone_in(run.space) - frozenset(dict(placement.kept).get(outer, ()))
            if left:
                raise UnsupportedFeature(
                    f"{outer} may be too small, and need not keep {', '.join(sorted(left))}",
                    instead="search without fusion",
                )


def _by_mask(space: Mapspace, boundary: Sequence[Place]) -> Mapping[int, Sequence[Placement]]:
    """Group the placements by what they keep on chip; none keeps an exchanged tensor elsewhere."""
    outer = memories_of(space.flat)[0].name
    found: dict[int, list[Placement]] = {}
    for placement in space.placements:
        mask = 0
        for tensor in dict.fromkeys(place.tensor for place in boundary):
            holders = [
                space.problem.holder(name) for name, kept in placement.kept if tensor in kept
            ]
            first = next(holder.name for holder in holders if isinstance(holder, Memory))
            if first != outer and Place(tensor, first) not in boundary:
                break
            mask |= sum(1 << i for i, place in enumerate(boundary) if place == (tensor, first))
        else:
            found.setdefault(mask, []).append(placement)
    return found


def _roles(boundaries: Boundaries, einsum: Einsum) -> Hashable:
    """Return what the boundaries say about the Einsum, without the names of tensors."""
    carried, contested = boundaries.carried_by(einsum), boundaries.contested
    return tuple(
        (
            tensor in contested,
            tensor in boundaries.tiled,
            tensor in boundaries.apart,
            tuple(v in carried[tensor] for v in einsum.bounds) if tensor in carried else None,
            tuple(place.memory for place in boundaries.places(tensor)) if tensor in carried else (),
        )
        for tensor in einsum.tensors
    )


@dataclass(frozen=True, slots=True)
class Scope:
    """Which mappings a maker looks at.

    `fused`: Einsums may share loops; `capacities`: bits of the memories that tensors are exchanged
    in; `timed`: latency counts; `hurried`: it rules out so much that bounds of it pay
    (latency_bound.py);
    `repeats`: how many shared loops a variable may have; `usage`: of which memories it counts.
    """

    fused: bool
    capacities: tuple[float, ...]
    timed: bool
    repeats: int = 1
    usage: Usage = NO_USAGE
    hurried: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows of a choice are made: those that cost no more than `most`.

    `fused`: with shared loops, too; `few`: of those that agree in energy, room and lanes only one
    (as in fronts/label_sweep.py): all are there, but others may do better.
    """

    most: Allowance
    fused: bool = True
    few: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """The mappings of a run that keep one set of its exchanged tensors on chip: bits of `mask`."""

    run: Run
    mask: int

    @property
    def key(self) -> Hashable:
        """Equal for choices that pose the same problem under other names."""
        return self.run.key, self.mask

    @property
    def name(self) -> tuple[str, int, int]:
        """The Einsum, the number of the compute, and the mask."""
        return self.run.einsum.name, self.run.number, self.mask


class TableMaker:
    """Makes the tables of a workload; Einsums that differ in names only are solved once."""

    def __init__(self, boundaries: Boundaries, scope: Scope, budget: Budget, shelf: Shelf):
        self._boundaries = boundaries
        self._scope = scope
        self._budget = budget
        self.shelf = shelf
        self._work: dict[Hashable, tuple[float, float]] = {}
        self._known: dict[Hashable, tuple[Allowance, Solution]] = {}
        self.statistics = SearchStatistics()

    def choices(self, run: Run) -> tuple[Choice, ...]:
        """Return the sets of tensors that `run` may keep on chip; some may turn out not to fit."""
        return tuple(Choice(run, mask) for mask in sorted(run.placements))

    def work(self, choice: Choice) -> tuple[float, float]:
        """Return bounds of energy and latency that need no templates."""
        key = choice.key
        if key not in self._work:
            self._work[key] = choice.run.work(choice.mask)
        return self._work[key]

    def start(self, choice: Choice) -> tuple[float, float]:
        """Return a bound of the energy and of the latency; inf: nothing fits."""
        opened, times = self._open(choice), choice.run.einsum.n_instances
        energy, latency = opened.start
        return energy * times, latency * times if self._timed(opened) else 0.0

    def least(self, choice: Choice, wanted: Wanted) -> tuple[float, float] | None:
        """Return the least energy and latency of the rows; None: there is no such row."""
        blocks = self._solution(choice, wanted).blocks.values()
        least = [block.values[:, :2].min(axis=0) for block in blocks if len(block.states)]
        if not least:
            return None
        energy, latency = np.min(least, axis=0).tolist()
        return energy, latency

    def table(self, choice: Choice, wanted: Wanted) -> Table:
        """Return the rows of `choice`.

        UnsupportedFeature for what it cannot model; OutOfBudget.
        """
        solution = self._solution(choice, wanted)
        run = choice.run
        names = self._boundaries.names_of(run.einsum)
        where = run.boundary, (*self._boundaries.memories, *self._boundaries.tolls)
        return named(solution, run.space, where, names)

    def _solution(self, choice: Choice, wanted: Wanted) -> Solution:
        key = choice.key, wanted.fused, wanted.few
        known = self._known.get(key)
        if known is None or not known[0].covers(wanted.most):
            most = wanted.most.rounded
            solved = self._solve(choice, replace(wanted, most=most))
            known = self._known[key] = most, solved
        return known[1]

    def _ready(self, run: Run) -> Prepared:
        known = self.shelf.prepared
        if run.key not in known:
            made = known[run.key] = self._prepare(run)
            self.statistics = self.statistics.plus(
                SearchStatistics(0, made.engine.lattice.size, solved=1)
            )
        return known[run.key]

    def _open(self, choice: Choice) -> Opened:
        known = self.shelf.opened.get(choice.key)
        if known is not None and (known.lower.timed or not self._scope.hurried):
            return known
        ready = self._ready(choice.run)
        compiled = self._parts(choice, ready) if known is None else known.lower.parts
        self.statistics = self.statistics.plus(SearchStatistics(len(compiled)))
        metrics = self._metrics(choice, ready)
        paces = metrics.latency_terms() if self._scope.hurried else NO_PACES
        search = LowerSearch(ready.engine, compiled, ready.rules, paces)
        self.shelf.clear_for(search.nbytes, choice.key)
        search.look_ahead(self._budget.check)
        made = Opened(ready, metrics, search, search.start(metrics))
        self.shelf.opened[choice.key] = made
        return made

    def _timed(self, opened: Opened) -> bool:
        """Tell whether latency counts, because it is looked at or because something leaks."""
        return self._scope.timed or bool(opened.prepared.leaks)

    def _solve(self, choice: Choice, wanted: Wanted) -> Solution:
        opened, allowance = self._open(choice), wanted.most
        ready, lower = opened.prepared, opened.lower
        share = (1 + NOISE) / choice.run.einsum.n_instances
        most = Allowance(allowance.energy * share, allowance.latency * share)
        bound = opened.metrics.pruning_limits(ENERGY, most.energy, inf)
        if most.latency < inf:
            bound = opened.metrics.pruning_limits(LATENCY, most.latency, most.energy)
        before = lower.labels
        timed = self._timed(opened)
        solved = lower.solve(bound, self._budget, _deciding(ready.engine.fields, timed, wanted))
        self.statistics = self.statistics.plus(SearchStatistics(labels=lower.labels - before))
        rules = replace(ready.rules, fused=wanted.fused, timed=timed)
        maker = RowMaker(ready.engine, opened.metrics, rules, most, self._budget)
        blocks = maker.make(solved)
        origins = maker.origins(blocks)
        return Solution(
            ready.space, ready.engine, blocks, tuple(maker.sources), tuple(trails(solved, origins))
        )

    def _prepare(self, run: Run) -> Prepared:
        space, scope = run.space, self._scope
        leaks = leaks_of(space.flat, space.conventions)
        sizes = dict(zip(self._boundaries.memories, scope.capacities, strict=True))
        space.templates_within(self._budget.check)
        found: dict[int, list[Layout]] = {}
        for layout in layouts(space, frozenset(run.boundary)):
            self._budget.check()
            mask = sum(1 << i for i, place in enumerate(run.boundary) if place in layout.on_chip)
            found.setdefault(mask, []).append(layout)
        rules = Rules(
            self._boundaries.carried_by(run.einsum),
            self._boundaries.contested,
            self._boundaries.tiled,
            self._boundaries.apart,
            self._boundaries.shares_room,
            tuple(sizes),
            scope.capacities,
            True,
            scope.fused,
            scope.repeats,
            scope.usage.of_points,
            frozenset(t for t in alone_in(space) if not space.einsum.access(t).persistent),
        )
        chosen = {mask: tuple(several) for mask, several in found.items()}
        templates = [layout.template for several in found.values() for layout in several]
        owed = most_deferred(
            space.problem, label_fields(space.problem, leaks), self._budget.checking(templates)
        )
        roomy = {m for m, size in sizes.items() if size == inf and m not in scope.usage.inner}
        path = {component.name for component in space.flat.components}
        shared = (set(sizes) & path) - roomy if scope.fused else set()
        kept = label_fields(space.problem, leaks, frozenset(scope.usage.deep) | shared, owed)
        kept = replace(kept, used_bits={m: f for m, f in kept.used_bits.items() if m not in roomy})
        return Prepared(space, LabelEngine(space.problem, kept), leaks, rules, chosen)

    def _metrics(self, choice: Choice, ready: Prepared) -> LabelMetrics:
        templates = [layout.template for layout in ready.layouts.get(choice.mask, ())]
        least = compulsory_latency(ready.space, templates)
        return LabelMetrics(ready.space.problem, ready.engine.fields, ready.leaks, least)

    def _parts(self, choice: Choice, ready: Prepared) -> list[Part]:
        space, rules = ready.space, ready.rules
        names = tuple(space.einsum.bounds) if self._scope.fused else ()
        found: list[Part] = []
        for layout in ready.layouts.get(choice.mask, ()):
            self._budget.check()
            banned = banned_above(space, layout)
            places = [gaps_of(name, layout, rules.carried, banned) for name in names]
            legal = tuple((v, gaps) for v, gaps in enumerate(places) if gaps)
            carried = Carried(legal, _dealt(space, layout, rules.carried))
            found += parts(space.problem, ready.engine.fields, layout, carried)
        return found


def _dealt(
    space: Mapspace, layout: Layout, carried: Mapping[str, frozenset[str]]
) -> list[frozenset[str]]:
    """Return the variables that lanes may deal out right above each holder of the region: those of
    loops that may stand above every tensor on chip below."""
    found: list[frozenset[str]] = []
    left = frozenset(space.einsum.bounds)
    for holder in reversed(layout.region):
        left = left & carried.get(holder.tensor, left) if holder.backing else left
        found.insert(0, left)
    return found


def _deciding(fields: LabelFields, timed: bool, wanted: Wanted) -> int:
    """Return the number of leading fields that decide between labels."""
    if not timed:
        return fields.n_energy_fields
    return fields.n_class_fields if wanted.few else fields.width
