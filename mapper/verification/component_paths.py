"""Find the path of components that each Einsum of a mapping uses, for what it holds where."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.flattening.switches import Switch, passed_by
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.verification.einsum_schedule import EinsumSchedule, ScheduledHolder
from tilewright.mapper.verification.violation import Violation
from tilewright.mapper.workload.workload import Workload


def component_paths(
    arch: Arch, workload: Workload, schedules: Sequence[EinsumSchedule], switch: Switch = passed_by
) -> tuple[FlatArch | Violation, ...]:
    """Return, per Einsum's schedule, its path of components, or a violation if one is not on it."""
    return tuple(component_path(arch, workload, schedule, switch) for schedule in schedules)


def component_path(
    arch: Arch, workload: Workload, schedule: EinsumSchedule, switch: Switch = passed_by
) -> FlatArch | Violation:
    """Return the path down to the Compute of an Einsum; a violation if a component is not on it.

    `switch`: what stands in the place of a disabled component.
    """
    einsum = workload.einsum(schedule.einsum)
    tensors = frozenset(einsum.tensors)
    holders = [holder for holder in schedule.holders if holder.tensor in tensors]
    flats = flatten(arch, workload.scope(einsum), _tensors_held(holders), switch)
    flat = next((flat for flat in flats if flat.compute.name == schedule.component), None)
    if flat is None:
        return _not_there(schedule, schedule.component, -1)
    there = {component.name for component in flat.components}
    for name, node in _components_used(schedule, holders).items():
        if name not in there:
            return _not_there(schedule, name, node)
    return flat


def _components_used(
    schedule: EinsumSchedule, holders: Sequence[ScheduledHolder]
) -> dict[str, int]:
    """Return the components of holders and spatial loops, with the number of a node of each."""
    nodes = {holder.component: holder.node for holder in holders}
    return nodes | {loop.component: loop.node for loop in schedule.loops if loop.is_spatial}


def _tensors_held(holders: Sequence[ScheduledHolder]) -> dict[str, frozenset[str]]:
    """Return the tensors that each component holds."""
    held: dict[str, frozenset[str]] = {}
    for holder in holders:
        held[holder.component] = held.get(holder.component, frozenset()) | {holder.tensor}
    return held


def _not_there(schedule: EinsumSchedule, component: str, node: int) -> Violation:
    return Violation(
        "tiles fit",
        f"Einsum {schedule.einsum} uses {component}, which is not on its path of components",
        f"a component on the way to {schedule.component}",
        node,
    )
