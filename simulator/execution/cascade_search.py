"""Search for the mappings of a whole workload, and for what stays in the elements between Einsums.

An *option* of an Einsum says which of its tensors stay in the elements between Einsums, and which
part of each tensor an element has. A path takes an option of each Einsum so that every tensor that
stays is where the next Einsum needs it, or an exchange of halos brings it there. The search looks
at the path with the least sum of bounds, executes a candidate of each of its options, and ends when
no path may be better than the best (theory/grid.md §8, §9).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, combinations
from math import inf
from operator import or_

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.distribution import Distribution, check_padding, needed, produced
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.grid.grid_shares import Share
from tilewright.mapper.grid.halo import halo_exchange
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
        self._moves: dict[tuple[str, int, int], float] = {}
        self._known_fitting: dict[tuple[int, Held], list[tuple[Option, float]]] = {}
        self._known_steps: dict[tuple[int, Held], list[_Step]] = {}
        self._known_reading: dict[tuple[int, frozenset[str], frozenset[str]], int] = {}
        self._known_reaching: dict[tuple[int, str, int], int] = {}
        self._last = intermediates(workload)
        self._inputs = [frozenset(a.tensor for a in e.inputs) for e in workload.einsums]
        self._written = _written(workload, frozenset(self._last))
        self._make, self._constraints, self._exchanges = candidates, constraints, exchanges
        self.options = [list(self._options(einsum)) for einsum in workload.einsums]
        self._by_reads = [_by_reads(options) for options in self.options]

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
                    check_padding(read, tensor)
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
            self.words.append(place.values * DTYPES[dtype] + PERIOD_WORDS)
        return number

    def _move(self, tensor: str, producer: int, consumer: int, option: Option) -> float:
        """Return the value of bringing a tensor from where it stays to where an option needs it.

        0 if it is there, inf if no exchange of halos brings it.
        """
        key = tensor, producer, consumer
        if key not in self._moves:
            self._moves[key] = self._value_of_move(tensor, producer, consumer, option)
        return self._moves[key]

    def _value_of_move(self, tensor: str, producer: int, consumer: int, option: Option) -> float:
        if self._is_there(producer, consumer):
            return 0.0
        held, wanted = self.distributions[producer], self.distributions[consumer]
        exchange = halo_exchange(tensor, held, wanted)
        return inf if exchange is None else option.candidates.value_of_halo(exchange)

    def _is_there(self, producer: int, consumer: int) -> bool:
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
                for step in self._steps(number, held):
                    total = path.value + step.moves + value(step.search)
                    if total < following.get(step.held, _WORST).value:
                        following[step.held] = OptionPath((*path.searches, step.search), total)
            states = following
        return min(states.values(), key=lambda path: path.value, default=None)

    def _steps(self, number: int, held: Held) -> list[_Step]:
        """Return the steps of an Einsum when something is held; known from the second time on."""
        key = number, held
        if key not in self._known_steps:
            steps = (
                self._step(number, dict(held), option, moves)
                for option, moves in self._fitting(number, held)
            )
            self._known_steps[key] = [step for step in steps if step is not None]
        return self._known_steps[key]

    def _fitting(self, number: int, held: Held) -> list[tuple[Option, float]]:
        """Return the options of an Einsum that find what is held, with the value of the moves."""
        key = number, tuple(item for item in held if item[0] in self._inputs[number])
        if key not in self._known_fitting:
            places, fitting = dict(key[1]), []
            for option in self._by_reads[number].get(tuple(places), ()):
                moves = sum(self._move(n, places[n], place, option) for n, place in option.reads)
                if moves < inf:
                    fitting.append((option, moves))
            self._known_fitting[key] = fitting
        return self._known_fitting[key]

    def _is_useful(self, number: int, held: Held) -> bool:
        """Return whether a later Einsum's options find all that it reads of what is held."""
        for later in range(number + 1, len(self.options)):
            places = tuple(item for item in held if item[0] in self._inputs[later])
            if places and not self._is_readable(later, places, self._written[number]):
                return False
        return True

    def _is_readable(self, number: int, places: Held, written: frozenset[str]) -> bool:
        """Return whether an option finds places, and nothing else in the elements of `written`."""
        mask = self._reading(number, frozenset(name for name, _ in places), written)
        for name, place in places:
            mask &= self._reaching(number, name, place)
        return mask != 0

    def _reading(self, number: int, names: frozenset[str], written: frozenset[str]) -> int:
        """Return the options, a bit each, that find of `written` these tensors in the elements."""
        key = number, names, written
        if key not in self._known_reading:
            self._known_reading[key] = sum(
                1 << bit
                for bit, option in enumerate(self.options[number])
                if {name for name, _ in option.reads} & written == names
            )
        return self._known_reading[key]

    def _reaching(self, number: int, tensor: str, producer: int) -> int:
        """Return the options, a bit each, to which a tensor can come from where it stays."""
        key = number, tensor, producer
        if key not in self._known_reaching:
            self._known_reaching[key] = sum(
                1 << bit
                for bit, option in enumerate(self.options[number])
                for name, place in option.reads
                if name == tensor and self._move(tensor, producer, place, option) < inf
            )
        return self._known_reaching[key]

    def _step(
        self, number: int, held: dict[str, int], option: Option, moves: float
    ) -> _Step | None:
        """Return the step of an Einsum with an option; None if it does not fit or leads nowhere."""
        einsum = self.workload.einsums[number]
        after = {**held, **dict(option.writes)}
        left = sorted((name, place) for name, place in after.items() if self._last[name] > number)
        if not self._is_useful(number, tuple(left)):
            return None
        used = {name for name, place in option.reads if self._is_there(held[name], place)}
        beside = [self.words[place] for name, place in held.items() if name not in used]
        slack = PERIOD_WORDS * len(einsum.tensors) if beside else 0
        search = option.search(option.candidates.quick.free_words - sum(beside) - slack)
        return None if search is None else _Step(tuple(left), search, moves)


@dataclass(frozen=True, slots=True)
class _Step:
    """An Einsum with an option behind what is held: what is held then, its search, its moves.

    `moves`: value of the exchanges of halos before it.
    """

    held: Held
    search: CandidateSearch
    moves: float


_WORST = OptionPath((), inf)


def _written(workload: Workload, exchanged: frozenset[str]) -> list[frozenset[str]]:
    """Return the intermediates that have been computed behind each Einsum."""
    outputs = [frozenset(a.tensor for a in e.outputs) & exchanged for e in workload.einsums]
    return list(accumulate(outputs, or_))


def _by_reads(options: list[Option]) -> dict[tuple[str, ...], list[Option]]:
    """Return options by the names of the tensors that they find in the elements."""
    groups: dict[tuple[str, ...], list[Option]] = {}
    for option in options:
        groups.setdefault(tuple(name for name, _ in option.reads), []).append(option)
    return groups


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
            if search.choice is None:
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
