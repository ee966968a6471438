"""Some mapping without fusion in tenths of a second, before a fused search that may take long."""

from __future__ import annotations

import time
from dataclasses import replace

from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.searches.budget import OutOfBudget
from tilewright.mapper.searches.limits.interrupted import first_at_once, goal_of
from tilewright.mapper.searches.limits.watch import AT_LEAST
from tilewright.mapper.searches.methods.each_alone import solve_many
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import SearchResult
from tilewright.mapper.searches.solver import EinsumSolver, Spare
from tilewright.mapper.workload.errors import InfeasibleMapping, UnsupportedFeature

MANY_SHAPES = 2_000  # tile shapes of all Einsums: from there on a fused search may take seconds
SHORT_BUDGET = 3.0  # seconds, in which any fused search may end before its first mapping
FIRST_SHARE = 0.7  # of the budget: for first mappings of a search, if there are any without


def first_mapping(request: Request) -> SearchResult | None:
    """Return some mapping without fusion, found in about tenths of a second; None where not needed.

    It is needed only if the fused search may take long or find nothing in its time: many tile
    shapes or a short budget, a single objective and no front. Each Einsum gets any mapping that
    fits, then the first mapping of a search; the cost of the better one is reported as progress.
    """
    if not _may_take_long(request):
        return None
    known, began = request.known, time.monotonic()
    if known.solver is None:
        first_at_once(request)
    wanted = request.metric is not None and not request.options.front
    report = request.reporter("first mapping, unfused") if wanted else _report_nothing
    if known.result is not None:
        report(known.result.certificate.value, 0.0)
    result = _hurried(request, began)
    if result is not None and is_better(result, known.result):
        known.result = result
        report(result.certificate.value, 0.0)
    if known.result is None or not wanted:
        return None
    seconds = time.monotonic() - began
    return replace(known.result, statistics=replace(known.result.statistics, seconds=seconds))


def _may_take_long(request: Request) -> bool:
    """Tell whether the fused search may take seconds, or find nothing in its time."""
    if 0 < (request.options.budget or 0) <= SHORT_BUDGET:
        return True
    shapes = sum(Lattice(einsum.bounds).size for einsum in request.workload.einsums)
    return shapes >= MANY_SHAPES


def _report_nothing(_value: float, _lower_bound: float) -> None:
    """Do nothing, where the value of a mapping is not what is searched."""


def _hurried(request: Request, now: float) -> SearchResult | None:
    """Return the first mapping of a search of each Einsum; any mapping of those that come late."""
    known, options, spare = request.known, request.options, None
    if known.solver is not None and options.budget:
        begin = request.deadline - options.budget
        spare = Spare(known.solver, begin + FIRST_SHARE * max(options.budget, AT_LEAST))
    hurried = replace(request, options=replace(options, progress=None), deadline=now)
    check = None if known.result is None else request.budget.check_stop
    try:
        return solve_many(EinsumSolver(hurried, False, check, spare), goal_of(request))
    except (InfeasibleMapping, UnsupportedFeature, OutOfBudget):
        return None


def is_better(result: SearchResult, known: SearchResult | None) -> bool:
    """Tell whether a result has the lower value, or is the only one."""
    return known is None or result.certificate.value < known.certificate.value
