"""What a search returns, and the protocol that every search follows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import astuple, dataclass, replace
from math import inf
from operator import add
from typing import Any, Literal, Protocol, Self, runtime_checkable

from tilewright.arch.quantities import quantity, some
from tilewright.mapper.fronts.front import Front
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapping.score import Rows
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.restrictions import Restrictions, scope_text, with_restrictions
from tilewright.mapper.workload.einsum import Einsum


@dataclass(frozen=True, slots=True)
class SearchCertificate:
    """How good the best mapping is proven to be.

    `kind`: "optimal", if no mapping that meets the restrictions has a lower objective (to 1e-9
    relative), else "bounded", if none is below `lower_bound`. `objective`: its name; `value`: that
    of the best mapping; both numbers in J, s, J s or the unit of a formula. `restrictions`:
    conditions that all searched mappings meet, such as perfect factors; without any, it holds
    among all mappings.
    """

    kind: Literal["optimal", "bounded"]
    objective: str
    value: float
    lower_bound: float
    restrictions: Restrictions

    @property
    def scope(self) -> str:
        """The restrictions among which the proof holds, as one text, or "all mappings"."""
        return scope_text(self.restrictions)

    @property
    def gap(self) -> float:
        """Relative distance of the value from the lower bound: value / lower_bound - 1.

        0 if optimal; infinity if the bound is not above 0.
        """
        if self.kind == "optimal":
            return 0.0
        return self.value / self.lower_bound - 1 if self.lower_bound > 0 else inf

    def __repr__(self) -> str:
        proven = "optimal in" if self.kind == "optimal" else f"{self.distance} on"
        count = len(self.restrictions)
        limits = f", among mappings that meet {some(count, 'restriction')}" if count else ""
        return f"<SearchCertificate: {proven} {self.objective}{limits}>"

    def __str__(self) -> str:
        if self.kind == "optimal":
            return with_restrictions(f"optimal in {self.objective}", self.restrictions)
        return with_restrictions(f"{self.distance} on {self.objective}", self.restrictions)

    def to_dict(self) -> dict[str, Any]:
        """Return what is proven as plain data for JSON; a gap without end is None."""
        return {
            "kind": self.kind,
            "lower_bound": self.lower_bound,
            "gap": self.gap if self.gap < inf else None,
            "scope": self.scope,
            "restrictions": [each.name for each in self.restrictions],
        }

    @property
    def distance(self) -> str:
        """How far the value is from the lower bound, in words: "within 2.5 % of a lower bound"."""
        if self.gap == inf:
            return "without a lower bound above 0"
        if self.gap < 1:
            return f"within {gap_text(self.gap)} of a lower bound"
        return f"at most {gap_text(self.gap)} a lower bound"


def gap_text(gap: float) -> str:
    """Return a relative distance as text: 0.025 is "2.5 %", 33 is "34 x", 5122 is "5,123 x".

    From 1 on it is a ratio to the bound; infinity is "without end".
    """
    if gap == inf:
        return "without end"
    if gap < 1:
        return f"{100 * gap:.3g} %"
    return f"{1 + gap:.2g} x" if gap < 98.5 else f"{1 + gap:,.0f} x"


@dataclass(frozen=True, slots=True)
class SearchStatistics:
    """What a search did, in numbers.

    `templates`: mappings without loops that were made. `states`: tile shapes of all Einsums
    solved. `labels`: partial mappings (cost tuples) kept. `evaluations`: mappings scored by the
    model. `solved`: Einsums searched, not taken over from an equal one. `seconds`: time of a
    search of Einsums; 0 in the result of a method, which does not measure it.
    `compatibilities`: choices of loops shared by Einsums, and joins of them, that were looked at.
    """

    templates: int = 0
    states: int = 0
    labels: int = 0
    evaluations: int = 0
    solved: int = 0
    seconds: float = 0.0
    compatibilities: int = 0

    def plus(self, added: SearchStatistics) -> SearchStatistics:
        """Return the sums of the numbers of two searches, as of one; neither is changed."""
        return SearchStatistics(*map(add, astuple(self), astuple(added)))


@dataclass(frozen=True, slots=True)
class EinsumMapping:
    """A mapping of one Einsum with its costs over all instances of the Einsum.

    `mapping`: its nodes; `energy`: joules; `latency`: seconds.
    """

    mapping: Mapping
    energy: float
    latency: float

    def value(self, objective: Objective | Goal) -> float:
        """Return what an objective ("energy", "latency", "edp") or a Goal minimises.

        In J, s or J s, for all instances; a Goal may add a price per second to energy.
        """
        goal = objective if isinstance(objective, Goal) else Goal(objective)
        return goal.value(self.energy, self.latency)


@dataclass(frozen=True, slots=True)
class MapspaceResult:
    """What a search of one mapspace found.

    `best`: the best mapping with its costs, None if none was found. `lower_bound`: no mapping's
    goal is below it (inf: there is no mapping). `proven`: the search came to its end, so that
    `best` is the optimum, or None because there is none. `statistics`: what it did, in numbers.
    """

    best: EinsumMapping | None
    lower_bound: float
    proven: bool
    statistics: SearchStatistics


class MapspaceSearch(Protocol):
    """A method that searches one mapspace (all mappings of an Einsum on one path of components)."""

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the best mapping found in about `budget` seconds (None: no limit), and a bound.

        `goal`: what is least. Raises UnsupportedFeature if the method cannot handle a feature.
        """
        ...


class SolvedEinsums(Protocol):
    """Has, or finds at once, some mapping of each Einsum of a workload."""

    def mapspaces(self, einsum: Einsum) -> list[tuple[Hashable, Mapspace]]:
        """Return pairs (key, mapspace), one per Compute that can do an Einsum."""
        ...

    def result(self, key: Hashable, space: Mapspace, goal: Goal) -> MapspaceResult:
        """Return some mapping of a mapspace; `key`: equal where problems differ in names only."""
        ...


Report = Callable[[float, float], None]  # best value so far, and a bound below it


def no_report(value: float, lower_bound: float) -> None:
    """Do nothing with the best value so far and a bound below it: the default for `report`."""


@runtime_checkable
class ReportingSearch(Protocol):
    """A search method that can report its best value while it runs."""

    def reporting_to(self, report: Report) -> MapspaceSearch:
        """Return the same method that calls `report` (best value, bound) at each better value."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ImprovingSearch:
    """What search methods that find one better mapping after the other have in common.

    `report`: called with (best value, lower bound) at each better value, with 0 for the bound.
    `memory`: bytes of the process before which the search ends.
    """

    report: Report = no_report
    memory: float = inf

    def reporting_to(self, report: Report) -> Self:
        """Return the same search method with another `report`."""
        return replace(self, report=report)


@dataclass(frozen=True, slots=True)
class FrontProof:
    """What is proven about a Pareto front.

    `metrics`: those it is over. `energy`: every mapping that meets the restrictions and has at
    most so many joules is matched in all metrics, to 1e-9 relative, by one of the front; infinity:
    it is the whole front. `restrictions`: conditions that the searched mappings meet.
    """

    metrics: tuple[str, ...]
    energy: float
    restrictions: Restrictions

    @property
    def scope(self) -> str:
        """The restrictions among which the proof holds, as one text, or "all mappings"."""
        return scope_text(self.restrictions)

    @property
    def whole(self) -> bool:
        """Whether it is proven that no point of the front is missing."""
        return self.energy == inf

    def __str__(self) -> str:
        return with_restrictions(self.claim, self.restrictions)

    def to_dict(self) -> dict[str, Any]:
        """Return what is proven as plain data for JSON.

        `proven_up_to_energy` (J) is None if the whole front is proven.
        """
        return {
            "metrics": list(self.metrics),
            "whole": self.whole,
            "proven_up_to_energy": None if self.whole else self.energy,
            "scope": self.scope,
            "restrictions": [each.name for each in self.restrictions],
        }

    @property
    def claim(self) -> str:
        """What is proven, without the restrictions."""
        over, energy = ", ".join(self.metrics), quantity(self.energy, "energy", 6)
        if self.whole:
            return f"the whole Pareto set over {over}"
        if self.energy > 0:
            return (
                f"the Pareto set over {over} up to an energy of {energy}, and some points above it"
            )
        return f"some points near the Pareto set over {over}"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search returns: the best mapping, and how good it is proven to be.

    `best`: the mapping with its score. `certificate`: what is proven about its objective. `front`:
    the Pareto front over the metrics asked for, of which `front_proof` tells how much is proven;
    the best mapping alone (and None) if none was asked for. `statistics`: what the search did, in
    numbers. `on_chip`: tensors that Einsums exchange without the outermost memory, in order of
    first use. `notes`: what else there is to know, such as why fused mappings were not searched.
    """

    best: ScoredMapping
    front: Front
    certificate: SearchCertificate
    statistics: SearchStatistics
    on_chip: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    front_proof: FrontProof | None = None

    def __str__(self) -> str:
        """Return the best loop nest, what it costs and what is proven, for a person to read."""
        score = self.best.score
        lines = [
            str(self.best.mapping).rstrip(),
            ", ".join(
                f"{name} {quantity(score.metric(name), name, 6)}"
                for name in ("energy", "latency", "edp")
            ),
            str(self.certificate),
        ]
        if self.front_proof is not None:
            mappings = "1 mapping" if len(self.front) == 1 else f"{len(self.front)} mappings"
            lines.append(f"front of {mappings}: {self.front_proof}")
        if score.verified:
            lines.append("verified")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        proof = self.certificate
        state = "optimal in" if proof.kind == "optimal" else f"{proof.distance} on"
        front = f", front of {len(self.front)}" if self.front_proof is not None else ""
        return f"<SearchResult: {self.best.score.in_short()}; {state} {proof.objective}{front}>"

    def _repr_html_(self) -> str:
        """Return loop nest, costs, what is proven, and the front for a notebook."""
        from tilewright.arch.html_parts import html_text

        notes = (f"note: {note}" for note in self.notes if note not in self.best.score.notes)
        parts = [self.best._repr_html_(), *map(html_text, (str(self.certificate), *notes))]
        if self.front_proof is not None:
            parts += [self.front._repr_html_(), html_text(str(self.front_proof))]
        return "".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON, in SI units; mappings are texts of files.

        It has the costs of the best mapping by component, tensor and Einsum.
        """
        from tilewright.mapper.evaluation.breakdown import breakdown
        from tilewright.mapper.mapping.mapping_file import dump_mapping

        score, proof = self.best.score, self.certificate
        return {
            "objective": proof.objective,
            "value": proof.value,
            "energy": score.energy,
            "latency": score.latency if score.is_timed else None,
            "edp": score.edp if score.is_timed else None,
            "area": score.area,
            "certificate": proof.to_dict(),
            "verified": score.verified,
            "mapping": dump_mapping(self.best.mapping),
            **breakdown(score).to_dict(),
            "front": self.front.to_dict(),
            "front_proof": None if self.front_proof is None else self.front_proof.to_dict(),
            "on_chip": list(self.on_chip),
            "notes": list(self.notes),
            "templates": self.statistics.templates,
            "states": self.statistics.states,
        }

    def to_pandas(self, by: Rows = "component") -> Any:
        """Return the costs of the best mapping as a pandas DataFrame, as `Score.to_pandas` does."""
        return self.best.score.to_pandas(by)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is.

    `doing`: what it does, in words. `value`: best value so far, inf if none. `lower_bound`: a
    bound below it. In the unit of the objective.
    """

    doing: str
    value: float
    lower_bound: float
