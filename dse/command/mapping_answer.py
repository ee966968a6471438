"""The answer of `tilewright map`."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.arch.quantities import label, quantity, some

if TYPE_CHECKING:
    from tilewright.arch.spec.architecture import Arch
    from tilewright.mapper.mapping.mapping import Mapping as LoopNest
    from tilewright.mapper.mapping.score import Score
    from tilewright.mapper.searches.result import SearchResult
    from tilewright.mapper.workload.workload import Workload


_MOST_ROWS = 20  # of a table on the terminal


@dataclass(frozen=True, slots=True)
class MappingAnswer:
    """The answer of a search for a mapping.

    `result`: the best mapping, its costs and the certificate; `objective`: what was minimized;
    `seconds`: the wall-clock time of the search; `workload`: what is mapped.
    """

    result: SearchResult
    objective: str
    seconds: float
    workload: Workload

    def mapping_file(self) -> str:
        """Return the best mapping as the YAML text of a mapping file."""
        return _text(self.result.best.mapping)

    def document(self) -> dict[str, Any]:
        """Return the answer as JSON data, in SI units; `mapping` is the text of a mapping file."""
        best = self.result.best
        return {
            **self.result.to_dict(),
            **details(self.workload, best.mapping, best.score),
            "objective": self.objective,
            "seconds": round(self.seconds, 6),
        }

    def _front_table(self) -> list[str]:
        """Return the front as a table: one line per point."""
        from tilewright.mapper.fronts.front import shown

        proof = self.result.front_proof
        if proof is None:
            return []
        rows = [[*proof.metrics]]
        rows += [
            [shown(scored.score.metric(name), name) for name in proof.metrics]
            for scored in self.result.front
        ]
        proven = sum(scored.score.verified for scored in self.result.front)
        count = some(len(self.result.front), "mapping")
        widths = [max(len(row[i]) for row in rows) for i in range(len(proof.metrics))]
        table = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        return ["", *table, f"{count}, {proven} verified: {proof}"]

    def text(self) -> str:
        """Return the answer for the terminal: loop nest, costs with units, what is proven."""
        from tilewright.mapper.searches.restrictions import with_restrictions
        from tilewright.mapper.searches.result import gap_text

        score, proof = self.result.best.score, self.result.certificate
        lines = [nest_of(self.workload, self.result.best.mapping, score), ""]
        lines += [*totals(score), *tables(score), ""]
        if self.result.on_chip:
            lines.append(f"kept on chip between Einsums: {', '.join(self.result.on_chip)}")
        if proof.kind == "optimal":
            claim = f"optimal in {self.objective}"
        else:
            bound = quantity(proof.lower_bound, self.objective)
            claim = (
                f"best found; a lower bound of {self.objective} is {bound}"
                f" (gap {gap_text(proof.gap)})"
            )
        lines.append(with_restrictions(claim, proof.restrictions))
        lines.append(verified_text(score))
        lines += self._front_table()
        lines += [f"note: {note}" for note in self.result.notes]
        lines.append(f"searched in {self.seconds:.3g} s")
        return "\n".join(lines)


def find_mapping(arch: Arch, workload: Workload, options: Mapping[str, Any]) -> MappingAnswer:
    """Search the best mapping of a workload on an architecture, and time it.

    `options`: keywords of `tilewright.mapper.search`, whose errors are raised.
    """
    from tilewright.mapper.searches.api import search

    start = time.perf_counter()
    result = search(arch, workload, **options)
    return MappingAnswer(result, options["objective"], time.perf_counter() - start, workload)


def nest_of(workload: Workload, mapping: LoopNest, score: Score) -> str:
    """Return the loop nest of a mapping with trip counts, tiles, and what each memory holds."""
    from tilewright.mapper.mapping.nest_lines import lines_of, nest_text

    return nest_text(lines_of(mapping, workload, score))


def details(workload: Workload, mapping: LoopNest, score: Score) -> dict[str, Any]:
    """Return the loop nest and the tables of costs as JSON data."""
    from tilewright.mapper.evaluation.breakdown import breakdown
    from tilewright.mapper.mapping.nest_lines import lines_of

    nest = [line.document() for line in lines_of(mapping, workload, score)]
    return {"nest": nest, **breakdown(score).to_dict()}


def totals(score: Score) -> list[str]:
    """Return the totals of a score, a line for each."""
    shown = ["energy", "latency", "edp", "area", *(["leak_power"] if score.leak_power else [])]
    rows = [(f"{label(name)}:", shown_metric(score, name)) for name in shown]
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}" for name, value in rows]


def tables(score: Score) -> list[str]:
    """Return the tables of costs as lines, an empty one before each."""
    from tilewright.mapper.evaluation.breakdown import breakdown
    from tilewright.mapper.evaluation.breakdown_tables import cost_tables

    shown = cost_tables(breakdown(score), score)
    return [line for table in shown for line in ("", *table.text(_MOST_ROWS))]


def shown_metric(score: Score, name: str) -> str:
    """Return a metric of a score with its unit; times that nothing takes are not modelled."""
    value = float(getattr(score, name))
    if name in {"latency", "edp"} and not score.is_timed:
        return "not modelled"
    return quantity(value, name) if math.isfinite(value) else "infinite"


def verified_text(score: Score) -> str:
    """Return whether the mapping of a score is proven to be right, as a line for the terminal."""
    if score.verified:
        return "verified: each point is computed once, from complete values, and all tiles fit"
    return "not verified: see the notes"


def _text(mapping: LoopNest) -> str:
    from tilewright.mapper.mapping.mapping_file import dump_mapping

    return dump_mapping(mapping)
