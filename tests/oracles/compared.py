"""The fused search beside the listing of every fused mapping."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import inf

import pytest
from fused_lists import LOW, on_chip_candidates
from fused_mappings import least_fused
from fused_owns import Subject
from memo import stored

from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.searches.result import SearchResult
from tilewright.mapper.workload.errors import InfeasibleMapping

OBJECTIVES = ("energy", "latency", "edp")


@dataclass(frozen=True)
class Compared:
    """Both found the same. `result`: of the search; None where nothing fits. `restricted`: the
    search says that it exchanges some tensors not in the innermost memory; nor does the listing."""

    result: SearchResult | None
    restricted: bool = False


def compare(subject: Subject, objective: str, limit: int = 200_000) -> Compared | None:
    """Compare the two optima; None if there are more mappings than `limit`."""
    result = found(subject, objective)
    within = exchanged_within(subject, result.certificate.scope) if result else subject
    least = stored(least_fused, within, objective, limit)
    if least is None:
        return None
    if result is None or least == inf:
        assert result is None
        assert least == inf
        return Compared(None)
    assert result.certificate.kind == "optimal"
    value = result.certificate.value
    if "whose width changes" in result.certificate.scope:
        assert value >= least * (1 - 1e-9)
    else:
        assert value == pytest.approx(least, rel=1e-9)
    return Compared(result, restricted=within != subject)


def found(subject: Subject, objective: str) -> SearchResult | None:
    """Return what the search finds; None where nothing fits."""
    try:
        return fused_search(
            subject.arch, subject.workload, objective=objective, conventions=subject.conventions
        )
    except InfeasibleMapping:
        return None


def exchanged_within(subject: Subject, scope: str) -> Subject:
    """Leave out the exchanges in the innermost memory that the restrictions of a search leave out:
    `fusion through BUF`, or `Y not exchanged in REG` (lanes above it have too many uses)."""
    if not subject.deep:
        return subject
    through = re.search("fusion through ([^;]*)", scope)
    if through and LOW in through[1].split(", "):
        return replace(
            subject, not_low=frozenset(re.findall(rf"(\w+) not exchanged in {LOW}", scope))
        )
    return replace(subject, not_low=frozenset(on_chip_candidates(subject.workload)))


def found_alike(subject: Subject, objective: str, limit: int = 200_000) -> bool:
    """Compare them; tell whether there is a mapping, of not too many."""
    compared = compare(subject, objective, limit)
    return compared is not None and compared.result is not None
