"""Answer from a front which mapping would be best in smaller memories, without a search.

A front over energy, latency and the bits in use of a memory has, for every mapping, one that is no
worse in all of them. In a smaller memory those mappings are left whose bits fit: the best of them
in the front is the best of all. Costs must not change with the size, and no rule may ask for it.

Example: a front has the points 5 J with 800 bits, 6 J with 400 bits. With 500 bits the least energy
is 6 J.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import Any, Literal

from tilewright.arch.components.components import Component, Memory
from tilewright.arch.errors import TilewrightError
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.flattening.placement import SpecTensorRules
from tilewright.arch.quantities import quantity, with_unit
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.searches.result import SearchCertificate, SearchResult
from tilewright.mapper.workload.errors import InfeasibleMapping, UnsupportedFeature
from tilewright.mapper.workload.workload import Workload

_MAY_DIFFER = frozenset({"size", "area", "tensors"})


@dataclass(frozen=True, slots=True)
class SmallerMemories:
    """The best mapping of a front in smaller memories.

    `sizes`: bits of the memories asked about; `point`: number of the mapping in the front; `best`:
    the mapping, scored on the architecture with these sizes; `certificate`: what is proven of it.
    """

    sizes: Mapping[str, float]
    point: int
    best: ScoredMapping
    certificate: SearchCertificate

    def __str__(self) -> str:
        """Return the answer as a line for a person to read."""
        proof = self.certificate
        sizes = ", ".join(
            f"{name} of {with_unit(bits, 'bit')}" for name, bits in self.sizes.items()
        )
        value = quantity(proof.value, proof.objective, 6)
        return f"with {sizes}: {proof.objective} {value}, point {self.point}; {proof}"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data for JSON, in SI units and bits."""
        score = self.best.score
        costs = {"energy": score.energy, "latency": score.latency, "area": score.area}
        proof = {"value": self.certificate.value, "certificate": self.certificate.to_dict()}
        return {"sizes": dict(self.sizes), "point": self.point, **costs, **proof}


def in_smaller_memories(
    result: SearchResult,
    arch: Arch,
    workload: Workload,
    sizes: Mapping[str, object],
    conventions: str = "default",
) -> SmallerMemories:
    """Return what the best mapping would be if some memories were smaller, without a search.

    `result`: of a search of `workload` on `arch` under `conventions`, with a front over the metrics
    of its objective and the usage of these memories. `sizes`: name of a memory to its new size as
    in a file, such as 4096 (bits) or "64 KiB". The answer has the least value of the objective of
    that search. Raises InfeasibleMapping if no mapping of the front fits, TilewrightError for a
    front that does not have the answer, UnsupportedFeature where costs or rules depend on a size.
    """
    smaller = arch.with_values({f"{name}.size": value for name, value in sizes.items()})
    bits = _checked_sizes((arch, smaller), workload, tuple(sizes), conventions)
    _check_front(result, tuple(sizes))
    objective = result.certificate.objective
    fitting = [
        (point.score.metric(objective), number)
        for number, point in enumerate(result.front)
        if all(point.score.metric(f"usage.{name}") <= most for name, most in bits.items())
    ]
    if not fitting:
        raise InfeasibleMapping(
            "no mapping of the front fits into the smaller memories",
            value=", ".join(f"{name} of {most:g} bits" for name, most in bits.items()),
            instead=f"at least {_least_usage(result, tuple(sizes))}",
        )
    value, number = min(fitting)
    mapping = result.front[number].mapping
    best = ScoredMapping(mapping, evaluate(smaller, workload, mapping, conventions))
    return SmallerMemories(bits, number, best, _certificate(result, value))


def _certificate(result: SearchResult, value: float) -> SearchCertificate:
    """Return what the front proves of the least value among its points that fit.

    "optimal" if the front is proven up to that value; else a bound.
    """
    proof, known = result.front_proof, result.certificate
    assert proof is not None
    is_proven = proof.whole or (known.objective == "energy" and value <= proof.energy)
    bound = value if is_proven else known.lower_bound
    kind: Literal["optimal", "bounded"] = "optimal" if is_proven else "bounded"
    return SearchCertificate(kind, known.objective, value, bound, proof.restrictions)


def _check_front(result: SearchResult, memories: tuple[str, ...]) -> None:
    """Raise TilewrightError if the front lacks a metric that the answer depends on.

    UnsupportedFeature for other objectives than energy, latency and edp. `memories`: names of those
    whose size changes; the front needs the bits in use of each.
    """
    objective, front = result.certificate.objective, result.front_proof
    costs = ("energy", "latency") if objective == "edp" else (objective,)
    needed = (*costs, *(f"usage.{name}" for name in memories))
    if objective not in {"energy", "latency", "edp"}:
        raise UnsupportedFeature(
            f"the front does not tell the least {objective}", instead="energy, latency or edp"
        )
    if front is None or not set(needed) <= set(front.metrics):
        raise TilewrightError(
            "the front does not have all that the answer depends on",
            value=", ".join(front.metrics) if front is not None else "no front",
            instead=f"a search with the front {','.join(needed)}",
        )


def _least_usage(result: SearchResult, memories: tuple[str, ...]) -> str:
    """Return the least bits of each memory that a mapping of the front needs, as text.

    `memories`: their names.
    """
    least = {name: min(p.score.metric(f"usage.{name}") for p in result.front) for name in memories}
    return ", ".join(f"{bits:g} bits of {name}" for name, bits in least.items())


# ---- which architectures a front answers for


def _checked_sizes(
    archs: tuple[Arch, Arch], workload: Workload, memories: tuple[str, ...], conventions: str
) -> dict[str, float]:
    """Return the new sizes of some memories in bits.

    `archs`: before and after. Raises TilewrightError for a larger size, UnsupportedFeature if more
    than sizes differs.
    """
    bits: dict[str, float] = {}
    for before, after in _components(archs, workload, conventions):
        _check_same_costs(before, after)
        if any(dim.min_usage > 0 for dim in before.spatial):
            raise UnsupportedFeature(
                f"{before.name} has a min_usage: its lanes depend on what fits",
                instead="a search with the smaller sizes",
            )
        if not isinstance(after, Memory) or after.name not in memories:
            continue
        assert isinstance(before, Memory)
        if after.size > before.size or after.size == inf:
            raise TilewrightError(
                f"the front does not tell what a larger {after.name} is worth",
                value=f"{after.size:g} bits",
                instead=f"at most {before.size:g} bits, or a search with the larger size",
            )
        bits[after.name] = float(after.size)
    for name in memories:
        if name not in bits:
            raise TilewrightError("no Einsum uses a memory of this name", value=name)
    return bits


def _components(
    archs: tuple[Arch, Arch], workload: Workload, conventions: str
) -> Iterator[tuple[Component, Component]]:
    """Yield (component before, component after) for all components on the paths of all Einsums.

    `archs`: the architecture before the change and after it.
    """
    switch = conventions_called(conventions).switch
    for einsum in workload.einsums:
        paths = [flatten(arch, workload.scope(einsum), switch=switch) for arch in archs]
        for before, after in zip(*paths, strict=True):
            yield from zip(before.components, after.components, strict=True)
            yield from zip(before.beside, after.beside, strict=True)


def _changed_fields(before: Component, after: Component) -> list[str]:
    """Return the fields in which two components of a type differ, besides size and area.

    "tensors" is among them if its rules name a size.
    """
    names = [each.name for each in fields(before) if each.name not in _MAY_DIFFER]
    changed = [name for name in names if getattr(before, name) != getattr(after, name)]
    rules = getattr(after, "tensors", None)
    if isinstance(rules, SpecTensorRules) and "size" in rules.names:
        changed.append("tensors")
    return changed


def _check_same_costs(before: Component, after: Component) -> None:
    """Refuse a component that differs by more than its size and area, or whose rules name a size.

    Raises UnsupportedFeature.
    """
    changed = _changed_fields(before, after)
    if changed:
        raise UnsupportedFeature(
            f"{after.name}: {', '.join(changed)} may change with the size",
            instead="a search with the smaller sizes",
        )
