"""Designs of a study that differ in sizes of memories alone: their best mappings from one search.

Whether a study does so is decided by its file, and what is answered does not depend on the designs
evaluated before: the bytes of a run are the same for any number of workers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from tilewright.arch.errors import TilewrightError
from tilewright.dse.study.design_space import Dimension, Point, canonical_json

if TYPE_CHECKING:
    from tilewright.arch.spec.architecture import Arch
    from tilewright.dse.study.study import StudyInput, StudySpec
    from tilewright.mapper.fronts.size_fronts import SizeFronts
    from tilewright.mapper.searches.result import SearchResult
    from tilewright.mapper.workload.workload import Workload

WORTHWHILE = 8  # designs per search of the largest sizes, which takes as long as some searches
MOST_KEPT = 1000  # such searches, some 100 kB each


@dataclass(frozen=True, slots=True)
class SizeKnob:
    """A knob that is the size of a memory: its path, and its values in bits, rising."""

    path: str
    sizes: tuple[float, ...]

    @property
    def memory(self) -> str:
        """The name of the memory."""
        return self.path.split(".")[1]


def size_knobs(spec: StudySpec) -> tuple[SizeKnob, ...]:
    """Return the knobs of a study that are sizes of memories, if it is worth to treat them so.

    It is if the study tries at least 8 designs for each choice of the other knobs. Empty where
    designs have limits of time or memory: they would depend on the designs before.
    """
    sized = [d for d in spec.space.dimensions if _is_size(d)]
    choices = prod(len(d.values) for d in sized)
    others = spec.space.size // choices
    if (
        not sized
        or spec.limits.is_limited
        or min(spec.trials, spec.space.size) < WORTHWHILE * others
    ):
        return ()
    return tuple(SizeKnob(d.path, tuple(sorted(map(float, d.values)))) for d in sized)


def _is_size(dimension: Dimension) -> bool:
    kind, *middle, last = dimension.path.split(".")
    numbers = all(type(value) in (int, float) for value in dimension.values)
    return kind == "arch" and len(middle) == 1 and last == "size" and numbers


KNOWN_FRONTS: OrderedDict[str, SizeFronts | None] = OrderedDict()
"""The answers for all sizes that this process has searched last."""


@dataclass(frozen=True, slots=True)
class SizedDesign:
    """A design as one of many that differ in sizes of memories.

    `point`: value of each knob; `knobs`: those that are sizes; `options`: of the search; `files`:
    all else that tells it from designs of other studies.
    """

    point: Point
    knobs: tuple[SizeKnob, ...]
    options: Mapping[str, Any]
    files: tuple[StudyInput, ...]

    def best(self, work: Workload, architecture: Callable[[Point], Arch]) -> SearchResult | None:
        """Return the best mapping from the search of the largest sizes; None if it has none.

        `architecture`: returns that of a point.
        """
        fronts = self._fronts(work, architecture)
        sizes = {knob.memory: float(self.point[knob.path]) for knob in self.knobs}
        return None if fronts is None else fronts.answer(sizes)

    def _fronts(self, work: Workload, architecture: Callable[[Point], Arch]) -> SizeFronts | None:
        top = {**self.point, **{knob.path: knob.sizes[-1] for knob in self.knobs}}
        key = canonical_json([top, dict(self.options), *map(_identity, self.files)])
        if key not in KNOWN_FRONTS:
            KNOWN_FRONTS[key] = self._searched(architecture, top, work)
            if len(KNOWN_FRONTS) > MOST_KEPT:
                KNOWN_FRONTS.popitem(last=False)
        return KNOWN_FRONTS[key]

    def _searched(
        self, architecture: Callable[[Point], Arch], top: Point, work: Workload
    ) -> SizeFronts | None:
        from tilewright.mapper.fronts.size_fronts import size_fronts
        from tilewright.mapper.searches.request import request_of

        sizes = {knob.memory: knob.sizes for knob in self.knobs}
        try:
            return size_fronts(request_of(architecture(top), work, self.options), sizes)
        except TilewrightError:  # a search of the design itself says what is wrong
            return None


def _identity(source: StudyInput) -> list[object]:
    return [source.file, dict(source.variables), dict(source.values)]
