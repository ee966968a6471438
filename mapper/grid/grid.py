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
    """Find the grid in a flattened architecture.

    The grid is the one component with one or two spatial dimensions; the nearest Memory above it
    is the outside, the first Memory from it down belongs to each element, and a further Memory
    below holds the scalar operand of the engine. Raises InfeasibleMapping if there is none.
    """
    fans = [at for at, component in enumerate(flat.components) if component.spatial]
    if len(fans) != 1 or len(flat.components[fans[0]].spatial) > 2:
        raise InfeasibleMapping(
            "this architecture is not a grid of elements",
            value=[flat.components[at].name for at in fans],
            instead="exactly one component with one or two spatial dimensions",
        )
    at = fans[0]
    above = _memories(flat.components[:at])
    below = _memories(flat.components[at:])
    if not above or not below:
        raise InfeasibleMapping(
            "a grid needs a memory outside and a memory in each element",
            value=[component.name for component in flat.components],
            instead="a Memory above and a Memory below the component with the fanout",
        )
    dims = flat.components[at].spatial
    return Grid(
        host=above[-1],
        fanout=flat.components[at].name,
        dims=tuple(dim.name for dim in dims),
        columns=dims[0].fanout,
        rows=dims[1].fanout if len(dims) > 1 else 1,
        memory=below[0],
        register=below[1] if len(below) > 1 else None,
        compute=flat.compute,
        fabric=_network(flat),
    )


def _memories(components: tuple[Component, ...]) -> list[Memory]:
    return [component for component in components if isinstance(component, Memory)]


def _network(flat: FlatArch) -> Network | None:
    for component in flat.components:
        if isinstance(component, Network):
            return component
    return None
