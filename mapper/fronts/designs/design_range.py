"""A family of designs around one request, and whether Pareto sets can answer for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.fronts.designs.design_facts import facts_of, has_free_form
from tilewright.mapper.fronts.designs.fact_ranges import FactRanges, ranges_of
from tilewright.mapper.fronts.designs.family_paths import FamilyPaths, flat_paths
from tilewright.mapper.fronts.designs.shared_work import SharedWork
from tilewright.mapper.searches.budget import WorkLeft
from tilewright.mapper.searches.objective.measures import COST_METRICS
from tilewright.mapper.searches.request import Request, SearchSettings
from tilewright.mapper.searches.unfused import shared_tensors


@dataclass(frozen=True)
class DesignRange:
    """A family of designs around one request, and the architectures with one knob changed.

    A knob is a parameter of the study. `request`: what is asked of each design, with the
    architecture of the largest. `knobs`: per knob, the architectures with each of its values, other
    knobs as in the request. `work`: what a search for all of them may do at most.
    """

    request: Request
    knobs: tuple[tuple[Arch, ...], ...]
    work: SharedWork | None = None

    def limits_of_work(self) -> Iterable[WorkLeft | None]:
        """Return how much work a search may do, in the order to try; None: as much as it takes."""
        return (None,) if self.work is None else self.work.limits()

    @cached_property
    def paths(self) -> FamilyPaths:
        """The paths of components of the designs."""
        return FamilyPaths(self.request)

    def ranges(self) -> FactRanges | None:
        """Return the numbers in which the designs differ; None if they differ in anything else."""
        family = self.paths
        base = flat_paths(family.base)
        known = facts_of(base)
        if known is None or not has_free_form(base, tuple(self.request.arch.variables)):
            return None
        turned = [[family.design(arch).facts for arch in knob] for knob in self.knobs]
        facts = [list(filter(None, knob)) for knob in turned]
        if list(map(len, facts)) != list(map(len, turned)):
            return None
        ranges = ranges_of(known, facts)
        if ranges is None or not ranges.has_largest_base or _lanes_depend(base, ranges):
            return None
        return ranges


def _lanes_depend(paths: Sequence[FlatArch], ranges: FactRanges) -> bool:
    """Tell whether fanouts differ between designs and do more than limit the number of lanes.

    So with min_usage, with usage_scale, or with a fanout of 1 in some design.
    """
    if not ranges.fanouts:
        return False
    dims = [dim for flat in paths for c in flat.components for dim in c.spatial]
    single = any(fanouts[0] < 2 for fanouts in ranges.fanouts.values())
    return single or any(dim.min_usage > 0 or dim.usage_scale != 1 for dim in dims)


def is_answerable(request: Request) -> bool:
    """Tell whether Pareto sets of single Einsums can hold the answer to a request.

    The request asks for one best mapping; Einsums share no tensor, none is a copy or persistent.
    """
    if not _asks_for_one_best(request.options) or shared_tensors(request.workload):
        return False
    accesses = [
        (einsum, access) for einsum in request.workload.einsums for access in einsum.accesses
    ]
    return not any(einsum.is_copy or access.persistent for einsum, access in accesses)


def _asks_for_one_best(options: SearchSettings) -> bool:
    """Tell whether options ask for the least of one metric of the whole workload, without limits.

    False with other conventions than the default, a method, a budget, a memory limit, uneven tiles
    or a front.
    """
    plain = options.objective in COST_METRICS and options.conventions == "default"
    unlimited = options.budget is None and options.max_memory is None
    whole = options.einsum is None and options.method is None
    return plain and unlimited and whole and not (options.uneven or options.front)
