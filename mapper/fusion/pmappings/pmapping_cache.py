"""Keep what searches of one workload have in common: their compiled mapspaces.

The search for the least energy, that for the least latency and the one that breaks ties look at the
same templates.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.mapper.fusion.join.cost_limit import EnergyLatency
from tilewright.mapper.fusion.pmappings.fused_templates import FusedTemplate
from tilewright.mapper.fusion.pmappings.inner_search import InnerSearch, RegionRules
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.label_fields import Leak
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine

MAX_BYTES = 800_000_000  # of lower bounds; what does not fit is computed again when it is needed


@dataclass(frozen=True, slots=True)
class PreparedEinsum:
    """What does not depend on which tensors are on chip.

    `rules`: with latency counted. `templates`: per choice of tensors on chip, as bits.
    """

    space: Mapspace
    engine: LabelEngine
    leaks: tuple[Leak, ...]
    rules: RegionRules
    templates: Mapping[int, tuple[FusedTemplate, ...]]


@dataclass(frozen=True, slots=True)
class CompiledChoice:
    """What does not depend on how much a pmapping may cost, for one choice of tensors on chip.

    `start_bounds`: lower bounds of the energy in joule and the latency in second of one instance.
    """

    prepared: PreparedEinsum
    metrics: LabelMetrics
    search: InnerSearch
    start_bounds: EnergyLatency


class CachedBound(NamedTuple):
    """A lower bound of one metric of the pmappings of a choice; `attained`: one costs just that."""

    bound: float
    attained: bool

    def rules_out(self, limit: float) -> bool:
        """Tell whether no pmapping of the choice costs `limit` or less."""
        return self.bound > limit or (self.bound == limit and not self.attained)


@dataclass(frozen=True, slots=True)
class PmappingCache:
    """What was compiled so far, and what is known of costs.

    `prepared`: per Einsum. `compiled`: per choice of tensors on chip, as far as memory allows.
    `least_costs`: bounds of one metric (0 energy, 1 latency), whatever the other metric is. The
    keys are those of FusedEinsum and OnChipChoice.
    """

    prepared: dict[Hashable, PreparedEinsum] = field(default_factory=dict)
    compiled: dict[Hashable, CompiledChoice] = field(default_factory=dict)
    least_costs: dict[tuple[Hashable, int], CachedBound] = field(default_factory=dict)

    def make_room(self, nbytes: int, key: Hashable) -> None:
        """Drop what `key` had, then what was compiled last, until `nbytes` more are free.

        Searches go through all choices in turn, so that what came first is needed next.
        """
        self.compiled.pop(key, None)
        free = MAX_BYTES - nbytes
        while self.compiled and sum(c.search.nbytes for c in self.compiled.values()) > free:
            self.compiled.popitem()
