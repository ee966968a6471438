"""The answer of `tilewright map`."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.dse.units import label, quantity

if TYPE_CHECKING:
    from tilewright.arch.tree import Arch
    from tilewright.mapper.mapping import Mapping as LoopNest
    from tilewright.mapper.searches.result import ScoredMapping, SearchResult
    from tilewright.mapper.workload import Workload


@dataclass(frozen=True, slots=True)
class MappingAnswer:
    """The result of a search and the seconds it took."""

    result: SearchResult
    objective: str
    seconds: float

    def mapping_file(self) -> str:
        """Return the best mapping as the text of a mapping file."""
        return _text(self.result.best.mapping)

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
            "front": [_point(one) for one in self.result.front],
            "on_chip": list(self.result.on_chip),
            "notes": list(self.result.notes),
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
        if self.result.on_chip:
            lines.append(f"kept on chip between Einsums: {', '.join(self.result.on_chip)}")
        if proof.kind == "optimal":
            lines.append(f"optimal in {self.objective} among {proof.scope}")
        else:
            lines.append(
                f"best found; a lower bound of {self.objective} is "
                f"{quantity(proof.lower_bound, self.objective)} (gap {100 * proof.gap:.2g} %)"
            )
        lines += [f"note: {note}" for note in self.result.notes]
        lines.append(f"searched in {self.seconds:.3g} s")
        return "\n".join(lines)


def find_mapping(arch: Arch, workload: Workload, options: Mapping[str, Any]) -> MappingAnswer:
    """Search with the keywords of `tilewright.mapper.search`."""
    from tilewright.mapper.searches.api import search

    start = time.perf_counter()
    result = search(arch, workload, **options)
    return MappingAnswer(result, options["objective"], time.perf_counter() - start)


def _text(mapping: LoopNest) -> str:
    from tilewright.mapper.mapping_file import dump_mapping

    return dump_mapping(mapping)


def _point(one: ScoredMapping) -> dict[str, Any]:
    score = one.score
    return {"energy": score.energy, "latency": score.latency, "mapping": _text(one.mapping)}
