"""The part of an architecture that is a grid of elements, each with its own memory and engine."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.arch.components.components import Component, Compute, Memory, Network
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.workload.errors import InfeasibleMapping


@dataclass(frozen=True, slots=True)
class Grid:
    """Names of the parts: outside memory, fanout component with its dims, element memory, engine.

    `columns` runs over the first spatial dimension (X), `rows` over the second (Y; 1 if absent).
    """

    host: Memory
    fanout: str
    dims: tuple[str, ...]
    columns: int
    rows: int
    memory: Memory
    register: Memory | None
    compute: Compute
    fabric: Network | None

    def size(self, axis: str) -> int:
        return self.columns if axis == "X" else self.rows


def grid_of(flat: FlatArch) -> Grid:
    """Return the grid of a flattened architecture.

    The grid is the one component with one or two spatial dimensions. The nearest Memory above it is
    the outside, the first Memory from it down is that of each element, and a second Memory below
    holds the scalar operand of the engine. InfeasibleMapping if the architecture has no such form.
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
    dims = fanout.spatial
    return Grid(
        host=memories_outside[-1],
        fanout=fanout.name,
        dims=tuple(dim.name for dim in dims),
        columns=dims[0].fanout,
        rows=dims[1].fanout if len(dims) > 1 else 1,
        memory=memories_inside[0],
        register=memories_inside[1] if len(memories_inside) > 1 else None,
        compute=flat.compute,
        fabric=_network(flat),
    )


def _fanout_level(flat: FlatArch) -> int:
    """Return the position of the one component with a fanout, of one or two dimensions."""
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
