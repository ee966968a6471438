"""Keep what searches of one workload have in common: their compiled mapspaces.

The search for the least energy, that for the least latency and the one that breaks ties look at the
same templates.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.mapper.fusion.bounds.cost_limit import EnergyLatency
from tilewright.mapper.fusion.choice_programs import ChoicePrograms
from tilewright.mapper.fusion.pmappings.inner_search import InnerSearch, SolvedProgram
from tilewright.mapper.fusion.pmappings.region.region_rules import RegionRules
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.label_fields import Leak
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine

RECENT_BYTES = 200_000_000  # of labels that equal Einsums share
MAX_BYTES = 1_000_000_000  # of lower bounds; what does not fit is computed again when it is needed


@dataclass(frozen=True, slots=True)
class PreparedChoice:
    """Keep what a search of one Einsum with one set of exchanged tensors on chip starts from.

    `space`: the mapspace of the Einsum. `engine`: the lattice of tile shapes and the fields of a
    label. `leaks`: powers of leaking components. `rules`: what decides in the region above the
    lowest tensor on chip, with latency counted. `programs`: of the fused templates with just these
    tensors on chip.
    """

    space: Mapspace
    engine: LabelEngine
    leaks: tuple[Leak, ...]
    rules: RegionRules
    programs: ChoicePrograms


@dataclass(frozen=True, slots=True)
class CompiledChoice:
    """Keep what the searches of one Einsum share for one set of exchanged tensors on chip.

    `prepared`: what the search starts from. `metrics`: turn labels into energy and latency.
    `search`: the compiled programs with lower bounds. `start_bounds`: lower bounds of the energy in
    joule and the latency in second of one instance.
    """

    prepared: PreparedChoice
    metrics: LabelMetrics
    search: InnerSearch
    start_bounds: EnergyLatency


class CachedBound(NamedTuple):
    """Remember a lower bound of one metric for one Einsum and set of tensors on chip.

    `bound`: in joule or second, of all instances. `attained`: some pmapping costs just that.
    """

    bound: float
    attained: bool

    def rules_out(self, limit: float) -> bool:
        """Tell whether no pmapping can cost `limit` (joule or second) or less.

        That is so if the bound is above the limit, or equals it and is not attained.
        """
        return self.bound > limit or (self.bound == limit and not self.attained)


@dataclass(frozen=True, slots=True)
class PmappingCache:
    """Keep what several searches of one workload compute alike: compiled mapspaces and bounds.

    A choice is an Einsum with a set of exchanged tensors on chip; Einsums that pose one problem
    under other names have equal keys. `prepared`, `compiled`: by the key of a choice; their lower
    bounds are kept as far as memory allows. `least_costs`: lower bounds by (key
    of a choice, 0 for energy or 1 for latency), whatever the other metric is.
    """

    prepared: dict[Hashable, PreparedChoice] = field(default_factory=dict)
    compiled: dict[Hashable, CompiledChoice] = field(default_factory=dict)
    least_costs: dict[tuple[Hashable, int], CachedBound] = field(default_factory=dict)

    def make_room(self, nbytes: int) -> None:
        """Drop lower bounds of compiled choices until `nbytes` more bytes fit in MAX_BYTES.

        Those of the choice that was added last go first: searches go through all choices in turn,
        so that the first ones are needed next. The programs stay.
        """
        bounded = [c.search for c in self.compiled.values() if c.search.has_bounds]
        while bounded and sum(search.nbytes for search in bounded) > MAX_BYTES - nbytes:
            bounded.pop().drop_bounds()

    def clear(self) -> None:
        """Drop the compiled mapspaces, to free their memory; lower bounds that are numbers stay."""
        self.prepared.clear()
        self.compiled.clear()


class RecentSearches:
    """Keep the labels of recent searches of single Einsums, for equal Einsums to reuse.

    Equal Einsums may differ in what other Einsums exchange with them, which decides later which
    labels are used. Q and K of an attention differ in that alone, and their searches take the
    longest.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, Sequence[SolvedProgram]] = {}
        self._bytes: dict[Hashable, int] = {}

    def get(self, key: Hashable) -> Sequence[SolvedProgram]:
        """Return the programs of a search with their labels; none if they are not kept."""
        return self._kept.get(key, ())

    def keep(self, key: Hashable, solved: Sequence[SolvedProgram]) -> None:
        """Keep a search's programs with their labels.

        Drop the oldest beyond RECENT_BYTES in all.
        """
        if key in self._kept or not solved:
            return
        tables = {id(table): table for program in solved for table in program.tables}
        labels = sum(program.labels.nbytes for program in solved)
        links = sum(table.start.nbytes + table.origin.nbytes for table in tables.values())
        self._kept[key], self._bytes[key] = solved, labels + links
        while sum(self._bytes.values()) > RECENT_BYTES:
            oldest = next(iter(self._kept))
            del self._kept[oldest], self._bytes[oldest]

    def clear(self) -> None:
        """Drop all labels."""
        self._kept.clear()
        self._bytes.clear()
