"""The analytical model: each design is worth what its best mapping costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf, prod
from typing import TYPE_CHECKING, Any

from tilewright.arch.quantities import label
from tilewright.dse.models.design_families import NO_FAMILY, DesignFiles, FamilyDesign, KnobFamily
from tilewright.dse.models.evaluator import DETAILED, FIDELITY, Outcome, is_check
from tilewright.dse.models.inputs import architecture, knobs, workload
from tilewright.dse.report.details import section, traffic
from tilewright.dse.study.design_space import Point, Space
from tilewright.dse.study.study import StudyInput
from tilewright.mapper.workload.errors import UnsupportedFeature

if TYPE_CHECKING:
    from tilewright.arch.compiled import Kernel
    from tilewright.arch.spec.architecture import Arch
    from tilewright.mapper.mapping.mapping import Mapping, Node
    from tilewright.mapper.mapping.score import Score
    from tilewright.mapper.searches.result import SearchResult
    from tilewright.mapper.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class AnalyticalEvaluator:
    """The analytical model of a study: a design is worth what its best mapping costs.

    `arch`, `workload`: the study's input files with values for their variables; `objective`: what
    the mapper makes smallest in each design; `options`: others of `tilewright.mapper.search`, with
    their values. `family`: knobs such that designs which differ in these alone are answered from
    one search (design_families.py).
    """

    arch: StudyInput
    workload: StudyInput
    objective: str = "edp"
    options: tuple[tuple[str, Any], ...] = ()
    family: KnobFamily = NO_FAMILY

    @property
    def leaves_out_details(self) -> bool:
        """Whether details are made only when asked for: they take longer than to know a mapping."""
        return bool(self.family)

    @property
    def has_check(self) -> bool:
        """Whether a design may be found to have no mapping before it is searched.

        Those that one search answers are not looked at one by one.
        """
        return not self.family

    def kernels(self) -> Sequence[Kernel]:
        """Return the compiled functions that a design may call."""
        from tilewright.mapper.searches.exact.kernels import SEARCH_KERNELS

        return SEARCH_KERNELS

    def evaluate(self, point: Point) -> Outcome:
        """Search the best mapping of the workload on one design and return its metrics.

        `point`: value of each knob by path. Metrics: energy (J), latency (s), edp (J s), area (m²),
        leak_power (W), and usage.MEMORY, the most bits in use of each memory. Raises a
        TilewrightError if no mapping of the workload fits the design.
        """
        if is_check(point):
            self.check({name: value for name, value in point.items() if name != FIDELITY})
            return Outcome()
        is_detailed = bool(point.get(DETAILED)) or not self.leaves_out_details
        point = {name: value for name, value in point.items() if name != DETAILED}
        arch, work = architecture(self.arch, point), workload(self.workload, point)
        result = self._search(arch, work, point)
        score, proof = result.best.score, result.certificate
        memories = [node.name for node in arch.leaves() if node.tag == "Memory"]
        return Outcome(
            _metrics(score, memories),
            details=_details(result, arch, work) if is_detailed else {},
            verified=score.verified,
            proof=proof.kind,
            gap=proof.gap if proof.gap < inf else None,
            mappings=tuple(_metrics(each.score, memories) for each in result.front)
            if result.front_proof is not None
            else (),
            breakdown=_breakdown(score),
            front_metrics=() if result.front_proof is None else result.front_proof.metrics,
        )

    def check(self, point: Point) -> None:
        """Raise InfeasibleMapping if an Einsum has no mapping on one design, by its constraints.

        Wherever the tensors stay that it shares with others. Other errors as of `evaluate`; without
        an error the design may still have no mapping.
        """
        from tilewright.mapper.explain.together import no_mapping_alone
        from tilewright.mapper.searches.request import request_of

        arch, work = architecture(self.arch, point), workload(self.workload, point)
        options: Any = {"objective": self.objective, **dict(self.options)}
        request = request_of(arch, work, {**options, **knobs(point, "mapper.")})
        if request.options.einsum is not None:  # the others need no mapping
            return
        refused = None
        with suppress(UnsupportedFeature):  # which the search may say, or do without
            refused = no_mapping_alone(request)
        if refused is not None:
            raise refused

    def search(self, point: Point) -> SearchResult:
        """Return the best mapping of one design with its certificate; errors as of `evaluate`."""
        arch, work = architecture(self.arch, point), workload(self.workload, point)
        return self._search(arch, work, point)

    def searches(self, space: Space) -> int:
        """Return how many searches answer all designs of a space; 0 if each has one of its own."""
        if not self.family:
            return 0
        ranges = self._files().range(space.point(space.nth(0)), self.family.knobs).ranges()
        lanes = prod(len(values) for values in ranges.fanouts.values()) if ranges else 1
        return space.size // prod(len(knob.values) for knob in self.family.knobs) * lanes

    def _files(self) -> DesignFiles:
        options = {"objective": self.objective, **dict(self.options)}
        return DesignFiles(self.arch, self.workload, options)

    def _search(self, arch: Arch, work: Workload, point: Point) -> SearchResult:
        from tilewright.mapper.searches.api import search

        options: Any = {"objective": self.objective, **dict(self.options)}
        if self.family:
            best = FamilyDesign(point, self.family, self._files()).best(arch)
            if best is not None:
                return best
        return search(arch, work, **{**options, **knobs(point, "mapper.")})


def _details(result: SearchResult, arch: Arch, work: Workload) -> dict[str, Any]:
    from tilewright.dse.report.mapping.machine_details import machine_details

    return {
        "sections": list(_sections(result, work)),
        **machine_details(result.best.score, arch),
    }


def _metrics(score: Score, memories: Sequence[str]) -> dict[str, float]:
    return {
        "energy": score.energy,
        "latency": score.latency,
        "edp": score.edp,
        "area": score.area,
        "leak_power": score.leak_power,
        **{f"usage.{memory}": float(score.capacity.get(memory, 0)) for memory in memories},
    }


def _breakdown(score: Score) -> dict[str, dict[str, float]]:
    """Return energy (J), latency (s) and area (m²) by component, summed over the Einsums."""
    energy: dict[str, float] = {}
    latency: dict[str, float] = {}
    for into, by in ((energy, score.energy_by), (latency, score.latency_by)):
        for key, value in by.items():
            component = key.split("/")[1]
            into[component] = into.get(component, 0.0) + float(value)
    return {"energy": energy, "latency": latency, "area": dict(score.area_by)}


def _sections(result: SearchResult, work: Workload) -> Iterator[dict[str, Any]]:
    from tilewright.mapper.mapping.nest_lines import lines_of, nest_text

    score = result.best.score
    for einsum, nest in branches_of(result.best.mapping):
        shown = section(
            einsum,
            nest_text(lines_of(nest, work, score)),
            _energy(score, einsum),
            _latency(score, einsum),
            {"mapping": _claim(result), **_usage(score, einsum)},
        )
        energy_by = {
            key: joule for key, joule in score.energy_by.items() if key.split("/")[0] == einsum
        }
        yield {**shown, "traffic": traffic(energy_by)}


def _claim(result: SearchResult) -> str:
    proof = result.certificate
    is_verified = ", verified" if result.best.score.verified else ", not verified"
    if proof.kind == "optimal":
        return f"optimal in {label(proof.objective)}{is_verified}"
    return f"{proof.distance} in {label(proof.objective)}{is_verified}"


def branches_of(mapping: Mapping) -> Iterator[tuple[str, Mapping]]:
    """Yield each Einsum's name with its part of a mapping.

    The part has the nodes above that several Einsums share, then the Einsum's own nodes.
    """
    from tilewright.mapper.mapping.mapping import ComputeNode, Mapping, Sequential

    def walk(
        nodes: tuple[Node, ...], nodes_above: tuple[Node, ...]
    ) -> Iterator[tuple[str, Mapping]]:
        last = nodes[-1]
        path = (*nodes_above, *nodes[:-1])
        if isinstance(last, Sequential):
            for branch in last.branches:
                yield from walk(branch, path)
        elif isinstance(last, ComputeNode):
            yield last.einsum, Mapping((*path, last))

    yield from walk(mapping.nodes, ())


def _energy(score: Score, einsum: str) -> dict[str, float]:
    """Sum an Einsum's energies by component, leakage apart."""
    totals: dict[str, float] = {}
    for key, energy in score.energy_by.items():
        name, component, *details = key.split("/")
        if name == einsum:
            label = f"{component} (leakage)" if details == ["leak"] else component
            totals[label] = totals.get(label, 0.0) + energy
    return totals


def _latency(score: Score, einsum: str) -> dict[str, float]:
    return {
        key.split("/")[1]: seconds
        for key, seconds in score.latency_by.items()
        if key.split("/")[0] == einsum
    }


def _usage(score: Score, einsum: str) -> dict[str, object]:
    usage: dict[str, object] = {}
    for key, share in score.spatial_usage.items():
        name, component, dim = key.split("/")
        if name == einsum:
            usage[f"{component}.{dim} in use"] = f"{100 * share:.3g} %"
    return usage
