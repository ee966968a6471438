"""What searches of one workload have in common: its compiled mapspaces.

The least energy, the least latency and the ties among their mappings are separate searches of the
same templates.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from tilewright.mapper.fusion.pmappings.fused_templates import FusedTemplate
from tilewright.mapper.fusion.pmappings.inner_search import InnerSearch, RegionRules
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.label_fields import Leak
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine

MAX_BYTES = 800_000_000  # of bounds; what goes beyond is made again when it is asked for


@dataclass(frozen=True, slots=True)
class PreparedEinsum:
    """What does not depend on the choice of tensors on chip; `layouts`: per choice. `rules` say
    that latency counts."""

    space: Mapspace
    engine: LabelEngine
    leaks: tuple[Leak, ...]
    rules: RegionRules
    templates: Mapping[int, tuple[FusedTemplate, ...]]


@dataclass(frozen=True, slots=True)
class CompiledChoice:
    """What does not depend on how much a row may cost.

    `start`: bounds of the energy and the latency of one instance.
    """

    prepared: PreparedEinsum
    metrics: LabelMetrics
    search: InnerSearch
    start_bounds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class PmappingCache:
    """What was compiled so far: per Einsum, and as far as there is room per choice of tensors on
    chip; and the least that rows of a choice cost in one metric, whatever they cost in the other:
    (a bound of it, whether some row costs that). The keys are those of Run and Choice, and the
    number of the metric."""

    prepared: dict[Hashable, PreparedEinsum] = field(default_factory=dict)
    compiled: dict[Hashable, CompiledChoice] = field(default_factory=dict)
    least_costs: dict[tuple[Hashable, int], tuple[float, bool]] = field(default_factory=dict)

    def make_room(self, nbytes: int, key: Hashable) -> None:
        """Drop what `key` had, then what was opened last until there is room for so much more:
        searches go through all in turn, so that what came first is asked for next."""
        self.compiled.pop(key, None)
        room = MAX_BYTES - nbytes
        while self.compiled and sum(one.search.nbytes for one in self.compiled.values()) > room:
            self.compiled.popitem()
