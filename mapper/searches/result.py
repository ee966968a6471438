"""What a search returns, and the protocol that every search follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Literal, Protocol, runtime_checkable

from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.restrictions import Restrictions, scope_text, with_restrictions


@dataclass(frozen=True, slots=True)
class SearchCertificate:
    """How good the best mapping is proven to be, among the mappings that meet `restrictions`.

    `optimal`: none of them has a lower objective (to 1e-9 relative). `bounded`: none of them is
    below `lower_bound`; `gap` = value / lower_bound - 1. Without restrictions that holds among all
    mappings.
    """

    kind: Literal["optimal", "bounded"]
    objective: str
    value: float
    lower_bound: float
    restrictions: Restrictions

    @property
    def scope(self) -> str:
        """The names of the restrictions as one text."""
        return scope_text(self.restrictions)

    @property
    def gap(self) -> float:
        """Relative distance of the value from the bound; inf without a bound above 0."""
        if self.kind == "optimal":
            return 0.0
        return self.value / self.lower_bound - 1 if self.lower_bound > 0 else inf

    def __str__(self) -> str:
        if self.kind == "optimal":
            return with_restrictions(f"optimal in {self.objective}", self.restrictions)
        return with_restrictions(f"{self.distance} on {self.objective}", self.restrictions)

    @property
    def distance(self) -> str:
        """How far the value is from the bound, in words."""
        if self.gap == inf:
            return "without a lower bound above 0"
        if self.gap < 1:
            return f"within {gap_text(self.gap)} of a lower bound"
        return f"at most {gap_text(self.gap)} a lower bound"


def gap_text(gap: float) -> str:
    """Return a relative distance in percent, from 100 % on as a ratio: "2.5 %", "34 x"."""
    if gap == inf:
        return "without end"
    return f"{100 * gap:.3g} %" if gap < 1 else f"{1 + gap:.2g} x"


@dataclass(frozen=True, slots=True)
class SearchStatistics:
    """`states`: tile shapes (lattice points) of all Einsums solved; `labels`: partial mappings
    kept; `evaluations`: mappings that the model scored; `solved`: Einsums not taken from another;
    `keys`: choices of shared loops, and joins of them, that were looked at.
    """

    templates: int = 0
    states: int = 0
    labels: int = 0
    evaluations: int = 0
    solved: int = 0
    seconds: float = 0.0
    compatibilities: int = 0

    def plus(self, added: SearchStatistics) -> SearchStatistics:
        """Add two sets of counts."""
        return SearchStatistics(
            self.templates + added.templates,
            self.states + added.states,
            self.labels + added.labels,
            self.evaluations + added.evaluations,
            self.solved + added.solved,
            self.seconds + added.seconds,
            self.compatibilities + added.compatibilities,
        )


@dataclass(frozen=True, slots=True)
class EinsumMapping:
    """A mapping of one Einsum with its energy (J) and latency (s), all instances counted."""

    mapping: Mapping
    energy: float
    latency: float

    def value(self, objective: Objective | Goal) -> float:
        """Return what an objective or a goal minimises."""
        goal = objective if isinstance(objective, Goal) else Goal(objective)
        return goal.value(self.energy, self.latency)


@dataclass(frozen=True, slots=True)
class MapspaceResult:
    """The best candidate of one mapspace (None: there is none) and a bound on all others."""

    best: EinsumMapping | None
    lower_bound: float
    proven: bool
    statistics: SearchStatistics


class MapspaceSearch(Protocol):
    """A way to search one mapspace."""

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the best candidate found in at most about `budget` seconds (None: no limit)."""
        ...


Report = Callable[[float, float], None]  # best value so far, and a bound below it


def no_report(value: float, lower_bound: float) -> None:
    """Report to nobody."""


@runtime_checkable
class ReportingSearch(Protocol):
    """A search that can report how far it is."""

    def reporting_to(self, report: Report) -> MapspaceSearch:
        """Return the same search that calls `report` whenever its best value falls."""
        ...


@dataclass(frozen=True, slots=True)
class ScoredMapping:
    """A mapping of the whole workload, or of the Einsum asked for, with the model's score."""

    mapping: Mapping
    score: Score


@dataclass(frozen=True, slots=True)
class FrontProof:
    """What is proven about a front over `metrics`, among the mappings that meet `restrictions`.

    Each of them with at most `energy` joule is matched in all metrics, to 1e-9
    relative, by one of the front; inf: it is the whole Pareto set.
    """

    metrics: tuple[str, ...]
    energy: float
    restrictions: Restrictions

    @property
    def scope(self) -> str:
        """The names of the restrictions as one text."""
        return scope_text(self.restrictions)

    @property
    def whole(self) -> bool:
        """Tell whether nothing is missing."""
        return self.energy == inf

    def __str__(self) -> str:
        return with_restrictions(self._claim, self.restrictions)

    @property
    def _claim(self) -> str:
        """What is proven, without the restrictions."""
        over = ", ".join(self.metrics)
        if self.whole:
            return f"the whole Pareto set over {over}"
        if self.energy > 0:
            return (
                f"the Pareto set over {over} up to an energy of {self.energy:g} J, and some points"
                " above it"
            )
        return f"some points near the Pareto set over {over}"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best mapping, and how good it is proven to be.

    `front`: the Pareto set over the metrics asked for, of which `front_proof` tells how much is
    proven; the best mapping alone if none was asked for. `on_chip`: tensors
    that Einsums exchange without the outermost memory, in order of first use. `notes`: what else
    there is to know, e.g. why fused mappings were not searched.
    """

    best: ScoredMapping
    front: tuple[ScoredMapping, ...]
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
            f"energy {score.energy:.6g} J, latency {score.latency:.6g} s, edp {score.edp:.6g} J·s",
            str(self.certificate),
        ]
        if self.front_proof is not None:
            lines.append(f"front of {len(self.front)} mappings: {self.front_proof}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is: what it does, the best value so far (inf: none) and a bound below it."""

    doing: str
    value: float
    lower_bound: float
