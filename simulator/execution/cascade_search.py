"""Search for the mappings of a whole workload, and for what stays in the elements between Einsums.

An *option* of an Einsum says which of its tensors stay in the elements between Einsums, and which
part of each tensor an element has. A path takes an option of each Einsum so that every tensor that
stays is where the next Einsum needs it. The search looks at the path with the least sum of bounds,
executes a candidate of each of its options, and ends when no path may be better than the best
(theory/grid.md §8).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import inf, prod

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.distribution import Distribution, check_serves, needed, produced
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.grid.grid_shares import Share
from tilewright.mapper.grid.space_time import space_time
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.execution.candidate_search import Candidates, CandidateSearch
from tilewright.simulator.execution.exchange import bank_offsets, intermediates
from tilewright.simulator.isa.dsd import DTYPES
from tilewright.simulator.lowering.addresses import PERIOD_WORDS, LeftTensors

Held = tuple[tuple[str, int], ...]
"""Tensors that stay, with the number of each one's distribution, in the order of their names."""


@dataclass(eq=False)
class Option:
    """Mappings of one Einsum that agree in what stays in the elements, and where.

    `reads`: the intermediates that it finds in the elements; `writes`: its output if it stays.
    `families`: with the bound and the words of an element that each needs.
    """

    candidates: Candidates
    reads: Held
    writes: Held
    families: list[tuple[float, int, GridFamily]] = field(default_factory=list)
    searches: dict[int, CandidateSearch] = field(default_factory=dict)

    @cached_property
    def steps(self) -> list[int]:
        """Words that the families need, each number once, rising."""
        return sorted({words for _, words, _ in self.families})

    def search(self, free: int) -> CandidateSearch | None:
        """Return the search of the families that fit `free` words; None if none fits."""
        fitting = [words for words in self.steps if words <= free]
        if not fitting:
            return None
        most = fitting[-1]
        if most not in self.searches:
            families = [(bound, family) for bound, words, family in self.families if words <= most]
            self.searches[most] = CandidateSearch(self.candidates, families)
        return self.searches[most]


@dataclass(frozen=True, slots=True)
class OptionPath:
    """An option for each Einsum, as searches of what fits, and the sum of their values."""

    searches: tuple[CandidateSearch, ...]
    value: float


class Cascade:
    """The options of all Einsums of a workload on a grid, and the paths through them.

    `distributions`: each different one, by number. `words`: of an element for each of them.
    `infeasible`: by Einsum, the mappings without exchange that fit no element, by reason.
    """

    def __init__(
        self,
        workload: Workload,
        flats: Mapping[str, FlatArch],
        candidates: Callable[[FlatArch, GridMapspace, LeftTensors], Candidates],
        constraints: Callable[[str], GridConstraints],
        *,
        exchanges: bool = True,
    ) -> None:
        self.workload, self.flats = workload, flats
        self.infeasible: dict[str, Counter[str]] = {}
        self.distributions: list[Distribution] = []
        self.words: list[int] = []
        self._numbers: dict[bytes, int] = {}
        self._serving: dict[tuple[int, int], bool] = {}
        self._last = intermediates(workload)
        self._make, self._constraints, self._exchanges = candidates, constraints, exchanges
        self.options = [list(self._options(einsum)) for einsum in workload.einsums]

    def _options(self, einsum: Einsum) -> Iterator[Option]:
        grid = grid_of(self.flats[einsum.name])
        outside_only = grid.host.tensors.resolve({}).keep
        may_stay = [t for t in dict.fromkeys(einsum.tensors) if t in self._last]
        free = [tensor for tensor in may_stay if tensor not in outside_only and self._exchanges]
        for number in range(len(free) + 1):
            for staying in combinations(free, number):
                yield from self._options_with(einsum, frozenset(staying))

    def _options_with(self, einsum: Einsum, staying: frozenset[str]) -> Iterator[Option]:
        flat = self.flats[einsum.name]
        space = GridMapspace(grid_of(flat), einsum, self._constraints(einsum.name), staying)
        kept = LeftTensors(offsets=bank_offsets(self.workload))
        candidates = self._make(flat, space, kept)
        self.infeasible.setdefault(einsum.name, candidates.infeasible)
        by_shares: dict[tuple[tuple[Share, ...], bool], tuple[Held, Held] | None] = {}
        options: dict[tuple[Held, Held], Option] = {}
        for bound, family in candidates.families:
            key = family.shares, family.shared
            if key not in by_shares:
                by_shares[key] = self._where(candidates, family)
            where = by_shares[key]
            if where is None:
                continue
            option = options.setdefault(where, Option(candidates, *where))
            slack = PERIOD_WORDS * len(einsum.tensors) if staying else 0
            option.families.append((bound, candidates.quick.words(family) + slack, family))
        yield from options.values()

    def _where(self, candidates: Candidates, family: GridFamily) -> tuple[Held, Held] | None:
        """Return where a family has the tensors that stay; None if padding would be added up."""
        space = candidates.space
        choice = space.members(family)[0]
        read = space_time(candidates.flat, space.einsum, space.mapping_of(choice), space.staying)
        reads = []
        for tensor in read.inputs:
            if tensor.name in space.staying:
                place = needed(read, tensor)
                try:
                    check_serves(place, read, tensor)
                except InfeasibleMapping:
                    return None
                reads.append((tensor.name, self._number(place, read.dtype)))
        writes = [
            (tensor.name, self._number(produced(read), read.dtype))
            for tensor in (read.output,)
            if tensor.name in space.staying
        ]
        return tuple(sorted(reads)), tuple(writes)

    def _number(self, place: Distribution, dtype: str) -> int:
        number = self._numbers.setdefault(place.key, len(self.distributions))
        if number == len(self.distributions):
            self.distributions.append(place)
            self.words.append(prod(place.extents) * DTYPES[dtype] + PERIOD_WORDS)
        return number

    def _serves(self, producer: int, consumer: int) -> bool:
        key = producer, consumer
        if key not in self._serving:
            first, second = self.distributions[producer], self.distributions[consumer]
            self._serving[key] = first.serves(second)
        return self._serving[key]

    @property
    def searches(self) -> list[CandidateSearch]:
        """All searches that have begun."""
        options = [option for of_einsum in self.options for option in of_einsum]
        return [search for option in options for search in option.searches.values()]

    def best_path(self, value: Callable[[CandidateSearch], float]) -> OptionPath | None:
        """Return the path with the least sum of values; None if there is none below infinity."""
        states: dict[Held, OptionPath] = {(): OptionPath((), 0.0)}
        for number in range(len(self.options)):
            following: dict[Held, OptionPath] = {}
            for held, path in states.items():
                for option in self.options[number]:
                    step = self._step(number, dict(held), option)
                    if step is None:
                        continue
                    total = path.value + value(step[1])
                    if total < following.get(step[0], _WORST).value:
                        following[step[0]] = OptionPath((*path.searches, step[1]), total)
            states = following
        return min(states.values(), key=lambda path: path.value, default=None)

    def _step(
        self, number: int, held: dict[str, int], option: Option
    ) -> tuple[Held, CandidateSearch] | None:
        """Return what is held behind an Einsum with an option, and its search; None if unfit."""
        einsum = self.workload.einsums[number]
        inputs = {access.tensor for access in einsum.inputs} & set(held)
        if inputs != {name for name, _ in option.reads}:
            return None
        if not all(self._serves(held[name], place) for name, place in option.reads):
            return None
        others = [self.words[place] for name, place in held.items() if name not in inputs]
        slack = PERIOD_WORDS * len(einsum.tensors) if others else 0
        search = option.search(option.candidates.quick.free_words - sum(others) - slack)
        if search is None:
            return None
        after = {**held, **dict(option.writes)}
        left = sorted((name, place) for name, place in after.items() if self._last[name] > number)
        return tuple(left), search


_WORST = OptionPath((), inf)


@dataclass(frozen=True, slots=True)
class CascadeLimits:
    """Limits of a search: executions, seconds; None for none."""

    most_executions: int | None = None
    budget_s: float | None = None


def search_cascade(
    cascade: Cascade,
    limits: CascadeLimits,
    on_progress: Callable[[int, float, float], None] | None = None,
) -> tuple[OptionPath | None, float]:
    """Return the best executed path, None if there is none, and a bound of all paths.

    `on_progress`: called with (executed, best value, bound) after each round of executions. One
    candidate of every Einsum that exchanges nothing runs first, whatever the limits are.
    """
    start, executed = time.perf_counter(), 0
    for options in cascade.options:
        for option in options:
            search = None if option.reads or option.writes else option.search(_ALL)
            executed += search is not None and search.start()
    while True:
        least = cascade.best_path(lambda search: search.bound)
        best = cascade.best_path(lambda search: search.value)
        bound = inf if least is None else least.value
        if on_progress is not None:
            on_progress(executed, inf if best is None else best.value, bound)
        if least is None or (best is not None and bound >= best.value):
            return best, bound
        if _is_over(limits, executed, start, best):
            return best, bound
        for search in least.searches:
            if search.best is None:
                executed += search.start()
            else:
                executed += not search.is_closed and search.step()


_ALL = 1 << 60
"""More words than any element has."""


def _is_over(limits: CascadeLimits, executed: int, start: float, best: OptionPath | None) -> bool:
    if best is None:
        return False
    if limits.most_executions is not None and executed >= limits.most_executions:
        return True
    return limits.budget_s is not None and time.perf_counter() - start >= limits.budget_s
