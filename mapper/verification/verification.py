"""Prove that a mapping computes its workload and fits: no violations are left then."""

from __future__ import annotations

from dataclasses import replace

from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.switches import Switch, passed_by
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.verification.capacity_proof import (
    FullMoment,
    capacity_violations,
    fitting_moments,
)
from tilewright.mapper.verification.completeness import completeness_violations
from tilewright.mapper.verification.component_paths import component_paths
from tilewright.mapper.verification.coverage import coverage_violations
from tilewright.mapper.verification.einsum_schedule import (
    EinsumSchedule,
    schedules_of,
    with_lanes_below,
)
from tilewright.mapper.verification.violation import Violation
from tilewright.mapper.workload.workload import Workload


def violations(workload: Workload, mapping: Mapping) -> tuple[Violation, ...]:
    """Return why a mapping does not compute its workload; empty if it is proven that it does.

    Each point of every iteration space is computed exactly once (coverage.py), and each read of an
    intermediate tensor finds a value that is complete and held (completeness.py). Nothing is run:
    the time depends on the number of tiles along a dimension, not on the product of dimensions.
    Without an architecture each loop stands where it is written.
    """
    return _computing_violations(_own_schedules(mapping, workload), workload)


def all_violations(
    arch: Arch, workload: Workload, mapping: Mapping, switch: Switch = passed_by
) -> tuple[Violation, ...]:
    """Return why a mapping is no answer on an architecture; empty if it is verified.

    Beside `violations`: at no moment do tiles need more of a memory than there is, and all lanes
    exist (capacity_proof.py), as the default conventions count. Spatial loops stand at the fanout
    of their component. `switch`: what stands in the place of a disabled component.
    """
    schedules = _own_schedules(mapping, workload)
    paths = component_paths(arch, workload, schedules, switch)
    in_place = tuple(map(_with_lanes_in_place, schedules, paths))
    computing = _computing_violations(in_place, workload)
    return (*computing, *capacity_violations(paths, schedules, workload))


def verified_moments(
    arch: Arch, workload: Workload, mapping: Mapping
) -> dict[str, FullMoment] | None:
    """Return the fullest moment of each memory of a verified mapping.

    None for a mapping of which `all_violations` has something to say.
    """
    schedules = _own_schedules(mapping, workload)
    paths = component_paths(arch, workload, schedules)
    in_place = tuple(map(_with_lanes_in_place, schedules, paths))
    if _computing_violations(in_place, workload):
        return None
    return fitting_moments(paths, schedules, workload)


def _own_schedules(mapping: Mapping, workload: Workload) -> tuple[EinsumSchedule, ...]:
    """Return the schedule of every Compute with the holders of its own tensors only."""
    own = {einsum.name: frozenset(einsum.tensors) for einsum in workload.einsums}
    return tuple(
        replace(schedule, holders=tuple(h for h in schedule.holders if h.tensor in tensors))
        for schedule in schedules_of(mapping)
        for tensors in (own.get(schedule.einsum, frozenset()),)  # of a long cascade, many holders
    )


def _computing_violations(
    schedules: tuple[EinsumSchedule, ...], workload: Workload
) -> tuple[Violation, ...]:
    broken = tuple(coverage_violations(schedules, workload))
    return broken or tuple(completeness_violations(schedules, workload))


def _with_lanes_in_place(schedule: EinsumSchedule, path: FlatArch | Violation) -> EinsumSchedule:
    if isinstance(path, Violation):
        return schedule
    levels = {component.name: level for level, component in enumerate(path.components)}
    return with_lanes_below(schedule, levels)
