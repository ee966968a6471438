"""What a search on a grid optimizes, and what it has shown of its answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.grid_shares import MOST_ON_AXIS
from tilewright.mapper.searches.restrictions import (
    DENSE_TILES,
    IN_SEQUENCE,
    LEAST_WORK_SHARES,
    LISTED_REDUCTIONS,
    LOOPS_ABOVE_TILES,
    SHARED_VARIABLES,
    TILE_LOOP_ORDER,
    Restrictions,
)
from tilewright.mapper.workload.errors import Refusal


@dataclass(frozen=True, slots=True)
class PricedTime:
    """What a search minimizes: energy, and a price of each second of latency.

    `price`: in W. Mappings that are best for some price are the corners of the convex hull of a
    front over latency and energy.
    """

    price: float


GridObjective = Literal["latency", "energy", "edp"] | PricedTime


def objective_value(objective: GridObjective, latency: float, energy: float) -> float:
    """Return the value of an objective: s, J or J s for latency, energy or edp, J with a price.

    latency: in s; energy: in J, with leakage.
    """
    if isinstance(objective, PricedTime):
        return energy + objective.price * latency
    if objective == "latency":
        return latency
    return energy if objective == "energy" else energy * latency


class Costs(NamedTuple):
    """What a run costs, or lower bounds of it: its latency in s, its energy in J with leakage."""

    latency: float
    energy: float

    def value(self, objective: GridObjective) -> float:
        """Return the value of an objective (`objective_value`)."""
        return objective_value(objective, self.latency, self.energy)

    def at_least(self, other: Costs) -> Costs:
        """Return the greater one of each of two lower bounds."""
        return Costs(max(self.latency, other.latency), max(self.energy, other.energy))


NO_COSTS = Costs(0.0, 0.0)
UNPAYABLE = Costs(inf, inf)
"""The costs of what cannot be had."""


def frequent_reasons(reasons: Counter[Refusal]) -> tuple[tuple[str, int], ...]:
    """Return the most frequent reasons in words, each with its number of candidates."""
    return tuple((refusal.what, number) for refusal, number in reasons.most_common(5))


def restrictions_of(
    spaces: Collection[GridMapspace], einsums: int = 1, *, all_divisions: bool = False
) -> Restrictions:
    """Return the restrictions of a search of mapspaces for so many Einsums (theory/grid.md §7).

    all_divisions: whether it has looked at all divisions of the work over the elements.
    """
    loops = 2 if any(space.nests for space in spaces) else 1
    inside = [LOOPS_ABOVE_TILES(number=loops), TILE_LOOP_ORDER(), DENSE_TILES()]
    if any(space.grid.columns * space.grid.rows > 1 for space in spaces):
        divisions = [] if all_divisions else [LEAST_WORK_SHARES()]
        several = any(len(space.einsum.bounds) > MOST_ON_AXIS for space in spaces)
        variables = [SHARED_VARIABLES()] if several else []
        inside = [*divisions, *variables, LISTED_REDUCTIONS(), *inside]
    return (*inside, *([IN_SEQUENCE()] if einsums > 1 else []))


class NotExecuted(TilewrightError):  # noqa: N818 - a limit of the search, not a fault
    """The budget of a search on a grid was over before its answer was executed."""


@dataclass(frozen=True, slots=True)
class GridCertificate:
    """What a search on a grid has shown of its answer.

    `executed`: number of candidates that were simulated, the best one on data; `timed`: number of
    those whose exact cycles follow from a smaller grid, the best of which runs at the end;
    `enclosed`: of those whose cycles lie between two bounds, for a run would take too long;
    `excluded`: those whose bound is not below the best value, or that a limit has left;
    `infeasible`: those that the machine cannot hold or run, with the most frequent `reasons`.
    `bound`: no candidate of the mapspace has a smaller value. `is_optimal`: whether the best value
    is proved to be the least; `is_whole`: whether all mappings are counted here, none left out
    before it was bounded, for lack of time. `restrictions`: what all mappings of the mapspace meet.
    """

    executed: int
    timed: int
    excluded: int
    infeasible: int
    reasons: tuple[tuple[str, int], ...]
    bound: float
    is_optimal: bool
    is_whole: bool = True
    enclosed: int = 0
    restrictions: Restrictions = ()

    def gap(self, value: float) -> float:
        """Return how far a value may be above the optimum, relative: value / bound - 1.

        0 if it is optimal, inf if the bound is 0.
        """
        if self.is_optimal:
            return 0.0
        return value / self.bound - 1 if self.bound > 0 else inf

    def __str__(self) -> str:
        kind = "least bound, none executed in the budget"
        if self.executed + self.timed + self.enclosed:
            kind = "least upper bound" if self.enclosed else "best of those executed"
        return f"{'optimal' if self.is_optimal else kind}: {self.work}"

    @property
    def work(self) -> str:
        """What the search has done, in words."""
        timed = f"{self.timed:,} timed by their pattern, " if self.timed else ""
        enclosed = f"{self.enclosed:,} between two bounds, " if self.enclosed else ""
        omitted = "" if self.is_whole else ", others not looked at for lack of time"
        excluded = f"{self.excluded:,} excluded by the bound"
        return f"{self.executed:,} executed, {timed}{enclosed}{excluded}{omitted}"
