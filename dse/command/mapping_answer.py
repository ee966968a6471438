"""The answer of `tilewright map`: as text, as JSON, and as a mapping file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tilewright.arch.quantities import label, quantity, some
from tilewright.arch.text_table import text_table

if TYPE_CHECKING:
    from tilewright.arch.spec.architecture import Arch
    from tilewright.mapper.fronts.what_if import SmallerMemories
    from tilewright.mapper.mapping.mapping import Mapping as LoopNest
    from tilewright.mapper.mapping.score import Score
    from tilewright.mapper.mapping.scored_mapping import ScoredMapping
    from tilewright.mapper.searches.result import SearchResult
    from tilewright.mapper.workload.errors import InfeasibleMapping
    from tilewright.mapper.workload.workload import Workload


_MOST_ROWS = 20  # of a table on the terminal
MOST_POINTS = 20  # of a front on the terminal


@dataclass(frozen=True, slots=True)
class MappingAnswer:
    """The answer of a search for a mapping.

    `result`: the best mapping, its costs and the certificate; `objective`: what was minimized;
    `seconds`: the wall-clock time of the search, without compilation; `workload`: what is mapped;
    `point`: number of the point of the front that is shown and saved, None for the best mapping.
    `smaller`: answers for smaller memories.
    """

    result: SearchResult
    objective: str
    seconds: float
    workload: Workload
    point: int | None = None
    smaller: tuple[SmallerMemories | InfeasibleMapping, ...] = ()

    @property
    def shown(self) -> ScoredMapping:
        """The mapping that is shown and saved: the best one, or the point asked for."""
        return self.result.best if self.point is None else self.result.front[self.point]

    def at(self, point: int | None) -> MappingAnswer:
        """Return the same answer with a point of its front as the mapping that is shown.

        Raises TilewrightError if the front has no point of this number.
        """
        from tilewright.arch.errors import TilewrightError

        last = len(self.result.front) - 1 if self.result.front_proof is not None else None
        if point is not None and last is None:
            raise TilewrightError("there is no front", value=f"--point {point}",
                                  instead="--front METRICS beside it")  # fmt: skip
        if point is not None and last is not None and point > last:
            raise TilewrightError(
                "the front has no such point", value=f"--point {point}", instead=f"0 to {last}"
            )
        return replace(self, point=point)

    def mapping_file(self) -> str:
        """Return the mapping that is shown as the YAML text of a mapping file."""
        from tilewright.mapper.mapping.mapping_file import dump_mapping

        return dump_mapping(self.shown.mapping)

    def document(self) -> dict[str, Any]:
        """Return the answer as JSON data, in SI units; `mapping` is the text of a mapping file."""
        chosen = self.shown
        return {
            **replace(self.result, best=chosen).to_dict(),
            **details(self.workload, chosen.mapping, chosen.score),
            **({} if self.point is None else {"point": self.point}),
            **({"what_if": list(map(_plain, self.smaller))} if self.smaller else {}),
            "objective": self.objective,
            "seconds": round(self.seconds, 6),
        }

    def _front_table(self, limit: int) -> list[str]:
        """Return the front as a table, a line for each of at most `limit` points."""
        proof, front = self.result.front_proof, self.result.front
        if proof is None:
            return []
        numbers = front.shortened(limit)
        proven = sum(scored.score.verified for scored in front)
        align = ">" * (len(front.metrics) + 1) + "<"
        left_out = len(front) - len(numbers)
        more = [f"  … {left_out:,} more with --limit {len(front)}, or --json"] if left_out else []
        return [
            "",
            *text_table(front.table(numbers), align, "  "),
            *more,
            f"{some(len(front), 'mapping')}, {proven} verified: {proof}",
        ]

    def text(self, limit: int = MOST_POINTS) -> str:
        """Return the answer for the terminal: loop nest, costs with units, what is proven.

        `limit`: most points of a front.
        """
        score = self.shown.score
        lines = [nest_of(self.workload, self.shown.mapping, score), ""]
        lines += [*totals(score), *tables(score), ""]
        if self.result.on_chip and self.point is None:
            lines.append(f"kept on chip between Einsums: {', '.join(self.result.on_chip)}")
        lines.append(self.claim())
        lines.append(verified_text(score))
        lines += [*self._front_table(limit), *map(str, self.smaller)]
        lines += [f"note: {note}" for note in self.result.notes]
        lines.append(f"searched in {self.seconds:.3g} s")
        return "\n".join(lines)

    def claim(self) -> str:
        """Return what is proven about the mapping that is shown, in words."""
        from tilewright.mapper.searches.restrictions import with_restrictions
        from tilewright.mapper.searches.result import gap_text

        proof = self.result.certificate
        if self.point is not None:
            return f"point {self.point} of the front below"
        if proof.kind == "optimal":
            claim = f"optimal in {self.objective}"
        else:
            bound = quantity(proof.lower_bound, self.objective)
            claim = (
                f"best found; a lower bound of {self.objective} is {bound}"
                f" (gap {gap_text(proof.gap)})"
            )
        return with_restrictions(claim, proof.restrictions)


def _plain(answer: SmallerMemories | InfeasibleMapping) -> dict[str, Any]:
    """Return the answer for smaller memories as JSON data."""
    return {"infeasible": str(answer)} if isinstance(answer, Exception) else answer.to_dict()


def find_mapping(arch: Arch, workload: Workload, options: Mapping[str, Any]) -> MappingAnswer:
    """Search the best mapping of a workload on an architecture.

    `options`: keywords of `tilewright.mapper.search`, whose errors are raised.
    """
    from tilewright.mapper.searches.api import search

    result = search(arch, workload, **options)
    return MappingAnswer(result, options["objective"], result.statistics.seconds, workload)


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
    """Return a metric of a score as text with its unit.

    `not modelled` for latency and edp if no component takes time, `infinite` for infinity.
    """
    value = float(getattr(score, name))
    if name in {"latency", "edp"} and not score.is_timed:
        return "not modelled"
    return quantity(value, name) if math.isfinite(value) else "infinite"


def verified_text(score: Score) -> str:
    """Return whether the mapping of a score is proven to be right, as a line for the terminal."""
    if score.verified:
        return "verified: each point is computed once, from complete values, and all tiles fit"
    return "not verified: see the notes"
