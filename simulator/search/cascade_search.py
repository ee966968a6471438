"""The mappings of a whole workload on a grid, with what stays in the elements between Einsums.

An *option* of an Einsum says which of its tensors stay in the elements between Einsums, and which
part of each tensor an element has. A path takes an option of each Einsum so that every tensor that
stays is where the next Einsum needs it, or an exchange brings it there (theory/grid.md §8 to §10).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, combinations
from math import inf
from operator import attrgetter, or_

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.distribution import Distribution, needed, produced
from tilewright.mapper.grid.exchanges.padding_fills import padding_fills
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.grid.grid_shares import Share
from tilewright.mapper.grid.number_types import in_elements
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping, Refusal
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.exchanges.exchange_move import Move
from tilewright.simulator.execution.exchange import bank_offsets, bound_to_host, intermediates
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.lowering.addresses import PERIOD_WORDS, LeftTensors
from tilewright.simulator.search.candidate_search import CandidateSearch
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.paths.move_costs import MoveCosts
from tilewright.simulator.search.paths.option import Option
from tilewright.simulator.search.paths.path_graph import (
    Contents,
    Held,
    OptionPath,
    OptionStep,
    PathGraph,
    PathQuestion,
)
from tilewright.simulator.search.paths.path_rests import PathRests, PathTensors, places_of
from tilewright.simulator.search.persistent_space import NOT_SHARED, PersistentSpace

CostOf = Callable[[Option], float]
"""What an option costs at least, by a question."""
_NOTHING: frozenset[str] = frozenset()
ALL = 1 << 60
"""More words than any element has."""


class Cascade:
    """The options of all Einsums of a workload on a grid, and the paths through them.

    A path has one option for each Einsum. `distributions`: which part of a tensor each element has,
    each different one once; options name it by its number. `words`: 16-bit words of an element that
    each distribution takes. `infeasible`: by Einsum, the mappings without exchange that fit no
    element, by reason. `exchanges`: time for the options by which tensors stay in the elements;
    None for none of these. `floors`: by Einsum, an objective value that no mapping goes below which
    was left out as that time was over; inf if none was.
    """

    def __init__(
        self,
        workload: Workload,
        flats: Mapping[str, FlatArch],
        candidates: Callable[[FlatArch, GridMapspace, LeftTensors], Candidates],
        constraints: Callable[[str], GridConstraints],
        *,
        exchanges: Budget | None = UNLIMITED,
    ) -> None:
        self.workload, self.flats = workload, flats
        self.infeasible: dict[str, Counter[Refusal]] = {}
        self.distributions: list[Distribution] = []
        self.words: list[int] = []
        self._numbers: dict[bytes, int] = {}
        self._moves: dict[tuple[str, int, int], Move] = {}
        self._alike: dict[tuple[int, int], Move] = {}
        self._reads: dict[int, SpaceTime] = {}
        self._known_fitting: dict[tuple[int, Held], list[_Fitting]] = {}
        self._known_useful: dict[tuple[int, frozenset[str]], bool] = {}
        self._last = intermediates(workload)
        narrowed = (e.outputs[0].tensor for e in workload.einsums if self._narrows(e))
        self._bound_to_host = bound_to_host(workload).union(narrowed)
        self.tensors = PathTensors(
            [frozenset(a.tensor for a in e.inputs) for e in workload.einsums],
            _written(workload, frozenset(self._last)),
        )
        self._make, self._constraints = candidates, constraints
        self.floors = [inf for _ in workload.einsums]
        staying = [self._staying(e) if exchanges else [_NOTHING] for e in workload.einsums]
        # Those that stay in the fewest first: then there is an answer, whatever the time.
        self.options = [
            list(self._options_with(einsum, first))
            for einsum, (first, *_) in zip(workload.einsums, staying, strict=True)
        ]
        for number, (_, *others) in enumerate(staying):
            self._add_options(number, others, exchanges or UNLIMITED)
        self._by_reads = [_by_reads(options) for options in self.options]
        self.space = self._persistent_space()
        self.moves = MoveCosts[Option](self._move, places_of(self.options, self._last))
        self.graph = PathGraph(len(self.options), self._steps, self.space.starts)

    def _persistent_space(self) -> PersistentSpace:
        """Decide how persistent tensors share the memory with tiles, and tell all options."""
        options = [option for of_einsum in self.options for option in of_einsum]
        if len(self.options) < 2 or not options:
            return NOT_SHARED
        families = [[f for option in of_einsum for f in option.families]
                    for of_einsum in self.options]  # fmt: skip
        free = options[0].candidates.quick.free_words
        staying = len(self._last) * max(self.words, default=0)
        space = PersistentSpace.of(free, staying, families)
        for option in options:
            option.space = space
        return space

    def _narrows(self, einsum: Einsum) -> bool:
        """Return whether sums of f32 become f16 where they leave the elements."""
        return in_elements(einsum, grid_of(self.flats[einsum.name])) is not einsum

    def _staying(self, einsum: Einsum) -> list[frozenset[str]]:
        """Return the sets of an Einsum's tensors that may stay in the elements, the least first."""
        rules = grid_of(self.flats[einsum.name]).host.tensors.resolve({})
        may_stay = [t for t in dict.fromkeys(einsum.tensors) if t in self._last]
        kept = rules.keep | self._bound_to_host
        free = [tensor for tensor in may_stay if tensor not in kept]
        must = frozenset(may_stay) - kept - rules.may_keep
        sets = (frozenset(c) for n in range(len(free) + 1) for c in combinations(free, n))
        return [staying for staying in sets if staying >= must]

    def _add_options(self, number: int, others: list[frozenset[str]], budget: Budget) -> None:
        """Add the options of an Einsum by which one of these sets stays, while there is time."""
        options = self.options[number]
        for staying in others:
            if budget.is_late and options:
                self.floors[number] = options[0].candidates.floor
                return
            options += self._options_with(self.workload.einsums[number], staying)

    def _options_with(self, einsum: Einsum, staying: frozenset[str]) -> Iterator[Option]:
        flat = self.flats[einsum.name]
        space = GridMapspace(grid_of(flat), einsum, self._constraints(einsum.name), staying)
        left_tensors = LeftTensors(offsets=bank_offsets(self.workload))
        candidates = self._make(flat, space, left_tensors)
        self.infeasible.setdefault(einsum.name, candidates.infeasible)
        if not candidates.is_whole:
            self.floors[self.workload.einsums.index(einsum)] = candidates.floor
        by_shares: dict[tuple[tuple[Share, ...], bool], tuple[Held, Held] | None] = {}
        options: dict[tuple[Held, Held], Option] = {}
        slack = PERIOD_WORDS * len(einsum.tensors) if staying else 0
        for bounded in candidates.families:
            family = bounded.family
            key = family.shares, family.shared
            if key not in by_shares:
                by_shares[key] = self._where(candidates, family)
            where = by_shares[key]
            if where is None:
                continue
            option = options.setdefault(where, Option(candidates, *where))
            option.families.append(bounded._replace(words=bounded.words + slack))
        yield from options.values()

    def _where(self, candidates: Candidates, family: GridFamily) -> tuple[Held, Held] | None:
        """Return how a family distributes the tensors that stay in the elements: (read, written).

        Each is (tensor, number of the distribution) pairs. None if padding would be added up that
        elements cannot fill.
        """
        space = candidates.space
        choice = space.members(family)[0]
        read = space_time(candidates.flat, space.einsum, space.mapping_of(choice), space.staying)
        try:
            padding_fills(read)
        except InfeasibleMapping:
            return None
        reads = [
            (tensor.name, self._number(needed(read, tensor), read.dtype_of(tensor.name)))
            for tensor in read.inputs
            if tensor.name in space.staying
        ]
        writes = [
            (tensor.name, self._number(produced(read), read.dtype))
            for tensor in (read.output,)
            if tensor.name in space.staying
        ]
        return tuple(sorted(reads)), tuple(writes)

    def _number(self, place: Distribution, dtype: str) -> int:
        key = place.key + dtype.encode()
        number = self._numbers.setdefault(key, len(self.distributions))
        if number == len(self.distributions):
            self.distributions.append(place)
            self.words.append(place.values * DTYPES[dtype] + PERIOD_WORDS)
        return number

    def _move(self, tensor: str, producer: int, consumer: int, option: Option) -> Move:
        """Return the move of a tensor from where it stays to where an option needs it."""
        key = tensor, producer, consumer
        if key not in self._moves:
            held, wanted = self.distributions[producer], self.distributions[consumer]
            candidates = option.candidates
            if id(candidates) not in self._reads:
                family = candidates.families[0].family
                choice = candidates.space.members(family)[0]
                self._reads[id(candidates)] = candidates.read(choice)
            read = self._reads[id(candidates)]
            alike = self._alike.get((producer, consumer))
            self._moves[key] = Move(tensor, held, wanted, candidates, read, alike=alike)
            self._alike.setdefault((producer, consumer), self._moves[key])
        return self._moves[key]

    @property
    def searches(self) -> list[CandidateSearch]:
        """All searches of options that have begun."""
        options = [option for of_einsum in self.options for option in of_einsum]
        return [search for option in options for search in option.searches.values()]

    @property
    def plain_searches(self) -> list[CandidateSearch]:
        """The searches of Einsums that exchange nothing.

        None where persistent tensors share the memory, for the candidates might not go together.
        """
        each = () if self.space.is_shared else self.options
        plain = (option for options in each for option in options if not option.stays)
        return [search for o in plain if (search := o.search(ALL)) is not None]

    @property
    def undecided(self) -> int:
        """Number of candidates of these searches whose value is not known."""
        return sum(option.undecided for of_einsum in self.options for option in of_einsum)

    def save(self) -> None:
        """Keep the cycles that were found, for searches with equal Einsums."""
        options = (option for of_einsum in self.options for option in of_einsum)
        for candidates in {id(o.candidates): o.candidates for o in options}.values():
            candidates.known.save()

    def best_path(self, question: PathQuestion) -> OptionPath | None:
        """Return the path that is looked for, None if there is none.

        Values are those of the candidates found so far. Raises PathsLeft if the question's time is
        over before, or there are too many paths.
        """
        cost_of = attrgetter("bound" if question.which == "bound" else "least_value")
        return self.graph.best_path(question, self.rests(question, cost_of).of)

    def rests(self, question: PathQuestion, cost_of: CostOf) -> PathRests[Option]:
        """Return bounds of what is left of any path, given what options cost at least."""
        return PathRests(self.options, self.tensors, self.moves, question, cost_of)

    @property
    def least_bound(self) -> float:
        """An objective value that no path goes below, whatever moves between the elements.

        It holds for the paths with options that were left out, too.
        """
        bounds = ([o.bound for o in options] for options in self.options)
        return sum(min([*each, f]) for each, f in zip(bounds, self.floors, strict=True))

    @property
    def is_separate(self) -> bool:
        """Whether no tensor may stay in the elements, so that there is one path."""
        return all(len(options) == 1 and not options[0].stays for options in self.options)

    def most_words(self, option: Option) -> int | None:
        """Return the words that a further family of an option may need, whatever else is held.

        In 16-bit words of an element. None for any that fits alone. Beside persistent tensors they
        are those that the first families need, for which there is room.
        """
        families = (family for each in self.options for o in each for family in o.families)
        if len(self.options) > 1 and any(family.persistent for family in families):
            return option.most_words
        if self.is_separate:
            return None
        quick, tensors = option.candidates.quick, option.candidates.space.einsum.tensors
        held = len(self._last) * max(self.words, default=0) + PERIOD_WORDS * len(tensors)
        return max(option.most_words, quick.free_words - held)

    @property
    def has_room_for_all(self) -> bool:
        """Whether all further families that fit an element alone may be in a path."""
        return all(self.most_words(o) is None for options in self.options for o in options)

    @property
    def is_whole(self) -> bool:
        """Whether no option was left out for lack of time."""
        return min(self.floors, default=inf) == inf

    @property
    def least_energy(self) -> float:
        """An energy (J) that no path goes below, leakage left out, whatever moves."""
        return sum(min(option.least_energy for option in options) for options in self.options)

    def _steps(self, number: int, contents: Contents) -> list[OptionStep]:
        """Return the steps that an Einsum can take with certain contents of the elements' memories.

        number: of the Einsum.
        """
        steps = (
            self._step(number, contents, fitting, persistent)
            for fitting in self._fitting(number, contents.tensors)
            for persistent in fitting.option.by_persistent
            if contents.used + persistent <= contents.reserved
        )
        return [step for step in steps if step is not None]

    def _fitting(self, number: int, held: Held) -> list[_Fitting]:
        """Return the options of an Einsum that read what the elements hold, each with its moves."""
        key = number, tuple(item for item in held if item[0] in self.tensors.read[number])
        if key not in self._known_fitting:
            places = dict(key[1])
            self._known_fitting[key] = [
                _Fitting(
                    option,
                    tuple(self._move(n, places[n], place, option) for n, place in option.reads),
                )
                for option in self._by_reads[number].get(tuple(places), ())
            ]
        return self._known_fitting[key]

    def _is_useful(self, number: int, names: frozenset[str]) -> bool:
        """Return whether tensors that the elements hold can be used as they are.

        `names`: those held after an Einsum. Each later Einsum must have an option that finds in the
        elements just those of its inputs that are held.
        """
        key = number, names
        if key not in self._known_useful:
            written = self.tensors.written[number]
            self._known_useful[key] = all(
                not names & self.tensors.read[later]
                or any(
                    frozenset(read) & written == names & self.tensors.read[later]
                    for read in self._by_reads[later]
                )
                for later in range(number + 1, len(self.options))
            )
        return self._known_useful[key]

    def _step(
        self, number: int, contents: Contents, fitting: _Fitting, persistent: int
    ) -> OptionStep | None:
        """Return the step of an Einsum with an option; None if it does not fit, or leads nowhere.

        It leads nowhere if no option of a later Einsum reads what the elements hold then.
        persistent: words that are set aside for its persistent tensors.
        """
        einsum, option = self.workload.einsums[number], fitting.option
        held = dict(contents.tensors)
        after = {**held, **dict(option.writes)}
        still_held = sorted(
            (name, place) for name, place in after.items() if self._last[name] > number
        )
        if not self._is_useful(number, frozenset(name for name, _ in still_held)):
            return None
        used = {move.tensor for move in fitting.moves if move.is_there}
        beside = [self.words[place] for name, place in held.items() if name not in used]
        slack = PERIOD_WORDS * len(einsum.tensors) if beside or self.space.is_shared else 0
        room = option.candidates.quick.free_words - contents.reserved
        search = option.search(room - sum(beside) - slack, persistent)
        moves = tuple(move for move in fitting.moves if not move.is_there)
        then = Contents(tuple(still_held), contents.reserved, contents.used + persistent)
        return None if search is None else OptionStep(then, search, moves)


@dataclass(frozen=True, slots=True)
class _Fitting:
    """An option of an Einsum for tensors that the elements hold, and the moves that bring them."""

    option: Option
    moves: tuple[Move, ...]


def _written(workload: Workload, exchanged: frozenset[str]) -> list[frozenset[str]]:
    """Return by Einsum the intermediates that it and earlier ones have computed.

    exchanged: the tensors that count.
    """
    outputs = [frozenset(a.tensor for a in e.outputs) & exchanged for e in workload.einsums]
    return list(accumulate(outputs, or_))


def _by_reads(options: list[Option]) -> dict[tuple[str, ...], list[Option]]:
    """Return options by the names of the tensors that they find in the elements."""
    groups: dict[tuple[str, ...], list[Option]] = {}
    for option in options:
        groups.setdefault(tuple(name for name, _ in option.reads), []).append(option)
    return groups
