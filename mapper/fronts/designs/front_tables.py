"""The Pareto sets of a family's Einsums as tables, and the best point of each on one design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fronts.designs.fact_ranges import DesignPlace
from tilewright.mapper.fronts.einsum_fronts import EinsumFront
from tilewright.mapper.fronts.sequence_front import fold_rows
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.restrictions import Restrictions
from tilewright.mapper.searches.scope import einsum_restrictions, unfused_restrictions

_TIE = 1e-12  # relative difference of equal values: sums of the same terms in another order
_FAR_TIE = 1e-11  # the same where no value beyond it can be equal to the least
_SECOND = {"energy": 1, "latency": 0, "edp": 0}  # column that decides between equal values


@dataclass(frozen=True, slots=True)
class FrontTable:
    """The Pareto set of one Einsum: its mappings, and a row of numbers for each.

    `rows`: joule, second, bits of memories that differ, joule at further prices, shape (mappings,
    metrics). `scores`: of the mappings, by the model on the design searched.
    """

    mappings: tuple[LoopNest, ...]
    rows: Floats
    scores: tuple[Score, ...]

    @classmethod
    def of(cls, front: EinsumFront) -> FrontTable:
        """Return the points of a front as a table."""
        points = front.points
        rows = np.array([point.row for point in points])
        return cls(tuple(p.mapping for p in points), rows, tuple(p.score for p in points))

    def fitting(self, sizes: Sequence[float]) -> Ints:
        """Return the numbers of the mappings that fit; `sizes`: bits of memories that differ."""
        bits = self.rows[:, 2 : 2 + len(sizes)]
        return np.flatnonzero((bits <= np.array(sizes)).all(axis=1))


class BestPoints(NamedTuple):
    """The best points of the Einsums' fronts on one design.

    `costs`: joule and second of their sum, shape (2,). `choice`: the number of each Einsum's point.
    """

    costs: Floats
    choice: tuple[int, ...]


class ScoredOnce(NamedTuple):
    """A mapping of the workload (`best`) scored on the largest design.

    `paths`, `computes`: of each Einsum. `shares`: per Einsum, the share of each memory that it
    fills.
    """

    best: ScoredMapping
    paths: tuple[FlatArch, ...]
    computes: tuple[str, ...]
    shares: Sequence[Mapping[str, Fraction]]


class FanoutFronts(NamedTuple):
    """The Pareto set of each Einsum for some fanouts (`tables`), with scores computed so far.

    `restrictions`: under which they hold. `scored`: by the number of the chosen point of each
    Einsum; None: no mapping of the largest design. `shares`: by (Einsum, point), the share of each
    memory that it fills at its fullest moment.
    """

    tables: tuple[FrontTable, ...]
    restrictions: Restrictions
    scored: dict[tuple[int, ...], ScoredOnce | None]
    shares: dict[tuple[int, int], Mapping[str, Fraction]]

    @classmethod
    def of(cls, fronts: Sequence[EinsumFront]) -> FanoutFronts:
        """Return the fronts of the Einsums as tables, with nothing scored yet."""
        return cls(tuple(map(FrontTable.of, fronts)), _restrictions(fronts), {}, {})

    def best(self, place: DesignPlace, objective: str) -> BestPoints | None:
        """Return the points with the least objective on a design; None if nothing fits."""
        fitting = [table.fitting(place.sizes) for table in self.tables]
        if not all(map(len, fitting)):
            return None
        pairs = zip(self.tables, fitting, strict=True)
        costs = [_costs(table.rows[numbers], place) for table, numbers in pairs]
        row, points = _best_points(costs, objective)
        chosen = zip(fitting, points, strict=True)
        return BestPoints(row, tuple(int(numbers[point]) for numbers, point in chosen))

    def chosen(self, choice: tuple[int, ...]) -> list[LoopNest]:
        """Return the mapping of each Einsum; `choice`: numbers of the points."""
        pairs = zip(self.tables, choice, strict=True)
        return [table.mappings[number] for table, number in pairs]

    def chosen_scores(self, choice: Sequence[int]) -> list[Score]:
        """Return the score of each Einsum's mapping on the largest design.

        `choice`: point numbers.
        """
        pairs = zip(self.tables, choice, strict=True)
        return [table.scores[number] for table, number in pairs]


def _restrictions(fronts: Sequence[EinsumFront]) -> Restrictions:
    spaces = [front.spaces[0] for front in fronts]
    return einsum_restrictions(spaces[0]) if len(spaces) == 1 else unfused_restrictions(spaces)


def _costs(rows: Floats, place: DesignPlace) -> Floats:
    """Return the joules and seconds of mappings on a design, shape (mappings, 2).

    `rows`: joules at the least prices, seconds, bits of memories, joules at further prices. The
    design's prices are the least ones, plus a share of the step to the most of each group.
    """
    least, seconds = rows[:, 0], rows[:, 1]
    further = rows[:, 2 + len(place.sizes) :]
    energy = least + place.watts * seconds
    for group, share in enumerate(place.shares):
        energy = energy + share * (further[:, (1 << group) - 1] - least)
    return np.column_stack([energy, seconds])


def _best_points(costs: Sequence[Floats], objective: str) -> tuple[Floats, list[int]]:
    """Return (joule, second) of the mapping with the least objective, and its point of each table.

    `costs`: (joule, second) of the points of each Einsum.
    """
    if len(costs) == 1:
        values = _values(costs[0], objective)
        close = np.flatnonzero(values <= values.min() * (1 + _FAR_TIE))
        if len(close) == 1:
            return costs[0][close[0]], close.tolist()
    folded = fold_rows(costs)
    row = _best_row(folded.rows, objective)
    return folded.rows[row], folded.choices[row].tolist()


def _values(rows: Floats, objective: str) -> Floats:
    """Return the objective of rows (joule, second)."""
    energy, latency = rows[:, 0], rows[:, 1]
    values: Floats = {"energy": energy, "latency": latency, "edp": energy * latency}[objective]
    return values


def _best_row(rows: Floats, objective: str) -> int:
    """Return the number of the row (joule, second) with the least objective.

    Of equal ones the one with the least of the other metric, energy if the product is minimized.
    """
    values = _values(rows, objective)
    ties = np.flatnonzero(values <= values.min() * (1 + _TIE))
    return int(ties[np.argmin(rows[ties, _SECOND[objective]])])
