"""The path of components that an Einsum of a mapping uses, evaluated for what it holds where."""

from __future__ import annotations

from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.flattening.switches import Switch, passed_by
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.verification.einsum_schedule import EinsumSchedule
from tilewright.mapper.verification.violation import Violation
from tilewright.mapper.workload.workload import Workload


def component_path(
    arch: Arch, workload: Workload, schedule: EinsumSchedule, switch: Switch = passed_by
) -> FlatArch | Violation:
    """Return the path down to the Compute of an Einsum; a violation if a component is not on it.

    `switch`: what stands in the place of a disabled component.
    """
    einsum = workload.einsum(schedule.einsum)
    holders = [holder for holder in schedule.holders if holder.tensor in einsum.tensors]
    kept: dict[str, frozenset[str]] = {}
    for holder in holders:
        kept[holder.component] = kept.get(holder.component, frozenset()) | {holder.tensor}
    flats = flatten(arch, workload.scope(einsum), kept, switch)
    flat = next((flat for flat in flats if flat.compute.name == schedule.component), None)
    if flat is None:
        return _not_there(schedule, schedule.component, -1)
    there = {component.name for component in flat.components}
    nodes = {holder.component: holder.node for holder in holders}
    nodes |= {loop.component: loop.node for loop in schedule.loops if loop.is_spatial}
    missing = next((name for name in nodes if name not in there), None)
    return flat if missing is None else _not_there(schedule, missing, nodes[missing])


def _not_there(schedule: EinsumSchedule, component: str, node: int) -> Violation:
    return Violation(
        "tiles fit",
        f"Einsum {schedule.einsum} uses {component}, which is not on its path of components",
        f"a component on the way to {schedule.component}",
        node,
    )
