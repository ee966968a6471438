"""The answer of `tilewright map`."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.dse.units import label, quantity

if TYPE_CHECKING:
    from tilewright.arch.tree import Arch
    from tilewright.mapper.searches.result import SearchResult
    from tilewright.mapper.workload import Workload


@dataclass(frozen=True, slots=True)
class MappingAnswer:
    """The result of a search and the seconds it took."""

    result: SearchResult
    objective: str
    seconds: float

    def mapping_file(self) -> str:
        """Return the best mapping as the text of a mapping file."""
        from tilewright.mapper.mapping_file import dump_mapping

        return dump_mapping(self.result.best.mapping)

    def document(self) -> dict[str, Any]:
        """Return the answer as JSON data; `mapping` is the text of a mapping file."""
        score, proof = self.result.best.score, self.result.certificate
        return {
            "objective": self.objective,
            "value": proof.value,
            "energy": score.energy,
            "latency": score.latency,
            "edp": score.edp,
            "area": score.area,
            "certificate": {
                "kind": proof.kind,
                "lower_bound": proof.lower_bound,
                "gap": proof.gap if math.isfinite(proof.gap) else None,
                "scope": proof.scope,
            },
            "mapping": self.mapping_file(),
            "seconds": round(self.seconds, 6),
            "templates": self.result.statistics.templates,
            "states": self.result.statistics.states,
        }

    def text(self) -> str:
        """Return the answer for the terminal."""
        score, proof = self.result.best.score, self.result.certificate
        lines = [str(self.result.best.mapping).rstrip(), ""]
        shown = ("energy", "latency", "edp", "area")
        lines += [f"{label(name)}: {quantity(getattr(score, name), name)}" for name in shown]
        if proof.kind == "optimal":
            lines.append(f"optimal in {self.objective} among {proof.scope}")
        else:
            lines.append(
                f"best found; a lower bound of {self.objective} is "
                f"{quantity(proof.lower_bound, self.objective)} (gap {100 * proof.gap:.2g} %)"
            )
        lines.append(f"searched in {self.seconds:.3g} s")
        return "\n".join(lines)


def find_mapping(arch: Arch, workload: Workload, how: tuple[Any, str | None, str]) -> MappingAnswer:
    """Search with `how` = (objective, Einsum or None for all, conventions)."""
    from tilewright.mapper.searches.api import search

    objective, einsum, conventions = how
    start = time.perf_counter()
    result = search(arch, workload, objective=objective, einsum=einsum, conventions=conventions)
    return MappingAnswer(result, objective, time.perf_counter() - start)
