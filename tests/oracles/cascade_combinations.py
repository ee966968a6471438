"""Every combination of mappings of a cascade's Einsums, and what each costs where it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import inf

from cascades import cascade_arch
from loop_orders import ordered_choices

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.mapping.mapping import Mapping, Sequential
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.exchange import intermediates
from tilewright.simulator.execution.execution import Execution, execute
from tilewright.simulator.execution.mapped_workload import grid_path

WHOLE = GridConstraints(tile="none", reduction="chain")


def small_constraints(name: str, workload: Workload, x: str) -> dict[str, GridConstraints]:
    """Constraints that leave few mappings of a cascade; x: along X in its first Einsum."""
    constraints = {einsum.name: WHOLE for einsum in workload.einsums}
    if name == "smoothing":  # its window has too many orders for all divisions
        constraints["Z"] = replace(WHOLE, x="m", y="n")
    constraints[workload.einsums[0].name] = replace(WHOLE, x=x)
    return constraints


def all_mappings(
    workload: Workload,
    constraints: dict[str, GridConstraints],
    *,
    has_parts: bool,
    has_orders: bool,
    stays: bool = True,
) -> list[Mapping]:
    """Every combination of mappings of the Einsums, whatever of it stays in the elements.

    `has_parts`: with those on parts of the grid; `has_orders`: with the loops on a tile in every
    order; `stays`: with those of which something stays.
    """
    arch = cascade_arch(2, 2)
    branches = []
    for einsum in workload.einsums:
        exchanged = sorted(set(einsum.tensors) & set(intermediates(workload))) if stays else ()
        subsets = product(*([frozenset(), frozenset({name})] for name in exchanged))
        nodes = set()
        for staying in (frozenset().union(*subset) for subset in subsets):
            flat = grid_path(arch, workload, einsum)
            space = GridMapspace(grid_of(flat), einsum, constraints[einsum.name], staying)
            space = replace(space, has_parts=has_parts and bool(staying))
            shares = () if staying else space.further_shares(inf, 1 << 14)
            assert shares is not None
            further = (family for each in shares for family in space.families_of(each))
            for family in (*space.families(), *further):
                choices = space.members(family)
                if has_orders:
                    choices = ordered_choices(flat, space, family)
                nodes |= {space.mapping_of(choice).nodes for choice in choices}
        branches.append(sorted(nodes, key=str))
    return [Mapping((Sequential(chosen),)) for chosen in product(*branches)]


def all_runs(
    workload: Workload,
    constraints: dict[str, GridConstraints],
    settings: ExecutionSettings | None = None,
    *,
    has_parts: bool,
    has_orders: bool = True,
    stays: bool = True,
) -> Iterator[Execution]:
    """Execute every combination that the elements hold."""
    mappings = all_mappings(
        workload, constraints, has_parts=has_parts, has_orders=has_orders, stays=stays
    )
    for mapping in mappings:
        try:
            yield execute(cascade_arch(2, 2), workload, mapping, settings=settings)
        except InfeasibleMapping:
            continue
