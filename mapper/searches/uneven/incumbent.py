"""What a search with uneven tiles has found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.searches.uneven.template_plan import TemplatePlan


@dataclass(slots=True)
class Incumbent:
    """The best mapping so far, per instance of the Einsum."""

    mapping: Mapping | None = None
    value: float = inf
    second_value: float = inf
    energy: float = inf
    latency: float = inf


@dataclass(frozen=True, slots=True)
class CompletedMappings:
    """What came through one template: (energy, latency, bits used of each tracked memory) of each
    mapping of one instance; `tiles` of one of them."""

    plan: TemplatePlan
    metrics: list[tuple[float, ...]]
    tiles: Callable[[int], tuple[Tile, ...]]
