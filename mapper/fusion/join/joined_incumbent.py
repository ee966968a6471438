"""Keep the best mapping found so far (the incumbent) in a search of a whole workload."""

from __future__ import annotations

from math import inf

from tilewright.mapper.fusion.bounds.cost_ceilings import EQUAL
from tilewright.mapper.fusion.fused_problem import FusedProblem
from tilewright.mapper.fusion.groups.fusion_groups import JoinedMapping
from tilewright.mapper.fusion.join.join_pmappings import WholeLabel


class JoinedIncumbent:
    """Keeps the best mapping of a workload found so far.

    `problem`: the workload and the objective. `mapping`: the mapping; None if there is none.
    `history`: all mappings that were the best for a time; they may be better by another metric.
    """

    def __init__(self, problem: FusedProblem) -> None:
        self._problem = problem
        self.mapping: JoinedMapping | None = None
        self.history: list[JoinedMapping] = []

    @property
    def value(self) -> float:
        """The objective's value of the best mapping.

        Without a mapping: inf; in a search for ties, the value that a mapping must be below.
        """
        if self.mapping is None:
            return inf if self._problem.ties is None else self._problem.ties.known_value
        return float(self._problem.value(*self.mapping.label.measures))

    def take(self, mapping: JoinedMapping) -> bool:
        """Keep a mapping if it is better; tell whether it is."""
        if self.mapping is not None and not self._is_better(mapping.label, self.mapping.label):
            return False
        self.mapping = mapping
        self.history.append(mapping)
        return True

    def _is_better(self, label: WholeLabel, known: WholeLabel) -> bool:
        """Tell whether `label` is better than `known`, or as good with less of the other metric.

        The other metric: latency if energy is minimized, else energy. A fast search may miss the
        best of several equal mappings.
        """
        value, incumbent = float(self._problem.value(*label.measures)), self.value
        if value < incumbent * (1 - EQUAL):
            return True
        if value > incumbent * (1 + EQUAL):
            return False
        if self._problem.objective == "energy":
            return label.latency < known.latency
        return label.energy < known.energy
