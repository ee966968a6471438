"""Search the mappings of one Einsum in the order of their lower bounds, and simulate the best.

On a large grid the exact cycles of a candidate often follow from a small grid of the same pattern;
then only the best candidate runs on data. Candidates whose cycles do not follow wait until the
others are done, since a run takes long.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Final, NamedTuple

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily, GridMapspace
from tilewright.mapper.grid.predicted_counts import predict
from tilewright.mapper.grid.space_time import SpaceTime, space_time
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.action_counts import (
    predicted_energy,
    run_energies,
    total_hops,
)
from tilewright.simulator.execution.einsum_data import EinsumData
from tilewright.simulator.execution.einsum_execution import (
    LARGE_GRID,
    EinsumExecution,
    ExecutionSettings,
    execute_plan,
)
from tilewright.simulator.execution.known_cycles import CyclesQuestion, KnownCycles
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.machine_errors import ProgramError, RunStoppedError
from tilewright.simulator.isa.memo import ValueCache
from tilewright.simulator.lowering.addresses import NOTHING_KEPT, LeftTensors
from tilewright.simulator.lowering.cycle_bound import Works, alone_cycles, line_costs, lower_bound
from tilewright.simulator.lowering.plan import Plan, plan_of, program_of
from tilewright.simulator.lowering.sum_roles import Role
from tilewright.simulator.lowering.task_cycles import BodyCycles
from tilewright.simulator.program.program import ElementCode
from tilewright.simulator.quotient.pattern_cycles import pattern_cycles
from tilewright.simulator.run.machine import Machine, Stop
from tilewright.simulator.search.candidate_runs import CandidateRuns
from tilewright.simulator.search.grid_certificate import (
    GridCertificate,
    GridObjective,
    objective_value,
)
from tilewright.simulator.search.quick_bound import QuickBound

MOST_WAITING: Final = 4
"""Candidates that cannot be timed before the first of them runs, while there is no answer yet."""
MOST_FIRST: Final = 4
"""Families among whose candidates the first one to run is chosen."""
NEAR: Final = 1.25
"""Their bounds are at most so many times the least one."""
PROOF_PAYS: Final = 64_000_000
"""Cycles times elements of a run of some seconds (docs/validation/engine-speed.md)."""
ROUNDING: Final = 1 + 1e-9
"""Sums of energies differ by less from one order to another."""
MOST_PLANS: Final = 512
MOST_ELEMENTS: Final = 1 << 20
"""Plans that are kept, and the elements that they have together, at most."""


class BoundedFamily(NamedTuple):
    """A family of mappings that differ in the scheme of their reduction only, with its lower bound.

    `bound`: no member has a smaller objective value; `words`: 16-bit words of an element's memory
    that its tiles need at least.
    """

    bound: float
    family: GridFamily
    words: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """All mappings of one Einsum that a search looks at, in families with their bounds.

    A family differs in the scheme of the reduction only; a choice is one member. `objective`:
    latency, energy or edp; `settings`: machine and operands. `flat`: path of components to the
    compute of the grid. `space`: the mapspace; `quick`: lower bounds of its families. `kept`:
    addresses of tensors that stay in the elements between Einsums. `data`: operands on which they
    run. `families`: all of them; `infeasible`: number of members of families that do not fit an
    element, by reason. `known`: what equal questions have found; `known_cycles`: by choice, once
    they were found.
    """

    objective: GridObjective
    settings: ExecutionSettings
    flat: FlatArch
    space: GridMapspace
    kept: LeftTensors
    data: EinsumData
    quick: QuickBound
    families: tuple[BoundedFamily, ...]
    infeasible: Counter[str]
    known: KnownCycles = field(default_factory=KnownCycles)
    known_cycles: dict[GridChoice, int] = field(default_factory=dict)
    _plans: ValueCache = field(init=False, repr=False, compare=False)
    _codes: ValueCache = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        kept = max(1, MOST_ELEMENTS // (self.space.grid.columns * self.space.grid.rows))
        object.__setattr__(self, "_plans", ValueCache(min(kept, MOST_PLANS)))
        object.__setattr__(self, "_codes", ValueCache(MOST_PLANS))

    @staticmethod
    def of(
        objective: GridObjective,
        settings: ExecutionSettings,
        flat: FlatArch,
        space: GridMapspace,
        kept: LeftTensors = NOTHING_KEPT,
    ) -> Candidates:
        """Return the candidates of a mapspace, each family with its bound.

        kept: what other Einsums have left in the elements. Raises InfeasibleMapping if the
        constraints name no rank variable, or no shares obey them.
        """
        profile = settings.profile(space.grid)
        space = replace(space, costs=line_costs(profile))
        quick = QuickBound(space, flat, profile)
        known = KnownCycles(CyclesQuestion(flat, space, kept, profile), settings.known)
        families, infeasible = [], Counter[str]()
        data = EinsumData(space.einsum, seed=settings.seed)
        result = Candidates(
            objective, settings, flat, space, kept, data, quick, (), infeasible, known
        )  # fmt: skip
        for family, cycles in known.bounds(space, quick.cycles):
            if isinstance(cycles, str):
                infeasible[cycles] += len(space.members(family))
                continue
            bound = result.value_of(cycles, result.least_energy(family))
            families.append(BoundedFamily(bound, family, quick.words(family)))
        return replace(result, families=tuple(families))

    def value_of(self, cycles: float, energy: float) -> float:
        """Return the objective's value of a run of so many cycles.

        energy: joules without leakage, which is added to it.
        """
        latency = cycles / self.quick.profile.clock_hz
        return objective_value(self.objective, latency, energy + self.quick.leak_power * latency)

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
        plan = plan_of(self.read(choice), self.quick.profile.sram_reserved_bytes, self.kept)
        codes: dict[Role, ElementCode] = self._codes.of(choice.family, dict)
        return replace(plan, codes=codes)

    def bound(self, choice: GridChoice, works: Works | None = None) -> float:
        """Return the lower bound of a choice's objective value, by its plan.

        `works`: cycles of elements' work, a cache shared with the other members of its family.
        Raises InfeasibleMapping if the choice has no plan.
        """
        plan = self.plan(choice)
        energy = 0.0 if self.objective == "latency" else predicted_energy(plan.read)
        return self.value_of(lower_bound(plan, self.quick.profile, works), energy)

    def alone(self, family: GridFamily) -> BodyCycles | None:
        """Return the cycles of an element of a family without sums and sends, by a plan.

        None if its first member has no plan.
        """
        try:
            plan = self.plan(self.space.members(family)[0])
            return alone_cycles(plan, self.quick.profile)
        except (InfeasibleMapping, ProgramError):
            return None

    def least_value(
        self, family: GridFamily, reduction: str | None, alone: BodyCycles | None
    ) -> float:
        """Return an objective value that no member of a family goes below.

        reduction: scheme of the members that count, None for all; `alone`: as this class's `alone`.
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
        return self.space.grid.columns * self.space.grid.rows >= LARGE_GRID

    def is_large(self, choice: GridChoice) -> bool:
        """Return whether a choice uses so many elements that its pattern is tried before a run."""
        if not self.has_large_grid:
            return False
        return self.plan(choice).placement.size >= LARGE_GRID

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
        cycles = self.simulated_cycles(choice, stop)
        return self._value_of_run(self.plan(choice).read, cycles)

    def simulated_cycles(self, choice: GridChoice, stop: Stop | None = None) -> int:
        """Return the cycles of a choice, simulated without data.

        They are kept in `known_cycles`. Raises what `simulated_value` raises.
        """
        cycles = self.known.ran(choice, partial(self._simulated_cycles, choice, stop))
        self.known_cycles[choice] = cycles
        return cycles

    def _simulated_cycles(self, choice: GridChoice, stop: Stop | None) -> int:
        plan, profile = self.plan(choice), self.quick.profile
        program, cycles = program_of(plan), None
        if self._may_be_proved(choice):
            fast = FastMachine(program, profile)
            machine, cycles = fast.machine, fast.cycles
        else:
            machine = Machine(program, profile)
        if cycles is None:
            machine.stop = stop
            cycles = machine.cycles()
        return cycles

    def _may_be_proved(self, choice: GridChoice) -> bool:
        """Return whether the fast engine is tried before the reference engine.

        It is on a large grid, and for a long run whose times mostly become regular: each element
        takes all words of its streams, one tile after the other.
        """
        plan = self.plan(choice)
        if plan.placement.size >= LARGE_GRID:
            return True
        if self.quick.cycles(choice.family) * plan.placement.size < PROOF_PAYS:
            return False
        takes_all = all(stream.tiles == 1 for stream in plan.streams)
        return takes_all and all(tensor.buffers == 1 for tensor in plan.read.tensors)

    def timed_value(self, choice: GridChoice) -> float | None:
        """Return the objective's value of a choice by its pattern, without a run of its grid.

        None if its cycles do not follow from a small grid. Raises InfeasibleMapping or ProgramError
        if the machine cannot run the choice.
        """
        cycles = self.timed_cycles(choice)
        return None if cycles is None else self._value_of_run(self.plan(choice).read, cycles)

    def timed_cycles(self, choice: GridChoice) -> int | None:
        """Return the cycles of a choice by its pattern, without a run of its grid.

        They are kept in `known_cycles`. None, and errors, as of `timed_value`.
        """
        profile = self.quick.profile
        cycles = self.known.timed(
            choice, lambda: pattern_cycles(program_of(self.plan(choice)), profile).cycles
        )  # fmt: skip
        if cycles is not None:
            self.known_cycles[choice] = cycles
        return cycles

    def _value_of_run(self, read: SpaceTime, cycles: int) -> float:
        """Return the objective's value of a run, as its execution gives it to the last bit."""
        latency = cycles / self.quick.profile.clock_hz
        if self.objective == "latency":
            return latency
        energies = run_energies(read, predict(read), latency)
        return objective_value(self.objective, latency, float(sum(energies.values())))


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    """A family, or one of its choices, in the order in which a search looks at them.

    `bound`: lower bound of the objective, by a plan if `is_planned`; `order`: decides
    between equal bounds; `family`; `choice`: None for the whole family.
    """

    bound: float
    order: tuple[int, int]
    family: GridFamily = field(compare=False)
    choice: GridChoice | None = field(default=None, compare=False)
    is_planned: bool = field(default=False, compare=False)


class CandidateSearch:
    """A best-first search of families by their lower bounds, one candidate at each step.

    `choice`, `value`: the best candidate so far and its objective value, None and inf before the
    first. `executed`: number of candidates that were simulated; `timed`: number of those whose
    cycles follow from a smaller grid; `has_run`: whether the best one was simulated. `waiting`:
    candidates of a large grid whose cycles do not follow, with their bounds; `left`: number of
    candidates whose value is not known, those that wait included; `reasons`: why others are
    infeasible.
    """

    def __init__(self, candidates: Candidates, families: Iterable[BoundedFamily]) -> None:
        self.candidates = candidates
        self.runs = CandidateRuns(candidates)
        self.reasons: Counter[str] = Counter()
        self.executed = self.timed = 0
        self.choice: GridChoice | None = None
        self.value = inf
        self.has_run = False
        self._execution: EinsumExecution | None = None
        self.heap = [_Entry(f.bound, (n, -1), f.family) for n, f in enumerate(families)]
        self.left = sum(len(candidates.space.members(entry.family)) for entry in self.heap)
        heapq.heapify(self.heap)
        self.waiting: list[_Entry] = []
        self._works: dict[int, Works] = {}
        self._alone: dict[int, BodyCycles | None] = {}

    @property
    def looked_at(self) -> int:
        """Number of candidates whose exact objective value is known."""
        return self.executed + self.timed

    @property
    def best(self) -> EinsumExecution | None:
        """The execution of the best candidate on data; it runs at the first use.

        None before the first candidate.
        """
        if self.choice is not None and self._execution is None:
            run = self._execution = self.candidates.execute(self.choice)
            self.executed += not self.has_run
            self.has_run = True
            reached = objective_value(self.candidates.objective, run.latency, run.energy)
            assert reached == self.value, (reached, self.value)
        return self._execution

    @property
    def mapping(self) -> Mapping:
        """The mapping of the best candidate; there must be one."""
        assert self.choice is not None
        return self.candidates.space.mapping_of(self.choice)

    @property
    def bound(self) -> float:
        """An objective value that no candidate goes below; inf if none can be built."""
        least = self.value
        if self.heap and self.heap[0].bound < least:
            least = self.heap[0].bound
        if self.waiting and self.waiting[0].bound < least:
            least = self.waiting[0].bound
        return least

    @property
    def is_closed(self) -> bool:
        """Whether no candidate that is left can be better than the best."""
        return self.bound >= self.value

    def start(self) -> bool:
        """Find the value of a first candidate; return False if none runs, or the time is over.

        On a small grid it is the one with the fewest words on links among those near the least
        bound, to have an answer at once. On a large one it is the first by the bounds whose cycles
        follow from its pattern; if those of four candidates do not, the first of these runs.
        """
        if self.candidates.has_large_grid:
            return self._start_timed()
        while self.value == inf and self.heap and not self.runs.is_over:
            entries = self._near_the_least()
            while entries and self.value == inf and not self.runs.is_over:
                self._look_at(entries.pop(0))
            for left in entries:
                heapq.heappush(self.heap, left)
        return self.value < inf

    def _start_timed(self) -> bool:
        while self.value == inf and self.step():
            if len(self.waiting) == MOST_WAITING and self.value == inf:
                self._execute(heapq.heappop(self.waiting))
        return self.value < inf

    def _near_the_least(self) -> list[_Entry]:
        """Take the choices of the families near the least bound, least words on links first."""
        most = NEAR * self.heap[0].bound
        choices: list[_Entry] = []
        for _ in range(MOST_FIRST):
            if not self.heap or self.heap[0].bound > most:
                break
            entry = heapq.heappop(self.heap)
            members = [entry] if entry.choice is not None else self._members(self._raised(entry))
            choices += filter(None, map(self._planned, members))
        least = min((e.bound for e in choices), default=inf)
        hops = {e.order: self.candidates.hops(e.choice) for e in choices if e.choice is not None}
        return sorted(choices, key=lambda e: (e.bound > NEAR * least, hops[e.order], e))

    def step(self) -> bool:
        """Look at the candidate with the least bound; return False if none is left to look at.

        A family that comes first is replaced by its members, and a member by its plan's greater
        bound, until one with a plan comes first. Candidates that wait are executed when all others
        are done.
        """
        while not self.is_closed and not self.runs.is_over:
            if not self.heap or self.heap[0].bound >= self.value:
                self._execute(heapq.heappop(self.waiting))
                return True
            entry = heapq.heappop(self.heap)
            if entry.choice is None:
                self._push(self._members(entry) if entry.is_planned else [self._raised(entry)])
            elif not entry.is_planned:
                self._push(filter(None, [self._planned(entry)]))
            elif self._look_at(entry):
                return True
        return False

    def _look_at(self, entry: _Entry) -> bool:
        """Find the exact value of a choice, or let it wait; return False if it cannot be run."""
        assert entry.choice is not None
        if not self.candidates.is_large(entry.choice):
            return self._execute(entry)
        try:
            reached = self.candidates.timed_value(entry.choice)
        except (InfeasibleMapping, ProgramError) as error:
            self._drop(error)
            return False
        if reached is None:
            heapq.heappush(self.waiting, entry)
            return True
        self.timed += 1
        self._note(entry, reached, has_run=False)
        return True

    def _execute(self, entry: _Entry) -> bool:
        """Execute a choice; return False if the machine cannot run it, or the time is over."""
        assert entry.choice is not None
        try:
            reached = self.runs.execute(entry.choice, self._ahead())
        except (InfeasibleMapping, ProgramError) as error:
            self._drop(error)
            return False
        except RunStoppedError:
            if self.runs.is_over:
                heapq.heappush(self.heap, entry)
                return False
            self.executed += 1
            self.left -= 1
            return True
        self.executed += 1
        self._note(entry, reached, has_run=True)
        return True

    def _ahead(self) -> Iterator[GridChoice]:
        """Yield the choices that are looked at next, unless one before them becomes the best."""
        next_choices = heapq.nsmallest(
            self.candidates.settings.threads, (e for e in self.heap if e.is_planned)
        )
        for entry in next_choices:
            if entry.choice is not None and entry.bound < self.value:
                yield entry.choice

    def _drop(self, error: InfeasibleMapping | ProgramError) -> None:
        self.reasons[error.what] += 1
        self.left -= 1

    def _note(self, entry: _Entry, reached: float, *, has_run: bool) -> None:
        """Count a choice whose value is known, and keep it if it is the best so far.

        `reached`: its objective value; `has_run`: whether it was simulated. A value below its bound
        is a defect: bounds exclude candidates.
        """
        assert entry.bound <= reached * ROUNDING, (entry, reached)
        self.left -= 1
        if reached < self.value:
            self.choice, self.value, self._execution = entry.choice, reached, None
            self.has_run, self.runs.value = has_run, reached

    def _push(self, entries: Iterable[_Entry]) -> None:
        for entry in entries:
            heapq.heappush(self.heap, entry)

    def _raised(self, entry: _Entry) -> _Entry:
        """Return a family with its bound by the work of a plan."""
        alone = self._alone[entry.order[0]] = self.candidates.alone(entry.family)
        bound = self.candidates.least_value(entry.family, None, alone)
        return replace(entry, bound=max(entry.bound, bound), is_planned=True)

    def _members(self, entry: _Entry) -> Iterator[_Entry]:
        """Yield the choices of a family with their quick bounds."""
        candidates, family = self.candidates, entry.family
        alone = self._alone.pop(entry.order[0], None)
        for number, choice in enumerate(candidates.space.members(family)):
            value = candidates.least_value(family, choice.reduction, alone)
            bound = max(entry.bound, value)
            yield _Entry(bound, (entry.order[0], number), family, choice)

    def _planned(self, entry: _Entry) -> _Entry | None:
        """Return a choice with the bound of its plan; None if it has none, which is counted."""
        if entry.is_planned or entry.choice is None:
            return entry
        works = self._works.setdefault(entry.order[0], {})
        try:
            bound = self.candidates.bound(entry.choice, works)
        except (InfeasibleMapping, ProgramError) as error:
            self._drop(error)
            return None
        return replace(entry, bound=max(entry.bound, bound), is_planned=True)

    def certificate(self) -> GridCertificate:
        """Return what the search has shown so far: counts of candidates, bound, and optimality."""
        reasons = self.reasons + self.candidates.infeasible
        return GridCertificate(
            executed=self.executed,
            timed=self.timed,
            excluded=self.left,
            infeasible=sum(reasons.values()),
            reasons=tuple(reasons.most_common(5)),
            bound=self.bound,
            is_optimal=self.is_closed and self.choice is not None,
        )
