"""Einsums that share no loops: copies, which are searched alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.mapper.cascade.room import Room
from tilewright.mapper.cascade.table import Row
from tilewright.mapper.cascade.tree import Body
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.mapping import Node, Storage
from tilewright.mapper.searches.judge import TOLERANCE, Judge
from tilewright.mapper.searches.metrics import Goal, Objective
from tilewright.mapper.searches.options import Request
from tilewright.mapper.searches.solver import Solved, Solver

GOALS: tuple[Objective, ...] = ("energy", "latency", "edp")


@dataclass(frozen=True)
class LoneTable:
    """The table of one such Einsum: one row with a body for each of its points.

    `slack`: how much the least energy and latency of the points could exceed the best of its own
    space. `ideal`: one of the points is best in both.
    """

    einsum: Einsum
    rows: tuple[Row, ...]
    bodies: tuple[Body, ...]
    slack: tuple[float, float]
    ideal: bool

    @property
    def boundary(self) -> tuple[str, ...]:
        """Nothing of it stays on chip."""
        return ()

    @property
    def widths(self) -> Mapping[str, float]:
        """It holds nothing above a shared loop."""
        return {}


class LoneSolver:
    """Solves copies of one workload, one by one, with all their tensors in the outermost memory."""

    def __init__(self, request: Request, room: Room) -> None:
        self._solver = Solver(replace(request, options=replace(request.options, method=None)))
        self._room = room

    def table(self, einsum: Einsum, objective: str) -> LoneTable:
        """Return the table of `einsum`; InfeasibleMapping if it fits nowhere.

        For a formula, or none, the mappings that are best in one metric or another.
        """
        goals = [goal for goal in GOALS if goal == objective] or GOALS
        found = {one.best.mapping: one for one in (self._solve(einsum, goal) for goal in goals)}
        points = [(one.best.energy, one.best.latency, self._bits(one)) for one in found.values()]
        row = Row((), (), (), (), tuple(points), tuple((0, i) for i in range(len(points))))
        floor = [self._solve(einsum, goal).lower_bound for goal in ("energy", "latency")]
        slack = row.least[0] - floor[0], row.least[1] - floor[1]
        limits = [bound * (1 + TOLERANCE) for bound in floor]
        ideal = any(e <= limits[0] and t <= limits[1] for e, t, _ in points)
        bodies = tuple(_body(mapping.nodes, self._room.outer) for mapping in found)
        return LoneTable(einsum, (row,), bodies, slack, ideal)

    def _solve(self, einsum: Einsum, objective: Objective) -> Solved:
        return self._solver.solve(einsum, Goal(objective))

    def _bits(self, solved: Solved) -> float:
        score = Judge(solved.space).score(solved.best.mapping)
        return float(score.capacity.get(self._room.inner or "", 0))


def _body(nodes: tuple[Node, ...], outer: str) -> Body:
    """Split a mapping into the outermost memory and the rest."""
    top: list[Storage] = []
    place = 0
    while isinstance(node := nodes[place], Storage) and node.component == outer:
        top += [Storage((t,), outer, node.persistent) for t in node.tensors]
        place += 1
    return Body(tuple(top), (), (), (), nodes[place:])
