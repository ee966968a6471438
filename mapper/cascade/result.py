"""What the fusion-aware search returns."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.mapper.mapping import Mapping
from tilewright.mapper.score import Score
from tilewright.mapper.searches.result import Certificate, Statistics


@dataclass(frozen=True, slots=True)
class CascadeResult:
    """The best mapping of the workload with the model's score.

    `on_chip`: intermediates that the mapping never sends to the outermost memory, in order of
    first use. `keys`: states and rows (choices of shared loops) that were looked at.
    """

    mapping: Mapping
    score: Score
    certificate: Certificate
    statistics: Statistics
    on_chip: tuple[str, ...]
    keys: int
