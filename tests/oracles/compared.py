"""The fused search beside the listing of every fused mapping."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import pytest
from fused_mappings import least_fused
from fused_owns import Subject
from memo import stored

from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.searches.result import SearchResult
from tilewright.mapper.workload.errors import InfeasibleMapping

OBJECTIVES = ("energy", "latency", "edp")


@dataclass(frozen=True)
class Compared:
    """Both found the same. `result`: of the search; None where nothing fits."""

    result: SearchResult | None


def compare(subject: Subject, objective: str, limit: int = 200_000) -> Compared | None:
    """Compare the two optima; None if there are more mappings than `limit`."""
    least = stored(least_fused, subject, objective, limit)
    if least is None:
        return None
    options = {"objective": objective, "conventions": subject.conventions}
    if least == inf:
        with pytest.raises(InfeasibleMapping):
            fused_search(subject.arch, subject.workload, **options)
        return Compared(None)
    result = fused_search(subject.arch, subject.workload, **options)
    assert result.certificate.kind == "optimal"
    value = result.certificate.value
    if "whose width changes" in result.certificate.scope:
        assert value >= least * (1 - 1e-9)
    else:
        assert value == pytest.approx(least, rel=1e-9)
    return Compared(result)


def found_alike(subject: Subject, objective: str, limit: int = 200_000) -> bool:
    """Compare them; tell whether there is a mapping, of not too many."""
    compared = compare(subject, objective, limit)
    return compared is not None and compared.result is not None
