"""Mappings of one Einsum that leave its tensors in the same places, and their searches."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import inf

from tilewright.simulator.search.candidate_search import CandidateSearch
from tilewright.simulator.search.candidates.candidates import BoundedFamily, Candidates
from tilewright.simulator.search.paths.path_graph import Held
from tilewright.simulator.search.persistent_space import NOT_SHARED, PersistentSpace


@dataclass(eq=False)
class Option:
    """Mappings of one Einsum that agree in what stays in the elements, and where.

    `candidates`: among which they are. `reads`: (tensor, number of its distribution) of the
    intermediates that it finds in the elements; `writes`: the same of its output if it stays there.
    `families`: of these mappings; their `words` include the space that alignment may leave between
    tensors. `space`: how the memory is shared. `searches`: by the words that are set aside for
    persistent tensors, and the most words that the other tiles of their families take.
    """

    candidates: Candidates
    reads: Held
    writes: Held
    families: list[BoundedFamily] = field(default_factory=list)
    space: PersistentSpace = NOT_SHARED
    searches: dict[tuple[int, int], CandidateSearch] = field(default_factory=dict)

    @property
    def stays(self) -> bool:
        """Whether any tensor of the Einsum stays in the elements between Einsums."""
        return bool(self.reads or self.writes)

    @property
    def most_words(self) -> int:
        """The 16-bit words of an element that the largest family needs."""
        return max(family.words for family in self.families)

    @cached_property
    def by_persistent(self) -> dict[int, list[BoundedFamily]]:
        """The families by the 16-bit words that are set aside for their persistent tensors."""
        groups: dict[int, list[BoundedFamily]] = {}
        for family in self.families:
            groups.setdefault(self.space.set_aside(family), []).append(family)
        return groups

    @cached_property
    def _sizes(self) -> dict[int, list[int]]:
        """By these words, the words of the families' other tiles, each once, ascending."""
        words = self.space.tile_words
        groups = self.by_persistent.items()
        return {persistent: sorted({*map(words, group)}) for persistent, group in groups}

    @property
    def bound(self) -> float:
        """An objective value that no mapping goes below, by what the searches have shown.

        No search of the option has a bound below it.
        """
        widest = self._widest
        return min((self._bound_with(aside, *widest[aside]) if aside in widest else least
                    for aside, least in self._least_bounds.items()), default=inf)  # fmt: skip

    def _bound_with(self, persistent: int, words: int, widest: CandidateSearch) -> float:
        """Return a bound of the families that set so many words aside for persistent tensors.

        widest: the search over most of them, of those that need at most so many `words`.
        """
        if words == self._sizes[persistent][-1]:
            return widest.bound
        group, words_of = self.by_persistent[persistent], self.space.tile_words
        return min([widest.bound, *(f.bound for f in group if words_of(f) > words)])

    @cached_property
    def _least_bounds(self) -> dict[int, float]:
        """By the words that are set aside, the least lower bound of the families."""
        return {aside: min(f.bound for f in group) for aside, group in self.by_persistent.items()}

    @property
    def least_energy(self) -> float:
        """An energy (J) that no mapping of the option goes below, leakage left out."""
        return min(self.candidates.quick.energy(bounded.family) for bounded in self.families)

    @property
    def least_value(self) -> float:
        """The least objective value of the candidates that were simulated; inf before the first."""
        return min((search.value for search in self.searches.values()), default=inf)

    def search(self, free: int, persistent: int = 0) -> CandidateSearch | None:
        """Return the search of those families that fit so much memory; None if none fits.

        free: 16-bit words of an element that are free; persistent: those that are set aside for
        persistent tensors of these families. Equal sets of families give the same search.
        """
        fitting = [words for words in self._sizes.get(persistent, ()) if words <= free]
        if not fitting:
            return None
        most = fitting[-1]
        if (persistent, most) not in self.searches:
            self._begin(persistent, most)
        return self.searches[persistent, most]

    def _begin(self, persistent: int, most: int) -> None:
        """Add a search; the bound of one over more families holds for those over fewer, too."""
        group, words = self.by_persistent[persistent], self.space.tile_words
        families = [family for family in group if words(family) <= most]
        self.searches[persistent, most] = CandidateSearch(self.candidates, families)
        sizes = sorted(size for aside, size in self.searches if aside == persistent)
        for narrow, wide in pairwise(sizes):
            self.searches[persistent, narrow].wider = self.searches[persistent, wide]

    @property
    def _widest(self) -> dict[int, tuple[int, CandidateSearch]]:
        """By the words that are set aside, the search over most families, with its words."""
        return {aside: (most, search) for (aside, most), search in sorted(self.searches.items())}

    @property
    def undecided(self) -> int:
        """Number of candidates whose value is not known; of nested sets the largest one counts."""
        return sum(search.undecided for _, search in self._widest.values())
