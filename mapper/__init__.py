"""Work and its layouts: Einsums, mappings, the exact model, mappings on grids, and the search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arch.lazy import lazily

if TYPE_CHECKING:
    from tilewright.mapper.evaluation.verified_score import evaluate
    from tilewright.mapper.mapping.mapping import Mapping
    from tilewright.mapper.mapping.mapping_file import load_mapping
    from tilewright.mapper.mapping.score import Score
    from tilewright.mapper.searches.api import search
    from tilewright.mapper.workload.einsum import Einsum
    from tilewright.mapper.workload.workload import Workload
    from tilewright.mapper.workload.workload_loading import load_workload

__all__ = [
    "Einsum",
    "Mapping",
    "Score",
    "Workload",
    "evaluate",
    "load_mapping",
    "load_workload",
    "search",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Einsum": "tilewright.mapper.workload.einsum",
        "Mapping": "tilewright.mapper.mapping.mapping",
        "Score": "tilewright.mapper.mapping.score",
        "Workload": "tilewright.mapper.workload.workload",
        "evaluate": "tilewright.mapper.evaluation.verified_score",
        "load_mapping": "tilewright.mapper.mapping.mapping_file",
        "load_workload": "tilewright.mapper.workload.workload_loading",
        "search": "tilewright.mapper.searches.api",
    },
)
