"""Einsums that share no loops: copies, which are searched alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.mapper.cascade.room import Room
from tilewright.mapper.cascade.table import Row
from tilewright.mapper.cascade.tree import Body
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.mapping import Node, Storage
from tilewright.mapper.searches.judge import Judge
from tilewright.mapper.searches.metrics import Goal, Objective
from tilewright.mapper.searches.options import Request
from tilewright.mapper.searches.solver import Solver


@dataclass(frozen=True)
class LoneTable:
    """The table of one such Einsum: one row with one mapping.

    `slack`: how much its value could exceed the best of its own space, in energy and latency.
    """

    einsum: Einsum
    rows: tuple[Row, ...]
    body: Body
    slack: tuple[float, float]

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

    def table(self, einsum: Einsum, objective: Objective) -> LoneTable:
        """Return the table of `einsum`; InfeasibleMapping if it fits nowhere."""
        solved = self._solver.solve(einsum, Goal(objective))
        best = solved.best
        bits = Judge(solved.space).score(best.mapping).capacity.get(self._room.inner or "", 0)
        row = Row((), (), (), (), ((best.energy, best.latency, float(bits)),), ((0, 0),))
        floor = {
            one: self._solver.solve(einsum, Goal(one)).lower_bound for one in ("energy", "latency")
        }
        slack = (best.energy - floor["energy"], best.latency - floor["latency"])
        return LoneTable(einsum, (row,), _body(best.mapping.nodes, self._room.outer), slack)


def _body(nodes: tuple[Node, ...], outer: str) -> Body:
    """Split a mapping into the outermost memory and the rest."""
    top: list[Storage] = []
    place = 0
    while isinstance(node := nodes[place], Storage) and node.component == outer:
        top += [Storage((t,), outer, node.persistent) for t in node.tensors]
        place += 1
    return Body(tuple(top), (), (), (), nodes[place:])
