"""What the searches of a workload's front give: executions of its points, and certificates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf, isclose
from typing import Final, NamedTuple

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.restrictions import Restrictions
from tilewright.mapper.workload.errors import InfeasibleMapping, Refusal
from tilewright.simulator.execution.drawn_operands import WrongResult
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, TimedPlan
from tilewright.simulator.execution.execution import Execution, execute
from tilewright.simulator.isa.machine_errors import RunStoppedError
from tilewright.simulator.search.candidates.candidate_runs import run_until
from tilewright.simulator.search.fronts.box_paths import FrontPath
from tilewright.simulator.search.fronts.front_walk import FrontWalk
from tilewright.simulator.search.fronts.grid_front import FrontCertificate
from tilewright.simulator.search.grid_certificate import frequent_reasons, restrictions_of
from tilewright.simulator.search.grid_mapping import GridMapping
from tilewright.simulator.search.path_answers import in_sequence

SAME: Final = 1e-9
"""Sums of seconds and joules differ by less, relative, from one order to another."""
NOTHING_SHOWN: Final = FrontCertificate(0, 0, 0, 0, (), is_whole=False, gap=inf)
"""The certificate of a search for which there was no time."""


class MappedRun(NamedTuple):
    """A mapping of a workload with its execution on data."""

    mapping: Mapping
    execution: Execution

    @property
    def usage(self) -> int:
        """The most bits of an element's memory that one of the programs takes."""
        return max(run.sram_bits for run in self.execution.computed)


def executed_paths(
    walk: FrontWalk, arch: Arch, settings: ExecutionSettings, end: Budget
) -> list[MappedRun]:
    """Execute the points of a walk on data; those that do not run until the end leave the walk.

    So do those whose tiles find no room beside what stays, as its free words lie apart.
    """
    runs = list[MappedRun]()
    paths, walk.paths = walk.unbeaten_paths, []
    for path in paths:
        run = run_until(end, partial(_run, walk, path, arch, settings, end))
        if run is not None:
            _check(path, run)
            runs.append(MappedRun(mapping_of(path), run))
            walk.paths.append(path)
    return runs


def mapping_of(path: FrontPath) -> Mapping:
    """Return one mapping whose branches are those of the path."""
    return in_sequence([
        part.front.candidates.space.mapping_of(part.choice) for part in path.parts
    ])  # fmt: skip


def _run(
    walk: FrontWalk, path: FrontPath, arch: Arch, settings: ExecutionSettings, end: Budget
) -> Execution | None:
    """Return the execution of a path; None if the time is over before, or a tile does not fit."""
    timed = tuple(
        TimedPlan(part.front.candidates.plan(part.choice), part.cycles) for part in path.parts
    )
    stopping = replace(settings, stop=lambda _: end.is_late, timed_plans=timed)
    try:
        return execute(arch, walk.cascade.workload, mapping_of(path), settings=stopping)
    except (RunStoppedError, InfeasibleMapping):
        return None


def _check(path: FrontPath, run: Execution) -> None:
    """Raise WrongResult if an execution costs something else than the search found."""
    for found, is_ in zip(path.costs, (run.latency, run.energy), strict=True):
        if not isclose(found, is_, rel_tol=SAME):
            raise WrongResult(
                f"a mapping of the front was found at {found}, but its run gives {is_}: "
                "please report this"
            )


def certificate_of_walk(walk: FrontWalk, einsums: int) -> FrontCertificate:
    """Return what a walk has shown of all points of a workload of so many Einsums."""
    cascade, fronts, gap = walk.cascade, walk.items.fronts, walk.gap
    reasons = sum((front.reasons for front in fronts), Counter[Refusal]())
    for candidates in {id(front.candidates): front.candidates for front in fronts}.values():
        reasons += candidates.infeasible
    unknown = sum(front.open_choices for front in fronts)
    spaces = [front.candidates.space for front in fronts]
    all_divisions = cascade.has_room_for_all and walk.has_all_divisions
    return FrontCertificate(
        executed=walk.executed,
        excluded=unknown if gap == 0 else 0,
        undecided=unknown if gap > 0 else 0,
        infeasible=sum(reasons.values()),
        reasons=frequent_reasons(reasons),
        is_whole=cascade.is_whole,
        restrictions=restrictions_of(spaces, einsums, all_divisions=all_divisions),
        gap=gap,
    )


def certificate_of_one(answer: GridMapping) -> FrontCertificate:
    """Return what a search of the best mapping has shown."""
    shown = answer.certificate
    return FrontCertificate(
        executed=shown.executed + shown.timed,
        excluded=shown.excluded,
        undecided=0,
        infeasible=shown.infeasible,
        reasons=shown.reasons,
        is_whole=shown.is_whole,
        restrictions=shown.restrictions,
        gap=answer.gap,
    )


def together(shown: Sequence[FrontCertificate], more: Restrictions) -> FrontCertificate:
    """Return what several searches have shown, with further restrictions."""
    reasons = sum((Counter(dict(each.reasons)) for each in shown), Counter[str]())
    names = dict.fromkeys(limit for each in shown for limit in each.restrictions)
    return FrontCertificate(
        executed=sum(each.executed for each in shown),
        excluded=sum(each.excluded for each in shown),
        undecided=sum(each.undecided for each in shown),
        infeasible=sum(each.infeasible for each in shown),
        reasons=tuple(reasons.most_common(5)),
        is_whole=all(each.is_whole for each in shown),
        restrictions=(*more, *names),
        gap=max(each.gap for each in shown),
    )
