"""A mapping with what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapping.score import Score


@dataclass(frozen=True, slots=True)
class ScoredMapping:
    """A mapping of the whole workload, or of one Einsum, with the model's score.

    `mapping`: its nodes; `score`: energy, latency, area, leakage and all counts.
    """

    mapping: Mapping
    score: Score

    def __repr__(self) -> str:
        return f"<ScoredMapping: {self.score.in_short()}>"

    def _repr_html_(self) -> str:
        """Return loop nest and costs for a notebook."""
        from tilewright.mapper.evaluation.notebook import mapping_html, score_html

        return mapping_html(self.mapping, self.score) + score_html(self.score)
