"""What it costs to bring tensors from where they stay to where options need them.

A search of paths asks for thousands of these costs again and again, while few of them change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.simulator.exchanges.exchange_move import Move, find_least
from tilewright.simulator.search.paths.path_graph import PathKind, PathQuestion

_Floats = npt.NDArray[np.float64]
_Option = TypeVar("_Option")


class MoveCosts(Generic[_Option]):
    """The costs of all moves of a workload's tensors.

    `move`: of a tensor, from a distribution to another one, which an option reads; `places`: by
    tensor, the distributions in which it may stay.
    """

    def __init__(
        self,
        move: Callable[[str, int, int, _Option], Move],
        places: Mapping[str, Sequence[int]],
    ) -> None:
        self._move, self.places = move, places
        self._costs: dict[PathKind, dict[tuple[str, int], _Floats]] = {}
        self._moves: dict[tuple[str, int], Sequence[Move]] = {}
        self._wanted: dict[int, tuple[str, int]] = {}

    def to(self, name: str, needed: int, option: _Option, question: PathQuestion) -> _Floats:
        """Return the costs of bringing a tensor to one distribution, from each of its places.

        They are 0 where it is there; inf for what the question does not allow.
        """
        costs = self._costs.setdefault(question.kind, {})
        key = name, needed
        if key not in costs:
            moves = self._moves_to(name, needed, option)
            new = [m for m in moves if m.lacks_bound and _is_allowed(m, question)]
            if new and question.which == "bound":
                find_least(new)
            costs[key] = np.array([_cost(move, question) for move in moves])
        return costs[key]

    def find(self, moves: Iterable[Move]) -> bool:
        """Find the exchanges of moves, which may raise their bounds; return whether any is new."""
        new = [move for move in moves if move.find()]
        self._forget(new)
        return bool(new)

    def execute(self, moves: Sequence[Move]) -> int:
        """Run the exchanges of moves, so that their values are known; return how many ran now."""
        executed = sum(move.execute() for move in moves)
        self._forget(moves)
        return executed

    def _forget(self, moves: Iterable[Move]) -> None:
        """Forget the costs of moves, which have changed."""
        for move in moves:
            for costs in self._costs.values():
                costs.pop(self._wanted[id(move)], None)

    def _moves_to(self, name: str, needed: int, option: _Option) -> Sequence[Move]:
        key = name, needed
        if key not in self._moves:
            self._moves[key] = [self._move(name, p, needed, option) for p in self.places[name]]
            self._wanted.update((id(move), key) for move in self._moves[key])
        return self._moves[key]


def _is_allowed(move: Move, question: PathQuestion) -> bool:
    return question.reshards or not move.is_reshard


def _cost(move: Move, question: PathQuestion) -> float:
    if move.is_there:
        return 0.0
    if not _is_allowed(move, question):
        return inf
    costs = move.bounds if question.which == "bound" else move.costs
    return costs.value(question.objective or move.candidates.objective)
