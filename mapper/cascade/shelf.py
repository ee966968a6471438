"""What searches of one workload have in common: its compiled mapspaces.

The least energy, the least latency and the ties among their mappings are separate searches of the
same templates; only whether latency counts makes a difference below.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from tilewright.mapper.cascade.layout import Layout
from tilewright.mapper.cascade.lower import LowerSearch, Part, Rules
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.fields import Leak
from tilewright.mapper.searches.metrics import Metrics
from tilewright.mapper.searches.tables import Engine


@dataclass(frozen=True, slots=True)
class Prepared:
    """What does not depend on the choice of tensors on chip; `layouts`: per choice. `rules` say
    that latency counts."""

    space: Mapspace
    engine: Engine
    leaks: tuple[Leak, ...]
    rules: Rules
    layouts: Mapping[int, tuple[Layout, ...]]


@dataclass(frozen=True, slots=True)
class Opened:
    """What does not depend on how much a row may cost.

    `rules`: those of `prepared`, but that latency may not count; `start`: bounds of the energy and
    the latency of one instance.
    """

    prepared: Prepared
    rules: Rules
    metrics: Metrics
    lower: LowerSearch
    start: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Shelf:
    """What was compiled so far: per Einsum, per choice of tensors on chip, and of these whether
    latency counts. The keys are those of Run and Choice."""

    prepared: dict[Hashable, Prepared] = field(default_factory=dict)
    parts: dict[Hashable, list[Part]] = field(default_factory=dict)
    opened: Mapping[bool, dict[Hashable, Opened]] = field(
        default_factory=lambda: {False: {}, True: {}}
    )
