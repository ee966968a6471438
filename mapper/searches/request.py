"""What can be asked of a search: its options, by name."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from tilewright.arch.errors import TilewrightError
from tilewright.arch.names import did_you_mean
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.methods.methods import method_called
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

if TYPE_CHECKING:  # the options of a study are checked without what a search needs
    from tilewright.arch.flattening.flat import FlatArch
    from tilewright.mapper.mapping.mapping import Mapping as LoopNest
    from tilewright.mapper.searches.exact.label_metrics import Objective
    from tilewright.mapper.searches.restrictions import Restrictions
    from tilewright.mapper.searches.result import (
        MapspaceSearch,
        Progress,
        SearchResult,
        SolvedEinsums,
    )

F = TypeVar("F", bound=Callable[..., Any])

OBJECTIVES: tuple[Objective, ...] = ("energy", "latency", "edp")
ALL = ("all",)
FRONT_SHARE = 0.5  # of the budget: for the best mapping, where a front is asked for too
EXPLAINING = 0.2  # seconds that saying why nothing fits may take in any case
_LISTS = ("front", "uneven")


class SearchOptions(TypedDict, total=False):
    """The keywords of `search`, with their types; SearchSettings explains each."""

    objective: str
    front: Sequence[str]
    einsum: str | None
    fusion: bool
    conventions: str
    uneven: Sequence[str]
    budget: float | None
    max_memory: float | None
    method: MapspaceSearch | str | None
    seed: int
    progress: Callable[[Progress], None] | None
    max_fused_loops_per_rank_variable: int


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The options of a search.

    - `objective`: energy, latency or edp (energy times latency; ties go to the least of the other
      metric), or a formula of these and of usage.MEMORY, the bits used of a memory (ties: energy,
      then latency).
    - `front`: metrics whose whole Pareto front comes back: energy, latency, edp, usage.MEMORY, or
      usage for all finite memories; none: the best mapping alone.
    - `einsum`: search this one only.
    - `fusion`: let Einsums of a workload share loops and keep the tensors they exchange on chip.
    - `conventions`: rules of the model, "default" or "accelforge".
    - `uneven`: rank variables that may have one loop whose last tile is smaller, or "all" of them.
    - `budget`: seconds; when they are used up, the best mapping so far comes back with a proven
      lower bound.
    - `max_memory`: bytes of the process; a search stops in the same way before it needs more.
    - `method`: search every Einsum alone with this method (a MapspaceSearch, or a name:
      exhaustive, random, annealing, optuna). None, or the name exact, is the default search with
      its proof, and fusion.
    - `seed`: of the random numbers of methods named by text.
    - `progress`: called with the best value and the bound so far.
    - `max_fused_loops_per_rank_variable`: most temporal loops over one rank variable that Einsums
      share.
    """

    objective: str = "energy"
    front: tuple[str, ...] = ()
    einsum: str | None = None
    fusion: bool = True
    conventions: str = "default"
    uneven: tuple[str, ...] = ()
    budget: float | None = None
    max_memory: float | None = None
    method: MapspaceSearch | None = None
    seed: int = 0
    progress: Callable[[Progress], None] | None = None
    max_fused_loops_per_rank_variable: int = 1


def listing_options(search: F) -> F:
    """Give a function with keywords of SearchOptions a full signature and docstring; return it.

    Used as a decorator: help() then lists each option with its default and explanation.
    """
    types, given = SearchOptions.__annotations__, inspect.signature(search)
    keywords = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=getattr(types[option.name], "__forward_arg__", types[option.name]),
        )
        for option in fields(SearchSettings)
    ]
    files = [p for p in given.parameters.values() if p.kind is not p.VAR_KEYWORD]
    search.__signature__ = given.replace(parameters=[*files, *keywords])  # type: ignore[attr-defined]
    listed = (SearchSettings.__doc__ or "").partition("\n\n")[2].rstrip()
    search.__doc__ = f"{search.__doc__}\n    The options:\n\n{listed}\n    "
    return search


_MOST_CACHED = 256
_flat_archs: dict[tuple[int, int, str, str], tuple[Arch, Workload, tuple[FlatArch, ...]]] = {}
"""Flattened architectures of the last Einsums: a search asks for each some twenty times."""


@dataclass(slots=True)
class BestKnown:
    """The best mapping that a search has, should it be interrupted.

    `result`: None if there is none; `is_bounded`: its certificate has all that is proven so far,
    else it says little. `lower_bound`: of the objective, for mappings that meet `restrictions`.
    `solver`: knows any mapping of each Einsum. `is_searched`: the search proper found `result`.
    """

    result: SearchResult | None = None
    is_bounded: bool = False
    lower_bound: float = 0.0
    restrictions: Restrictions = ()
    solver: SolvedEinsums | None = None
    is_searched: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """A search to do.

    `arch`, `workload`: the hardware and the computation. `options`: how to search. `deadline`: end
    of the budget, in seconds on the monotonic clock. `known`: what the search has so far.
    """

    arch: Arch
    workload: Workload
    options: SearchSettings
    deadline: float = inf
    known: BestKnown = field(default_factory=BestKnown, compare=False, repr=False, kw_only=True)

    @property
    def metric(self) -> Objective | None:
        """The objective if it is energy, latency or edp; None for a formula of these."""
        return next((name for name in OBJECTIVES if name == self.options.objective), None)

    def uneven_variables(self, einsum: Einsum) -> frozenset[str]:
        """Return the rank variables of an Einsum that may have a loop with a smaller last tile.

        Empty for a copy Einsum. The option "all" means all variables; under accelforge only those
        that stand in no sum of an index (theory/imperfect.md §6).
        """
        from tilewright.mapper.model.conventions import conventions_called
        from tilewright.mapper.model.paths.view import simple_variables

        requested, variables = self.options.uneven, frozenset(einsum.bounds)
        if einsum.is_copy:
            return frozenset()
        if requested == ALL and not conventions_called(self.options.conventions).exact_remainders:
            return simple_variables(einsum)
        return variables if requested == ALL else variables & frozenset(requested)

    def flat_archs(self, einsum: Einsum) -> tuple[FlatArch, ...]:
        """Return the path of components from the root to each Compute that can do an Einsum."""
        from tilewright.arch.flattening.flattening import flatten
        from tilewright.mapper.model.conventions import conventions_called

        key = (id(self.arch), id(self.workload), einsum.name, self.options.conventions)
        cached = _flat_archs.get(key)
        if cached is not None and cached[0] is self.arch and cached[1] is self.workload:
            return cached[2]
        switch = conventions_called(self.options.conventions).switch
        flats = flatten(self.arch, self.workload.scope(einsum), switch=switch)
        _flat_archs[key] = (self.arch, self.workload, flats)
        if len(_flat_archs) > _MOST_CACHED:
            _flat_archs.pop(next(iter(_flat_archs)), None)
        return flats

    def whole_mapping(self, mapping: LoopNest) -> LoopNest:
        """Return the mapping of the whole workload for one that a search of this request found.

        Here it is the same. Requests that stand for another one, with changed memory sizes or for
        one partition of the outermost memory, override this.
        """
        return mapping

    @property
    def may_be_interrupted(self) -> bool:
        """Whether a limit, or somebody who watches, may end the search within a step."""
        return self.budget.is_limited or self.options.progress is not None

    @property
    def scoring_request(self) -> Request:
        """The request whose workload and architecture the model scores whole mappings with.

        Here this request itself. Requests that stand for another one, with changed memory sizes or
        for one partition of the outermost memory, override this.
        """
        return self

    def reporter(self, doing: str) -> Callable[[float, float], None]:
        """Return a function (best value, lower bound) that reports progress of some part.

        `doing`: what that part of the search does, in words. Without the option `progress` the
        function does nothing.
        """
        from tilewright.mapper.searches.result import Progress

        progress = self.options.progress

        def report(value: float, lower_bound: float) -> None:
            if progress is not None:
                progress(Progress(doing, value, lower_bound))

        return report

    def with_budget_share(self, share: float) -> Request:
        """Return the same request with only a part of the seconds that are left.

        `share`: from 0 to 1. Without a deadline the request comes back unchanged.
        """
        seconds_left = self.seconds_left
        if seconds_left is None:
            return self
        return replace(self, deadline=time.monotonic() + share * seconds_left)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline of the request, not below 0; None if there is none."""
        return self.budget.seconds_left

    @property
    def explanation_budget(self) -> Budget:
        """The budget for explaining why nothing fits: what is left, at least 0.2 seconds."""
        return Budget(max(self.deadline, time.monotonic() + EXPLAINING))

    @property
    def budget(self) -> Budget:
        """The limits of the search: its deadline and the bytes that the process may use."""
        memory = self.options.max_memory
        most_memory = inf if memory is None else memory
        return Budget(self.deadline, memory=most_memory, stops_on_request=True)


def request_of(
    arch: Arch | Path | str, workload: Workload | Path | str, named_options: Mapping[str, object]
) -> Request:
    """Load an architecture and a workload, check the options, and return the request.

    The budget runs from the call. Raises SpecError for what a file gets wrong, TilewrightError for
    an option, value or uneven rank variable that does not exist.
    """
    from tilewright.mapper.model.conventions import conventions_called
    from tilewright.mapper.model.offsets import counted

    began = time.monotonic()
    options = checked_settings(named_options)
    work = workload if isinstance(workload, Workload) else load_workload(workload)
    conventions = conventions_called(options.conventions)
    if conventions.checks_indices:
        work.check_indices()
    work = counted(work, conventions.einsum)
    _check_uneven(options, work)
    return Request(
        arch if isinstance(arch, Arch) else load_arch(arch),
        work,
        options,
        inf if options.budget is None else began + options.budget,
    )


def check_options(workload: Workload, named_options: Mapping[str, object]) -> None:
    """Check the options of a search of a workload as `request_of` does, without its imports.

    Raises TilewrightError for an option, value or uneven rank variable that does not exist, or an
    index that leaves its rank where the conventions forbid it.
    """
    options, checks_indices = checked_settings(named_options), True
    if options.conventions != SearchSettings().conventions:
        from tilewright.mapper.model.conventions import conventions_called

        checks_indices = conventions_called(options.conventions).checks_indices
    if checks_indices:
        workload.check_indices()
    _check_uneven(options, workload)


def _check_front_method(options: SearchSettings) -> None:
    if options.front and str(options.method or "exact") != "exact":
        raise TilewrightError(
            "a front is searched by the method exact only",
            value=options.method,
            instead="no method",
        )


def checked_settings(named_options: Mapping[str, object]) -> SearchSettings:
    """Return the options of a search after a check of their names and values.

    A method given by name becomes a search method. Raises TilewrightError for an unknown option or
    method, with close names, and for a number out of range.
    """
    names = [field.name for field in fields(SearchSettings)]
    for name in named_options:
        if name not in names:
            raise TilewrightError(
                f"search has no option {name!r}",
                value=named_options[name],
                instead=did_you_mean(name, names) or "one of: " + ", ".join(names),
            )
    chosen = {name: _names(v) if name in _LISTS else v for name, v in named_options.items()}
    options = SearchSettings(**chosen)  # type: ignore[arg-type]
    _check_limits(options)
    _check_front_method(options)
    if not isinstance(options.method, str):
        return options
    memory = inf if options.max_memory is None else options.max_memory
    return replace(options, method=method_called(options.method, options.seed, memory))


def _check_limits(options: SearchSettings) -> None:
    """Check the numbers of the options; TilewrightError names the first that is out of range."""
    budget, memory = options.budget, options.max_memory
    loops, one_loop = options.max_fused_loops_per_rank_variable, "one loop per rank variable"
    limits = (
        (budget is None or budget >= 0, "the budget is a number of seconds", budget, "budget=10"),
        (memory is None or memory > 0, "the most memory is a number of bytes", memory,
         "max_memory=2e9"),
        (loops >= 1, f"Einsums may share at least {one_loop}", loops,
         "max_fused_loops_per_rank_variable=1, or fusion=False"),
    )  # fmt: skip
    for is_legal, what, value, instead in limits:
        if not is_legal:
            raise TilewrightError(what, value=value, instead=instead)


def _names(value: object) -> tuple[str, ...]:
    """Return several names as a tuple; a text may name several, with commas between them."""
    if isinstance(value, str):
        return tuple(name for part in value.split(",") if (name := part.strip()))
    if not isinstance(value, Iterable):
        raise TilewrightError(
            "this option is a list of names", value=value, instead="m,k or a list; '' for none"
        )
    return tuple(value)


def _check_uneven(options: SearchSettings, workload: Workload) -> None:
    variables = sorted({v for einsum in workload.einsums for v in einsum.bounds})
    for name in options.uneven if options.uneven != ALL else ():
        if name not in variables:
            raise TilewrightError(
                "no Einsum has such a rank variable to be uneven",
                value=name,
                instead=f'"all", or some of: {", ".join(variables)}',
            )
