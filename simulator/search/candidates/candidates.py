"""The mappings of one Einsum on a grid that a search looks at: their bounds, runs and values.

On a large grid the exact cycles of a candidate often follow from a small grid of the same pattern.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import starmap
from typing import Final, NamedTuple

from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.memo import ValueCache
from tilewright.mapper.grid.grid import Grid
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily, GridMapspace
from tilewright.mapper.grid.grid_shares import local_sizes
from tilewright.mapper.grid.predicted_counts import predict
from tilewright.mapper.grid.reading.element_rules import check_einsum
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import (
    InfeasibleMapping,
    NoFeasibleMapping,
    Refusal,
    RefusalKind,
)
from tilewright.simulator.execution.action_counts import predicted_energy, run_energies, total_hops
from tilewright.simulator.execution.einsum_execution import (
    LARGE_GRID,
    EinsumExecution,
    ExecutionSettings,
    execute_plan,
)
from tilewright.simulator.execution.known.known_cycles import CyclesQuestion, KnownCycles
from tilewright.simulator.execution.values.einsum_data import EinsumData
from tilewright.simulator.lowering.addresses import NOTHING_KEPT, LeftTensors
from tilewright.simulator.lowering.lower_bound.cycle_bound import (
    Works,
    bound_of_parts,
    followed_bound,
)
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles
from tilewright.simulator.lowering.plan import Plan, plan_of, program_of, with_reduction
from tilewright.simulator.lowering.sums.sum_chains import line_costs
from tilewright.simulator.lowering.upper_bound.most_cycles import most_cycles
from tilewright.simulator.quotient.line_shifts import IsOver, never
from tilewright.simulator.quotient.pattern_cycles import pattern_cycles
from tilewright.simulator.run.machine import Stop
from tilewright.simulator.search.bounds.division_bound import DivisionBound
from tilewright.simulator.search.bounds.family_bounds import FamilyBounds
from tilewright.simulator.search.bounds.quick_bound import QuickBound
from tilewright.simulator.search.candidates.architecture_rules import (
    bounds_under_rules,
    check_rules,
)
from tilewright.simulator.search.candidates.program_cycles import ProgramCycles
from tilewright.simulator.search.candidates.transposition import transposed_choice
from tilewright.simulator.search.grid_certificate import Costs, GridObjective
from tilewright.simulator.search.orders.best_orders import OrderedWork, TileOrders

MOST_PLANS: Final = 512
MOST_ELEMENTS: Final = 1 << 20
"""Plans that are kept, and the elements that they have together, at most."""
MOST_VISITS: Final = 1 << 35
"""Cycles times elements of the longest run on a large grid that a search begins: some 20 minutes
(docs/validation/engine-speed.md)."""
FOLLOWING_PAYS: Final = 1 << 16
"""Those of a run of some 3 ms. The bound by turns takes a third of that: of 14 candidates of five
searches on 4 x 4 to 16 x 16 elements it saved the run of three."""
MOST_SIZES: Final = 1 << 14
"""Sizes of shares and tiles for which the best orders of loops are kept."""


class BoundedFamily(NamedTuple):
    """A family: mappings alike but for sums and loops on a tile, with its lower bound.

    `bound`: no member has a smaller objective value; `words`: 16-bit words of an element's memory
    that its tiles need at least, `persistent`: those of its persistent tensors among them.
    `members`: number of its mappings, one for each scheme of the reduction. `costs`: lower bounds,
    of the energy only where it counts.
    """

    bound: float
    family: GridFamily
    words: int
    persistent: int
    members: int
    costs: Costs


def check_computed(einsum: Einsum, grid: Grid) -> None:
    """Raise NoFeasibleMapping for an Einsum that the elements of a grid do not compute."""
    try:
        check_einsum(einsum, grid)
    except InfeasibleMapping as error:
        raise NoFeasibleMapping(error.what, value=error.value, instead=error.instead) from None


@dataclass(frozen=True, slots=True)
class Candidates:
    """All mappings of one Einsum that a search looks at, in families with their bounds.

    A choice is one member of a family. `objective`:
    latency, energy or edp; `settings`: machine and operands. `flat`: path of components to the
    compute of the grid. `space`: the mapspace; `quick`: lower bounds of its families. `kept`:
    addresses of tensors that stay in the elements between Einsums. `data`: operands on which they
    run. `families`: all of them, or those bounded in time if not `is_whole`; `infeasible`: number
    of members of families that do not fit an element, by reason. `known`: what equal questions have
    found; `known_cycles`: by choice, once they were found for it or for the transposed one.
    `counts_energy`: whether energy counts beside an objective of latency, as in a front.
    """

    objective: GridObjective
    settings: ExecutionSettings
    flat: FlatArch
    space: GridMapspace
    kept: LeftTensors
    data: EinsumData
    quick: QuickBound
    families: tuple[BoundedFamily, ...]
    infeasible: Counter[Refusal]
    known: KnownCycles = field(default_factory=KnownCycles)
    known_cycles: dict[GridChoice, int] = field(default_factory=dict)
    _least_cycles: dict[GridChoice, int] = field(init=False, default_factory=dict, repr=False)
    _followed_cycles: dict[GridChoice, int] = field(init=False, default_factory=dict, repr=False)
    _found: ProgramCycles = field(init=False, repr=False, compare=False)
    is_whole: bool = True
    counts_energy: bool = False
    _plans: ValueCache = field(init=False, repr=False, compare=False)
    _first_plans: ValueCache = field(init=False, repr=False, compare=False)
    _works: ValueCache = field(init=False, repr=False, compare=False)
    _transposed: ValueCache = field(init=False, repr=False, compare=False)
    _orders: ValueCache = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kept = max(1, MOST_ELEMENTS // self._elements)
        object.__setattr__(self, "_found", ProgramCycles(self.quick.profile))
        object.__setattr__(self, "_plans", ValueCache(min(kept, MOST_PLANS)))
        object.__setattr__(self, "_first_plans", ValueCache(min(kept, MOST_PLANS)))
        object.__setattr__(self, "_works", ValueCache(MOST_PLANS))
        object.__setattr__(self, "_transposed", ValueCache(MOST_PLANS))
        object.__setattr__(self, "_orders", ValueCache(MOST_SIZES))

    @staticmethod
    def of(
        objective: GridObjective,
        settings: ExecutionSettings,
        flat: FlatArch,
        space: GridMapspace,
        kept: LeftTensors = NOTHING_KEPT,
    ) -> Candidates:
        """Return the candidates of a mapspace, each family with its bound (`bounded`).

        kept: what other Einsums have left in the elements. Raises InfeasibleMapping if the
        constraints name no rank variable, or no shares obey them, NoFeasibleMapping for an Einsum
        that elements do not compute.
        """
        return Candidates.unbounded(objective, settings, flat, space, kept).bounded()

    @staticmethod
    def unbounded(
        objective: GridObjective,
        settings: ExecutionSettings,
        flat: FlatArch,
        space: GridMapspace,
        kept: LeftTensors = NOTHING_KEPT,
    ) -> Candidates:
        """Return the candidates of a mapspace without any families; arguments as of `of`."""
        check_computed(space.einsum, space.grid)
        profile = settings.profile(space.grid)
        space = replace(space, costs=line_costs(profile))
        quick = QuickBound(space, flat, profile)
        known = KnownCycles(CyclesQuestion(flat, space, kept, profile), settings.known)
        data = EinsumData(space.einsum, seed=settings.seed, grid=space.grid)
        return Candidates(
            objective, settings, flat, space, kept, data, quick, (), Counter(), known
        )  # fmt: skip

    def bounded(self, budget: Budget = UNLIMITED) -> Candidates:
        """Return the same candidates with their families, each with its bound.

        Where no tiles below one loop in time fit an element, they have two; where rules of the
        architecture leave no division of the least work, elements may have more of it. When the
        time of the budget is over, those bounded so far are all, if there is one.
        """
        result = self._with_families(budget)
        if result.families or self.space.nests:
            return result
        spaces = [replace(self.space, nests=True)]
        if any(refusal.kind is RefusalKind.RULE for refusal in result.infeasible):
            spaces = [replace(self.space, is_wide=True), *spaces]
        refused = result.infeasible
        for space in spaces:
            other = Candidates.unbounded(self.objective, self.settings, self.flat, space, self.kept)
            other = replace(other, counts_energy=self.counts_energy)
            result = other._with_families(budget)
            result.infeasible.update(refused)
            if result.families:
                break
        return result

    def _with_families(self, budget: Budget) -> Candidates:
        space, quick = self.space, self.quick
        families, bounded = list(space.families()), dict[int, BoundedFamily]()
        infeasible = Counter[Refusal]()
        order, is_whole = self._order(families, budget), True
        ahead = (families[n] for n in order)
        bounds = FamilyBounds(quick, ahead, has_energy=self.has_energy)
        rules = bounds_under_rules(bounds.cycles, self.flat, space)
        for number, cycles in self.known.bounds(families, order, rules):
            family = families[number]
            _, energy, words, persistent, members = bounds.of(family)
            if isinstance(cycles, Refusal):
                infeasible[cycles] += members
                continue
            if bounded and budget.is_late:
                is_whole = False
                break
            costs = self.costs_of(cycles, energy)
            bound = costs.value(self.objective)
            bounded[number] = BoundedFamily(bound, family, words, persistent, members, costs)
        in_order = tuple(bounded[number] for number in sorted(bounded))
        return replace(self, families=in_order, infeasible=infeasible, is_whole=is_whole)

    def _order(self, families: Sequence[GridFamily], budget: Budget) -> Sequence[int]:
        """Return the numbers of families in the order in which they are bounded.

        In a limited time, those that divide the work best by the bound of the division come first;
        where all runs would take too long, before them those that may have an upper bound.
        """
        if not budget.is_limited:
            return range(len(families))
        divisions = list(dict.fromkeys(family.shares for family in families))
        has_energy = self.objective != "latency"
        bounds = DivisionBound(self.quick).together(divisions, has_energy=has_energy)
        values = starmap(self.value_of, bounds)
        least = dict(zip(divisions, values, strict=True))
        are_long = self.are_too_long

        def place(number: int) -> tuple[bool, float]:
            family = families[number]
            return are_long and not self.may_be_enclosed(family), least[family.shares]

        return sorted(range(len(families)), key=place)

    @property
    def floor(self) -> float:
        """An objective value that no mapping of the Einsum goes below, whatever tensors stay."""
        return self.value_of(self.quick.least_cycles, 0.0)

    def value_of(self, cycles: float, energy: float) -> float:
        """Return the objective's value of runs of so many cycles, one for each instance.

        energy: joules of all instances without leakage, which is added to it.
        """
        return self.costs_of(cycles, energy).value(self.objective)

    def costs_of(self, cycles: float, energy: float) -> Costs:
        """Return what runs of so many cycles cost, one for each instance.

        energy: joules of all instances without leakage, which is added to it.
        """
        latency = self.latency_of(cycles)
        return Costs(latency, energy + self.quick.leak_power * latency)

    @property
    def has_energy(self) -> bool:
        """Whether the energy counts."""
        return self.objective != "latency" or self.counts_energy

    def latency_of(self, cycles: float) -> float:
        """Return the seconds of all instances of the Einsum where one takes so many cycles."""
        return cycles * self.space.einsum.n_instances / self.quick.profile.clock_hz

    def read(self, choice: GridChoice) -> SpaceTime:
        """Return a choice's mapping as loops in space and time."""
        space = self.space
        return space_time(self.flat, space.einsum, space.mapping_of(choice), space.staying)

    def plan(self, choice: GridChoice) -> Plan:
        """Return the plan of a choice, from which its program is written; the last plans are kept.

        Raises InfeasibleMapping if it has none.
        """
        return self._plans.of(choice, partial(self._new_plan, choice))

    def _new_plan(self, choice: GridChoice) -> Plan:
        profile = self.quick.profile
        reserved, channels = profile.sram_reserved_bytes, profile.border_channels
        first: Plan = self._first_plans.of(
            (choice.family, choice.order),
            lambda: plan_of(self.read(choice), reserved, self.kept, channels),
        )
        return with_reduction(first, choice.reduction)

    def least_cycles(self, choice: GridChoice, *, followed: bool = False) -> int:
        """Return the lower bound of a choice's cycles, by its plan.

        `followed`: the greater one, which follows the turns of all elements and takes longer; for a
        short run there is none. The work of elements is counted once for all members with one order
        of loops, and a bound once for a choice and the transposed one. Raises InfeasibleMapping if
        the choice has no plan.
        """
        known = self._followed_cycles if followed else self._least_cycles
        if choice not in known:
            find = self._follow if followed else self._bound_parts
            self._keep(known, choice, find(choice))
        return known[choice]

    def _bound_parts(self, choice: GridChoice) -> int:
        works: Works = self._works.of((choice.family, choice.order), dict)
        return bound_of_parts(self.plan(choice), self.quick.profile, works)

    def _follow(self, choice: GridChoice) -> int:
        least = self.least_cycles(choice)
        if least * choice.family.elements < FOLLOWING_PAYS:
            return least
        return followed_bound(self.plan(choice), self.quick.profile, least)

    def _keep(self, cycles_of: dict[GridChoice, int], choice: GridChoice, cycles: int) -> None:
        """Keep cycles of a choice, which are those of its transposed one, too.

        Where axes have rules of their own, the transposed one may break them.
        """
        cycles_of[choice] = cycles
        if self.space.grid.has_equal_axes:
            other = self._transposed.of(choice, partial(self._transposed_of, choice))
            if other is not None:
                cycles_of[other] = cycles

    def _transposed_of(self, choice: GridChoice) -> GridChoice | None:
        return transposed_choice(choice, self.plan(choice), self.space.einsum.bounds)

    def bound(self, choice: GridChoice, *, followed: bool = False) -> float:
        """Return the lower bound of a choice's objective value, by its plan.

        `followed`: the greater one, whose cycles follow the turns of all elements. Raises
        InfeasibleMapping if the choice has no plan.
        """
        cycles = self.least_cycles(choice, followed=followed)
        return self.value_of(cycles, self.energy(choice))

    def orders(self, family: GridFamily) -> tuple[OrderedWork, ...]:
        """Return the best orders of a family's loops on a tile, with the work of an element.

        Families whose elements have shares and tiles of the same sizes have one answer.
        """
        sizes = local_sizes(self.space.einsum, family.shares)
        is_added = max(self.space.groups(family.shares)) > 1
        key = tuple(sizes.values()), replace(family, shares=()), is_added
        found: tuple[OrderedWork, ...] = self._orders.of(key, partial(self._orders_of, family))
        return found

    def _orders_of(self, family: GridFamily) -> tuple[OrderedWork, ...]:
        orders = TileOrders(self.quick, self._plan_under_rules, self.has_energy)
        return orders.best(self.space.members(family)[0])

    def _plan_under_rules(self, choice: GridChoice) -> Plan:
        """Return the plan of a choice; raises ForbiddenMapping for an order that breaks a rule."""
        if choice.order is not None:
            check_rules(self.flat, self.space, choice)
        return self.plan(choice)

    def members(self, family: GridFamily) -> list[tuple[GridChoice, OrderedWork]]:
        """Return the choices of a family, each with the work of an element alone."""
        return [
            (replace(choice, order=work.order), work)
            for work in self.orders(family)
            for choice in self.space.members(family)
        ]

    def least_value(
        self, family: GridFamily, reduction: str | None, alone: BodyCycles | None
    ) -> float:
        """Return an objective value that no member of a family goes below.

        reduction: scheme of the members that count, None for all; `alone`: cycles of an element
        without sums and sends, by a plan, None where they are not known.
        """
        cycles = self.quick.cycles(family, reduction, alone)
        return self.value_of(cycles, self.least_energy(family, reduction))

    def least_energy(self, family: GridFamily, reduction: str | None = None) -> float:
        """Return an energy (J) that no member of a family goes below, leakage left out.

        reduction: scheme of the members that count, None for all. 0 if the objective is latency.
        """
        return 0.0 if self.objective == "latency" else self.quick.energy(family, reduction)

    def energy(self, choice: GridChoice) -> float:
        """Return the energy (J) of a choice, leakage left out; 0 if the objective is latency."""
        return 0.0 if self.objective == "latency" else predicted_energy(self.plan(choice).read)

    def hops(self, choice: GridChoice) -> int:
        """Return the words times links of a choice, which decide how long its simulation takes."""
        return total_hops(predict(self.plan(choice).read))

    @property
    def has_large_grid(self) -> bool:
        """Whether the grid is so large that cycles are looked for by the pattern before a run."""
        return self._elements >= LARGE_GRID

    @property
    def are_too_long(self) -> bool:
        """Whether the run of every mapping would take too long, on a large grid."""
        return self.has_large_grid and self.quick.least_cycles * self._elements > MOST_VISITS

    @property
    def _elements(self) -> int:
        return self.space.grid.columns * self.space.grid.rows

    def is_large(self, family: GridFamily) -> bool:
        """Return whether a family uses so many elements that its pattern is tried before a run."""
        return self.has_large_grid and family.elements >= LARGE_GRID

    def visits(self, family: GridFamily) -> float:
        """Return cycles times elements of a run of a family at least, by which it takes time."""
        return self.quick.cycles(family) * family.elements

    def may_be_enclosed(self, family: GridFamily) -> bool:
        """Return whether there may be an upper bound of the cycles of a family's members."""
        return family.buffers == 2 and max(self.space.groups(family.shares)) == 1

    def most_cycles(self, choice: GridChoice) -> int | None:
        """Return cycles that no run of a choice goes above; None, and errors, as of `most_value`.

        (theory/grid.md §12)
        """
        return most_cycles(self.plan(choice), self.quick.profile)

    def most_value(self, choice: GridChoice) -> float | None:
        """Return an objective value that no run of a choice goes above; None if none is known.

        Raises InfeasibleMapping if the choice has no plan.
        """
        cycles = self.most_cycles(choice)
        return None if cycles is None else self._value_of_run(choice, cycles)

    def execute(self, choice: GridChoice, stop: Stop | None = None) -> EinsumExecution:
        """Execute a choice on data; compare, count and price it.

        `stop`: asked with the cycles so far whether the run is to end. Raises InfeasibleMapping or
        ProgramError if the machine cannot run the choice, RunStoppedError where `stop` says so.
        """
        plan = self.plan(choice)
        options = replace(self.settings, stop=stop).options(plan.read)
        options = replace(options, cycles=self.known_cycles.get(choice))
        return execute_plan(plan, self.quick.profile, self.data, options)

    def simulated_value(self, choice: GridChoice, stop: Stop | None = None) -> float:
        """Return the objective's value of a choice, simulated without data.

        `stop`: asked with the cycles so far whether the run is to end. Raises InfeasibleMapping or
        ProgramError if the machine cannot run the choice, RunStoppedError where `stop` says so.
        """
        return self._value_of_run(choice, self.simulated_cycles(choice, stop))

    def simulated_cycles(self, choice: GridChoice, stop: Stop | None = None) -> int:
        """Return the cycles of a choice, simulated without data.

        They are kept in `known_cycles`. Raises what `simulated_value` raises.
        """
        if choice not in self.known_cycles:
            cycles = self.known.ran(choice, partial(self._simulated_cycles, choice, stop))
            self._keep(self.known_cycles, choice, cycles)
        return self.known_cycles[choice]

    def exact_cycles(self, choice: GridChoice, stop: Stop, is_over: IsOver) -> int:
        """Return the cycles of a choice, of a large grid by its pattern if they follow from it.

        `stop`, `is_over`: as of `simulated_cycles` and `timed_cycles`, which raise the same.
        """
        if self.is_large(choice.family):
            timed = self.timed_cycles(choice, is_over)
            if timed is not None:
                return timed
        return self.simulated_cycles(choice, stop)

    def _simulated_cycles(self, choice: GridChoice, stop: Stop | None) -> int:
        program = program_of(self.plan(choice), self.quick.profile)
        least = self.least_cycles(choice)
        return self._found.cycles(program, least, stop)

    def timed_value(
        self, choice: GridChoice, is_over: IsOver = never, most_visits: int | None = None
    ) -> float | None:
        """Return the objective's value of a choice by its pattern, without a run of its grid.

        None if its cycles do not follow from a small grid, `most_visits`: whose cycles times
        elements are not more. Raises InfeasibleMapping or ProgramError if the machine cannot run
        the choice, RunStoppedError where `is_over` says so.
        """
        cycles = self.timed_cycles(choice, is_over, most_visits)
        return None if cycles is None else self._value_of_run(choice, cycles)

    def timed_cycles(
        self, choice: GridChoice, is_over: IsOver = never, most_visits: int | None = None
    ) -> int | None:
        """Return the cycles of a choice by its pattern, without a run of its grid.

        They are kept in `known_cycles`. None, and errors, as of `timed_value`.
        """
        profile = self.quick.profile
        if choice in self.known_cycles:
            return self.known_cycles[choice]
        most = None if most_visits is None else most_visits // self.least_cycles(choice)

        def by_pattern() -> int | None:
            program = program_of(self.plan(choice), profile)
            return pattern_cycles(program, profile, is_over, most).cycles

        cycles = self.known.timed(choice, by_pattern)
        if cycles is not None:
            self._keep(self.known_cycles, choice, cycles)
        return cycles

    def _value_of_run(self, choice: GridChoice, cycles: int) -> float:
        """Return the objective's value of a run, as its execution gives it to the last bit."""
        if self.objective == "latency":
            return self.latency_of(cycles)
        return self.run_costs(choice, cycles).value(self.objective)

    def run_costs(self, choice: GridChoice, cycles: int) -> Costs:
        """Return what a run of a choice costs, as its execution gives it to the last bit."""
        latency, read = self.latency_of(cycles), self.plan(choice).read
        energies = run_energies(read, predict(read), latency)
        return Costs(latency, float(sum(energies.values())))
