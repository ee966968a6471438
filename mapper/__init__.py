"""Work and its layouts: Einsums, mappings, the exact model, grid candidates, and the search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arch.lazy import lazily

if TYPE_CHECKING:
    from tilewright.mapper.candidate import Candidate, grid_candidate
    from tilewright.mapper.einsum import Einsum
    from tilewright.mapper.evaluation import evaluate
    from tilewright.mapper.mapping import Mapping
    from tilewright.mapper.mapping_file import load_mapping
    from tilewright.mapper.score import Score
    from tilewright.mapper.searches.api import search
    from tilewright.mapper.workload import Workload, load_workload

__all__ = [
    "Candidate",
    "Einsum",
    "Mapping",
    "Score",
    "Workload",
    "evaluate",
    "grid_candidate",
    "load_mapping",
    "load_workload",
    "search",
]

__getattr__ = lazily(
    __name__,
    {
        "Candidate": "tilewright.mapper.candidate",
        "Einsum": "tilewright.mapper.einsum",
        "Mapping": "tilewright.mapper.mapping",
        "Score": "tilewright.mapper.score",
        "Workload": "tilewright.mapper.workload",
        "evaluate": "tilewright.mapper.evaluation",
        "grid_candidate": "tilewright.mapper.candidate",
        "load_mapping": "tilewright.mapper.mapping_file",
        "load_workload": "tilewright.mapper.workload",
        "search": "tilewright.mapper.searches.api",
    },
)
