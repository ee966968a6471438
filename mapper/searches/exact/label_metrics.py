"""Energy and latency of a complete label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Literal

import numpy as np

from tilewright.arch.components.components import Component, Compute, Network
from tilewright.arch.flattening.latency import LatencyPiece, LinearLatency
from tilewright.mapper.searches.exact import kernels
from tilewright.mapper.searches.exact.kernels import Bools, Floats
from tilewright.mapper.searches.exact.label_fields import LabelFields, Leak, idle_seconds
from tilewright.mapper.templates.problem import Problem

Objective = Literal["energy", "latency", "edp"]
KINDS: dict[Objective, float] = {
    "energy": kernels.ENERGY,
    "latency": kernels.LATENCY,
    "edp": kernels.EDP,
}


@dataclass(frozen=True, slots=True)
class Goal:
    """What a search minimises: energy, latency or edp (energy times latency).

    `objective`: which; `price`: with energy, the joules that each second of latency costs on top.
    """

    objective: Objective
    price: float = 0.0

    def value(self, energy: float, latency: float) -> float:
        """Return the number to minimise (J, s or J s), from `energy` in J and `latency` in s."""
        if self.objective == "energy":
            return energy + self.price * latency
        return latency if self.objective == "latency" else energy * latency

    @property
    def second(self) -> Objective:
        """The metric that decides between equal values: latency for energy, else energy."""
        return "latency" if self.objective == "energy" else "energy"


class LabelMetrics:
    """Turns labels into energy and latency, for one instance of the Einsum.

    A label is a partial mapping's tuple of costs (calls, lanes, dynamic energy); `fields` says
    which column holds what. `leaks`: leakage per component. `compulsory`: seconds that every
    mapping takes at least. `price`: joules that a second costs besides, as in a search for energy
    with a price.
    """

    def __init__(
        self,
        problem: Problem,
        fields: LabelFields,
        leaks: Sequence[Leak],
        compulsory: float = 0.0,
        price: float = 0.0,
    ) -> None:
        self.price = price
        self._problem = problem
        self._fields = fields
        self._leaks = tuple(leaks)
        self.compulsory_seconds = compulsory
        self.steady_watts = price + sum(
            leak.watts * prod(share for _, share in leak.gates) for leak in leaks
        )
        """Joules that each second costs at least: the price of a second and the least leakage."""
        self._timed = [
            (level, component)
            for level, component in enumerate(problem.components)
            if component.latency is not None and not isinstance(component, Compute)
        ]
        self._summed = {level: fields.calls[level, action] for level, action in fields.seconds}
        """By level, the field that sums the seconds of all calls there, if there is one."""
        steps = float(problem.einsum.operations)
        self._idle = self._compute_latency(0.0)
        self._slope = self._compute_latency(steps) - self._idle
        halfway = self._compute_latency(steps / 2)
        if not np.isclose(halfway, self._idle + self._slope / 2, rtol=1e-9):
            self._idle, self._slope = 0.0, 0.0  # no straight line: no bound from it

    def _compute_latency(self, steps: float) -> float:
        compute = self._problem.components[-1]
        if compute.latency is None:
            return 0.0
        calls = {action.name: 0.0 for action in compute.actions}
        moved = 0.0 if self._problem.einsum.is_copy else steps
        return compute.latency({**calls, "compute": moved * float(compute.actions_scale)})

    def compute_latency(self, lanes: float) -> float:
        """Return the seconds of the Compute for all operations of one instance of the Einsum.

        `lanes`: how many instances of the Compute are busy.
        """
        return self._compute_latency(self._problem.einsum.operations / lanes)

    def latency(self, label: Floats) -> float:
        """Return the seconds of a complete mapping's label: those of the slowest component.

        A label is a tuple of costs, shape (fields,) (theory/model.md §6).
        """
        worst = self.compute_latency(-float(label[self._fields.lanes]))
        for level, component in self._timed:
            worst = max(worst, self._component_latency(level, component, label))
        return worst

    def _component_latency(self, level: int, component: Component, label: Floats) -> float:
        assert component.latency is not None
        if isinstance(component, Network):
            return component.latency(self._on_network(level, label))
        fields = self._fields.calls
        if level in self._summed:
            return float(label[self._summed[level]])
        calls = {
            action.name: float(label[field])
            if (field := fields.get((level, action.name))) is not None
            else 0.0
            for action in component.actions
        }
        if not any(calls.values()):  # nothing is held there: no latency (mapper/model/costs.py)
            return 0.0
        return component.latency(calls)

    def all_latencies(self, labels: Floats) -> Floats:
        """Return the seconds of complete mappings, shape (labels,).

        `labels`: their tuples of costs, shape (labels, fields).
        """
        rules = [None if isinstance(c, Network) else c.latency for _, c in self._timed]
        if not all(isinstance(rule, LinearLatency) for rule in rules):
            return np.array([self.latency(label) for label in labels])
        # the Compute's time depends on the lanes alone, of which few differ
        lanes, numbers = np.unique(labels[:, self._fields.lanes], return_inverse=True)
        worst = np.array([self.compute_latency(-count) for count in lanes.tolist()])[numbers]
        for level, component in self._timed:
            if level in self._summed:
                worst = np.maximum(worst, labels[:, self._summed[level]])
            else:
                worst = np.maximum(worst, self._linear_latencies(level, component, labels))
        return worst

    def _linear_latencies(self, level: int, component: Component, labels: Floats) -> Floats:
        """Return the seconds of a component whose latency is the largest of sums of factor · calls.

        `level`: the component's number on the path; `labels`: (labels, fields) calls by action.
        Shape (labels,).
        """
        assert isinstance(component.latency, LinearLatency)
        slowest = np.zeros(len(labels))
        for piece in component.latency.pieces:
            total = np.full(len(labels), piece.constant)
            for name, seconds in piece.terms:
                field = self._fields.calls.get((level, name))
                if field is not None:
                    total += seconds * labels[:, field]
            slowest = np.maximum(slowest, total)
        if idle_seconds(component):
            slowest[~self._holds(level, labels)] = 0.0
        return slowest

    def latency_terms(self) -> Floats:
        """Return what bounds the latency from below besides the Compute, shape (terms, 3).

        A row is (column of the labels, seconds per unit of it, seconds in any case, never above
        0). The latency is at least the product plus the last number, for each row. A label is the
        tuple of costs of a partial mapping.
        """
        terms: dict[tuple[int, float, float], None] = {}
        for level, component in self._timed:
            rule = component.latency
            if level in self._summed:
                terms[self._summed[level], 1.0, 0.0] = None
            elif isinstance(rule, LinearLatency) and not isinstance(component, Network):
                for piece in rule.pieces:
                    for name, seconds in piece.terms if _grows(piece) else ():
                        field = self._fields.calls.get((level, name))
                        if field is not None:
                            terms[field, seconds, min(piece.constant, 0.0)] = None
        return np.array(list(terms), np.float64).reshape(-1, 3)

    def all_energies(self, labels: Floats, latencies: Floats) -> Floats:
        """Return the joules of complete mappings with leakage, shape (labels,).

        `labels`: tuples of costs, shape (labels, fields); `latencies`: their seconds, shape
        (labels,).
        """
        watts = np.zeros(len(labels))
        for leak in self._leaks:
            used = np.ones(len(labels))
            for gate, share in leak.gates:
                used *= share * labels[:, self._fields.gates[gate]]
            watts += leak.watts * used
        return labels[:, 0] + watts * latencies

    def _holds(self, level: int, labels: Floats) -> Bools:
        """Mark the labels with calls of the component at `level`.

        Without calls nothing is held there.
        """
        level_fields = sorted(
            {field for (call_level, _), field in self._fields.calls.items() if call_level == level}
        )
        return np.asarray(labels[:, level_fields].any(axis=1))

    def _on_network(self, level: int, label: Floats) -> dict[str, float]:
        """Return the values of a network's latency rule for a label: busiest link, longest path.

        `level`: the network's number on the path. The keys are those of mapper/model/costs.py.
        """
        links = [
            float(label[f])
            for (link_level, _), f in self._fields.links.items()
            if link_level == level
        ]
        busiest = max(links, default=0.0)
        farthest = float(label[self._fields.longest_paths[level]])
        return {"hop": busiest, "max_hops": farthest, "max_link_traffic": busiest}

    def energy(self, label: Floats, latency: float) -> float:
        """Return the joules of a complete mapping: dynamic energy, and leakage for `latency` s.

        `label`: its tuple of costs, shape (fields,) (theory/model.md §5).
        """
        leak = sum(
            leak.watts
            * prod(share * float(label[self._fields.gates[gate]]) for gate, share in leak.gates)
            for leak in self._leaks
        )
        return float(label[0]) + leak * latency

    def lower_bounds(self, labels: Floats, kind: float) -> Floats:
        """Return, per label, a lower bound of the objective of all mappings that it stands for.

        `labels`: tuples of costs, shape (labels, fields). `kind`: ENERGY, LATENCY or EDP of
        kernels.py; the result is in J, s or J s. Only dynamic energy and lanes are looked at. A
        lane is one instance along a dimension of a fanout.
        """
        return self.lower_bounds_of(labels[:, 0], -labels[:, self._fields.lanes], kind)

    def lower_bounds_of(self, energy: Floats, lanes: Floats, kind: float) -> Floats:
        """Return lower bounds of the objective from bounds of energy and lanes, shape (rows,).

        `energy`: dynamic joules at least; `lanes`: busy instances of the Compute at most; `kind`:
        ENERGY, LATENCY or EDP of kernels.py. The result is in J, s or J s.
        """
        latency = np.maximum(self._idle + self._slope / lanes, self.compulsory_seconds)
        return objective_value(kind, energy + self.steady_watts * latency, latency)

    def pruning_limits(self, kind: float, limit: float, most_energy: float) -> Floats:
        """Return the eight numbers by which the compiled steps drop labels (table in kernels.py).

        `kind`: ENERGY, LATENCY or EDP; `limit`: most of the objective in J, s or J s;
        `most_energy`: most joules. A label is the tuple of costs of a partial mapping.
        """
        return np.array(
            [kind, limit, self.steady_watts, self._idle, self._slope, self.compulsory_seconds,
             float(self._fields.lanes), most_energy]
        )  # fmt: skip


def _grows(piece: LatencyPiece) -> bool:
    return all(0.0 <= seconds < inf for _, seconds in piece.terms)


def objective_value(kind: float, energy: Floats, latency: Floats) -> Floats:
    """Return energy, latency or their product, as `kind` says.

    `kind`: ENERGY, LATENCY or EDP of kernels.py; `energy` in J and `latency` in s, arrays of one
    shape.
    """
    if kind == kernels.ENERGY:
        return energy
    return latency if kind == kernels.LATENCY else energy * latency
