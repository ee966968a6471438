"""The part of an architecture that is a grid of elements, each with its own memory and engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from tilewright.arch.components.components import Component, Compute, Memory, Network, SpatialDim
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.workload.errors import InfeasibleMapping

MOST_INSIDE = 2
"""Memories of an element: its own, and the register of the engine."""


@dataclass(frozen=True)
class Grid:
    """Name the components of an architecture that form a grid of elements.

    `host`: the nearest Memory above the grid, which holds what elements do not. `fanout`: name of
    the component that has the spatial dimensions, `spatial`. `columns`, `rows`: elements along the
    first dimension (axis X) and along the second one (axis Y, 1 if there is none).
    `memory`: the Memory that each element has. `register`: a further Memory inside an element, for
    the scalar operand of the engine; None if there is none. `compute`: the engine of an element.
    `fabric`: the Network between elements; None if none is modelled.
    """

    host: Memory
    fanout: str
    spatial: tuple[SpatialDim, ...]
    columns: int
    rows: int
    memory: Memory
    register: Memory | None
    compute: Compute
    fabric: Network | None

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions, that of axis X first."""
        return tuple(dim.name for dim in self.spatial)

    def dimension(self, axis: str) -> SpatialDim | None:
        """Return the dimension of an axis; None if the grid is a line along the other one."""
        return next(iter(self.spatial[0 if axis == "X" else 1 :][:1]), None)

    @cached_property
    def has_equal_axes(self) -> bool:
        """Whether both axes have the same rules, their numbers of elements apart."""
        first, *others = (replace(dim, name="", fanout=1) for dim in self.spatial)
        return others == [first]

    def size(self, axis: str) -> int:
        """Return the number of elements along an axis: columns for "X", else rows."""
        return self.columns if axis == "X" else self.rows


def grid_of(flat: FlatArch) -> Grid:
    """Find the grid of elements in a path of components.

    `flat`: the components from the root of the architecture to one Compute. The grid is the one
    component with a fanout. The nearest Memory above it is outside the grid, the first Memory from
    it down belongs to each element, and a second Memory below that holds the scalar operand of the
    engine. The first Network of the path is the fabric. Raises InfeasibleMapping unless exactly one
    component has spatial dimensions, at most two of them, and there is a Memory above it and one or
    two at it or below.
    """
    level = _fanout_level(flat)
    fanout = flat.components[level]
    memories_outside = _memories(flat.components[:level])
    memories_inside = _memories(flat.components[level:])
    if not memories_outside or not memories_inside:
        raise InfeasibleMapping(
            "a grid needs a memory outside and a memory in each element",
            value=[component.name for component in flat.components],
            instead="a Memory above and a Memory below the component with the fanout",
        )
    if len(memories_inside) > MOST_INSIDE:
        raise InfeasibleMapping(
            "an element of a grid has one memory, and perhaps a register for a scalar operand",
            value=[memory.name for memory in memories_inside],
            instead="no further Memory between the grid and its Compute",
        )
    dims = fanout.spatial
    return Grid(
        host=memories_outside[-1],
        fanout=fanout.name,
        spatial=dims,
        columns=dims[0].fanout,
        rows=dims[1].fanout if len(dims) > 1 else 1,
        memory=memories_inside[0],
        register=memories_inside[1] if len(memories_inside) > 1 else None,
        compute=flat.compute,
        fabric=_network(flat),
    )


def check_host(flat: FlatArch) -> None:
    """Raise InfeasibleMapping if a memory above the host of a grid must keep a tensor.

    `flat`: evaluated for an Einsum. All that elements do not hold comes from the host.
    """
    host = grid_of(flat).host
    for memory in _memories(flat.components):
        if memory.name == host.name:
            return
        if kept := memory.tensors.resolve({}).keep:
            raise InfeasibleMapping(
                f"the elements of a grid get their values from {host.name}, but {memory.name} "
                f"above it must keep {', '.join(sorted(kept))}",
                value=memory.name,
                instead=f"an architecture without {memory.name}, in which {host.name} keeps them",
            )


def _fanout_level(flat: FlatArch) -> int:
    """Return the position of the one component with a fanout, of one or two dimensions.

    InfeasibleMapping if there is not exactly one.
    """
    levels = [level for level, component in enumerate(flat.components) if component.spatial]
    if len(levels) != 1 or len(flat.components[levels[0]].spatial) > 2:
        raise InfeasibleMapping(
            "this architecture is not a grid of elements",
            value=[flat.components[level].name for level in levels],
            instead="exactly one component with one or two spatial dimensions",
        )
    return levels[0]


def _memories(components: tuple[Component, ...]) -> list[Memory]:
    return [component for component in components if isinstance(component, Memory)]


def _network(flat: FlatArch) -> Network | None:
    for component in flat.components:
        if isinstance(component, Network):
            return component
    return None
