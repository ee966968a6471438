"""Answer several designs of a study from one search, if only sizes, fanouts and energies differ.

Whether a study has such designs is decided by its files, and what is answered does not depend on
the designs evaluated before: the bytes of a run are the same for any number of workers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, prod
from typing import TYPE_CHECKING, Any

from tilewright.arch.errors import TilewrightError
from tilewright.dse.models.inputs import architecture, knobs, workload
from tilewright.dse.study.design_space import Dimension, Point, canonical_json
from tilewright.mapper.searches.shared.hit_counts import SEARCHES

if TYPE_CHECKING:
    from tilewright.arch.spec.architecture import Arch
    from tilewright.dse.study.study import StudyInput, StudySpec
    from tilewright.mapper.fronts.designs.design_fronts import DesignFronts
    from tilewright.mapper.fronts.designs.design_range import DesignRange
    from tilewright.mapper.fronts.designs.shared_work import SharedWork
    from tilewright.mapper.searches.request import Request
    from tilewright.mapper.searches.result import SearchResult

WORTHWHILE = 8  # designs per search for all of them, which takes as long as some searches of one
MOST_KEPT = 1000  # such searches, some 100 kB each
MOST_VALUES = 64  # of a knob: each is looked at


@dataclass(frozen=True, slots=True)
class FamilyKnob:
    """A knob in which designs that are answered from one search may differ.

    `path`: its name, such as `arch.Buffer.size`; `values`: all that the study gives it.
    """

    path: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class KnobFamily:
    """The knobs in which designs that are answered from one search may differ.

    `designs`: how many designs the study tries for each search.
    """

    knobs: tuple[FamilyKnob, ...] = ()
    designs: int = 0

    def __bool__(self) -> bool:
        return bool(self.knobs)


NO_FAMILY = KnobFamily()


@dataclass(frozen=True, slots=True)
class DesignFiles:
    """What all designs of a study have in common.

    `arch`, `workload`: input files with values for their variables; `options`: of the search.
    """

    arch: StudyInput
    workload: StudyInput
    options: Mapping[str, Any]

    def range(self, point: Point, family: Sequence[FamilyKnob]) -> DesignRange:
        """Return the designs that differ from `point` in some knobs only: one search answers all.

        family: these knobs, with all their values. The search is done with the greatest value of
        each. Raises TilewrightError for a design that the files do not allow.
        """
        from tilewright.mapper.fronts.designs.design_range import DesignRange

        base = {**point, **{knob.path: max(knob.values) for knob in family}}
        request = self.request(base)
        turned = (
            tuple(architecture(self.arch, {**base, knob.path: value}) for value in knob.values)
            for knob in family
        )
        return DesignRange(request, tuple(turned))

    def work(self, point: Point, family: KnobFamily) -> SharedWork:
        """Return how much work a search for all designs of a family may do.

        The typical one has the value in the middle of each knob, and the others of `point`.
        """
        from tilewright.mapper.fronts.designs.shared_work import SharedWork

        middle = {k.path: sorted(k.values)[len(k.values) // 2] for k in family.knobs}
        return SharedWork(family.designs, self.request({**point, **middle}))

    def request(self, point: Point) -> Request:
        """Return what is asked for one design; TilewrightError for one that is not allowed."""
        from tilewright.mapper.searches.request import request_of

        return request_of(
            architecture(self.arch, point),
            workload(self.workload, point),
            {**self.options, **knobs(point, "mapper.")},
        )


def knob_family(spec: StudySpec, files: DesignFiles) -> KnobFamily:
    """Return the knobs in which designs are answered from one search; empty if it does not pay.

    It may pay if the study tries at least 8 designs for each search. Empty, too, where designs have
    limits of time or memory: an answer would depend on the designs before.
    """
    dimensions = [d for d in spec.space.dimensions if _is_number_of_arch(d)]
    designs = min(spec.trials, spec.space.size)
    if spec.limits.is_limited or designs < WORTHWHILE * _combinations_apart(spec, dimensions):
        return NO_FAMILY
    point = spec.space.point(spec.space.nth(0))
    try:
        chosen = _answerable(files, point, dimensions)
    except TilewrightError:  # a search of a design says what is wrong
        return NO_FAMILY
    searches = spec.space.size // prod(len(k.values) for k, alone in chosen if not alone)
    if designs < WORTHWHILE * searches:
        return NO_FAMILY
    return KnobFamily(tuple(knob for knob, _ in chosen), designs // searches)


def _combinations_apart(spec: StudySpec, dimensions: Sequence[Dimension]) -> float:
    """Return how many combinations of values the other knobs have; inf if `dimensions` is empty."""
    others = (len(d.values) for d in spec.space.dimensions if d not in dimensions)
    return prod(others) if dimensions else inf


def _is_number_of_arch(dimension: Dimension) -> bool:
    if not dimension.path.startswith("arch.") or len(dimension.values) > MOST_VALUES:
        return False
    return all(type(value) in (int, float) for value in dimension.values)


def _answerable(
    files: DesignFiles, point: Point, dimensions: Sequence[Dimension]
) -> list[tuple[FamilyKnob, bool]]:
    """Return the knobs for whose values one search can answer together.

    Each has a mark: whether each of its values still needs a search.
    """
    from tilewright.mapper.fronts.designs.design_range import is_answerable

    chosen: list[tuple[FamilyKnob, bool]] = []
    known_fanouts = 0
    for dimension in dimensions:
        knob = FamilyKnob(
            dimension.path, tuple(v for v in dimension.values if not isinstance(v, str))
        )
        family = files.range(point, [*(k for k, _ in chosen), knob])
        ranges = family.ranges() if is_answerable(family.request) else None
        if ranges is not None:
            chosen.append((knob, len(ranges.fanouts) > known_fanouts))
            known_fanouts = len(ranges.fanouts)
    return chosen


KNOWN_FRONTS: OrderedDict[str, DesignFronts | None] = OrderedDict()
"""The answers for many designs that this process has searched last."""


@dataclass(frozen=True, slots=True)
class FamilyDesign:
    """A design that is answered together with others that differ from it in some knobs.

    `point`: value of each knob by path; `family`: the knobs that may differ; `files`: the study's
    files and options, which tell it from designs of other studies.
    """

    point: Point
    family: KnobFamily
    files: DesignFiles

    def best(self, arch: Arch) -> SearchResult | None:
        """Return the best mapping of this design from the one search for all, None if it has none.

        `arch`: the architecture of this design.
        """
        fronts = self._fronts()
        return None if fronts is None else fronts.answer(arch)

    def _fronts(self) -> DesignFronts | None:
        names = {knob.path for knob in self.family.knobs}
        rest = {path: value for path, value in self.point.items() if path not in names}
        files = self.files
        sources = map(_identity, (files.arch, files.workload))
        key = canonical_json([rest, dict(files.options), *sources])
        is_made = key in KNOWN_FRONTS
        if not is_made:
            KNOWN_FRONTS[key] = self._made()
            if len(KNOWN_FRONTS) > MOST_KEPT:
                KNOWN_FRONTS.popitem(last=False)
        fronts = KNOWN_FRONTS[key]
        if fronts is not None:  # else each design is searched
            SEARCHES.asked += 1
            SEARCHES.shared += is_made
        return fronts

    def _made(self) -> DesignFronts | None:
        from tilewright.mapper.fronts.designs.design_fronts import design_fronts

        try:
            designs = self.files.range(self.point, self.family.knobs)
            work = self.files.work(self.point, self.family)
            return design_fronts(replace(designs, work=work))
        except TilewrightError:  # a search of the design itself says what is wrong
            return None


def _identity(source: StudyInput) -> list[object]:
    return [source.file, dict(source.variables), dict(source.values)]
