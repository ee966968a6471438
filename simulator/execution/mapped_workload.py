"""A mapping of a workload read as programs of a grid that run in turn, with what stays there."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.grid.grid import Grid, grid_of
from tilewright.mapper.grid.pipelines.einsum_groups import EinsumGroup, einsum_groups
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.exchange import (
    Exchange,
    M,
    MoveTensor,
    bank_offsets,
    staying_tensors,
)
from tilewright.simulator.execution.persistent_places import persistent_places


@dataclass(frozen=True, slots=True)
class MappedWorkload(Generic[M]):
    """The programs of a mapping of a workload, in the order in which they run.

    `groups`: the Einsums of each program; `reads`: by Einsum, its mapping on the grid; `exchange`:
    keeps the tensors that stay in the elements between programs.
    """

    groups: tuple[EinsumGroup, ...]
    reads: Dict[str, SpaceTime]
    exchange: Exchange[M]


def mapped_workload(
    arch: Arch,
    workload: Workload,
    mapping: Mapping,
    settings: ExecutionSettings,
    move: MoveTensor[M],
) -> MappedWorkload[M]:
    """Read a mapping of a workload as the programs of the grid of an architecture.

    `move`: runs the exchanges between elements. Raises InfeasibleMapping, with the reason, if the
    mapping is not on the grid, or persistent tensors do not fit.
    """
    grid = _grid(arch, workload)
    groups = einsum_groups(mapping, workload, grid)
    by_einsum = {name: nest for group in groups for name, nest in group.mappings.items()}
    staying = staying_tensors(by_einsum, workload, grid.host.name)
    reads = _reads(arch, workload, groups, staying)
    programs = [[reads[name] for name in group.mappings] for group in groups]
    persistent = persistent_places(programs, settings, bank_offsets(workload))
    exchange = Exchange(workload, staying, settings, persistent, move)
    return MappedWorkload(groups, reads, exchange)


def _reads(
    arch: Arch, workload: Workload, groups: Sequence[EinsumGroup], staying: frozenset[str]
) -> dict[str, SpaceTime]:
    """Return the mapping of each Einsum on the grid, in the order in which they run."""
    return {
        name: space_time(
            grid_path(arch, workload, workload.einsum(name)),
            workload.einsum(name),
            mapping,
            staying,
            group.passed,
        )
        for group in groups
        for name, mapping in group.mappings.items()
    }


def _grid(arch: Arch, workload: Workload) -> Grid:
    """Return the grid that the first Einsum of a workload runs on."""
    return grid_of(grid_path(arch, workload, workload.einsums[0]))


def grid_path(arch: Arch, workload: Workload, einsum: Einsum) -> FlatArch:
    """Return the path of components to the compute of the grid, for one Einsum."""
    return flatten(arch, workload.scope(einsum.name))[0]
