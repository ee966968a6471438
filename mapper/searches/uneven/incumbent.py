"""The best mapping of an uneven search so far, and the mappings that one walk completes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.searches.uneven.template_plan import TemplatePlan


@dataclass(slots=True)
class Incumbent:
    """The best mapping so far of a search, for one instance of the Einsum.

    `mapping`: None if there is none. `value`: of the objective; `second_value`: of the metric that
    decides between equal values. `energy`: joules; `latency`: seconds. Numbers are infinite at
    first.
    """

    mapping: Mapping | None = None
    value: float = inf
    second_value: float = inf
    energy: float = inf
    latency: float = inf


@dataclass(frozen=True, slots=True)
class CompletedMappings:
    """The mappings that one pass over a template (a mapping without its loops) completes.

    `plan`: the compiled template. `metrics`: per mapping (energy in J, latency in s, bits in use
    of each tracked memory), for one instance of the Einsum. `tiles(i)`: of mapping i, the tile
    below each place of the template for loops, a fill or a reserved tile.
    """

    plan: TemplatePlan
    metrics: list[tuple[float, ...]]
    tiles: Callable[[int], tuple[Tile, ...]]
