"""Read a mapping of one Einsum as loops in space and time on a grid of elements.

A mapping that cannot be read so is refused with the reason: it is not in the mapspace of a grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from math import prod

from tilewright.arch.errors import Where
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid import Grid, grid_of
from tilewright.mapper.grid.number_types import in_elements
from tilewright.mapper.grid.padding import may_pad, padded
from tilewright.mapper.grid.reading.element_rules import (
    check_einsum,
    check_residence,
    check_space_time,
    refusal,
)
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.grid.space_time import HeldTensor, SpaceLoop, SpaceTime, TimeLoop
from tilewright.mapper.mapping.mapping import (
    ComputeNode,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    TollNode,
)
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping


def space_time(
    flat: FlatArch,
    einsum: Einsum,
    mapping: Mapping,
    staying: frozenset[str] = frozenset(),
    passed: frozenset[str] = frozenset(),
) -> SpaceTime:
    """Read a mapping as loops in space and time on the grid of an architecture.

    `flat`: path of components with one grid of elements. `staying`: tensors that one Einsum leaves
    in the elements' memories for another; `passed`: those of them that it leaves tile by tile, in a
    pipeline. Raises InfeasibleMapping with the reason, and what to write instead, for a mapping
    that no program of the elements can follow; nothing is said of the size of memories. The engines
    of the elements compute a copy operation as they do its formula.
    """
    grid = grid_of(flat)
    check_einsum(einsum, grid)
    names = set(einsum.tensors)
    reading = _Reading(grid, einsum, staying & names, passed & names)
    for node, where in zip_longest(mapping.nodes, mapping.places):
        with _at(where):
            reading.take(node)
    with _at(mapping.places[-1] if mapping.places else None):
        result = reading.result(flat, mapping)
        check_space_time(result)
    return result


@contextmanager
def _at(where: Where | None) -> Iterator[None]:
    """Add the place in a file to a refusal."""
    try:
        yield
    except InfeasibleMapping as error:
        error.where = error.where or where
        raise


class _Reading:
    """Collects what the nodes of a mapping say: `take` each, outermost first, then `result`."""

    def __init__(
        self, grid: Grid, einsum: Einsum, staying: frozenset[str], passed: frozenset[str]
    ) -> None:
        self.grid, self.staying, self.passed = grid, staying, passed
        self.workload_einsum, self.einsum = einsum, in_elements(einsum, grid)
        self.tile, self.bounds = dict(einsum.bounds), dict(einsum.bounds)
        self.split: set[str] = set()
        self.space: list[SpaceLoop] = []
        self.time: list[TimeLoop] = []
        self.outside: set[str] = set()
        self.held: dict[str, HeldTensor] = {}
        self.scalar: tuple[str, int] | None = None
        self.reduction = ""
        self.is_complete = False

    def take(self, node: Node) -> None:
        """Read the next node; raises InfeasibleMapping for one that elements cannot follow."""
        match node:
            case Sequential():
                raise refusal(
                    "several Einsums in one nest are not executed together",
                    "a mapping of each Einsum",
                )
            case TollNode():
                raise refusal(f"{node.component} is a Toll above the elements", "a Memory")
            case Storage():
                self._storage(node)
            case Temporal() | Spatial():
                self._loop(node)
            case ComputeNode():
                self.is_complete = True

    def _loop(self, node: Temporal | Spatial) -> None:
        name, before = node.rank_variable, self.tile.get(node.rank_variable)
        if before is None:
            raise refusal(
                f"{name!r} is no rank variable of {self.einsum.name}",
                "one of " + ", ".join(self.einsum.bounds),
            )
        if (isinstance(node, Temporal) and node.initial_tile_shape is not None) or node.names:
            raise refusal(f"the loop over {name} has tiles of two sizes or of other names", "one")
        if node.tile_shape > before:
            raise refusal(
                f"tiles of {node.tile_shape} of {before} values of {name}", "tiles no larger"
            )
        count = -(-before // node.tile_shape)
        if before % node.tile_shape:
            self._pad(name, count * node.tile_shape, before)
        self.split.add(name)
        self.tile[name] = node.tile_shape
        if isinstance(node, Spatial):
            self._shares(node, count)
        elif count > 1:
            self.time.append(TimeLoop(name, node.tile_shape, count))

    def _pad(self, name: str, size: int, before: int) -> None:
        """Enlarge a rank variable's bound to make all its tiles equal: zeros follow its last value.

        `size`: values with padding; `before`: without. Raises InfeasibleMapping unless this is the
        outermost loop over the variable, above the Storages in the elements, and zeros leave the
        result unchanged.
        """
        if name in self.split or self.held:
            raise refusal(
                f"tiles do not divide the {before} values of {name} in the tile above",
                f"a divisor of {before}: only the outermost loop over {name}, above the Storages "
                f"of {self.grid.memory.name}, may have a shorter last tile",
            )
        if not may_pad(self.einsum, name):
            raise refusal(
                f"tiles do not divide {before} values of {name}, and zeros behind the last one "
                f"would change {self.einsum.outputs[0].tensor}",
                f"a divisor of {before}",
            )
        self.bounds[name] = size

    def _shares(self, node: Spatial, count: int) -> None:
        if node.component != self.grid.fanout or node.name not in self.grid.dims:
            raise refusal(
                f"{node.component}.{node.name} is no dimension of the grid",
                f"{self.grid.fanout} and one of {', '.join(self.grid.dims)}",
            )
        if self.held:
            raise refusal(
                f"the elements share {node.rank_variable} below a Storage of their memory",
                f"the loop over {node.name} above the Storages of {self.grid.memory.name}",
            )
        axis: Axis = "X" if node.name == self.grid.dims[0] else "Y"
        if count > 1:
            self.space.append(SpaceLoop(node.rank_variable, node.tile_shape, count, axis))
        used = prod(loop.count for loop in self.space if loop.axis == axis)
        if used > self.grid.size(axis):
            raise refusal(
                f"{used} shares along {node.name}, but {self.grid.size(axis)} elements", "fewer"
            )

    def _storage(self, node: Storage) -> None:
        grid, register = self.grid, self.grid.register
        if node.component == grid.host.name:
            if self.space or self.time:
                raise refusal(
                    f"a loop stands above the Storage of {grid.host.name}",
                    f"{grid.host.name} first: it has whole tensors",
                )
            self.outside.update(node.tensors)
        elif node.component == grid.memory.name:
            for name in node.tensors:
                self._hold(name, node)
        elif register is not None and node.component == register.name:
            if self.scalar is not None or len(node.tensors) != 1:
                raise refusal(
                    "the engine's register takes one value of one tensor",
                    f"one Storage of one input in {register.name}, or none",
                )
            self.scalar = node.tensors[0], len(self.time)
        else:
            raise refusal(
                f"{node.component} is not part of the grid",
                f"Storages of {grid.host.name} and {grid.memory.name}",
            )

    def _hold(self, name: str, node: Storage) -> None:
        if name in self.held or name not in self.einsum.tensors:
            raise refusal(f"{name} has two Storages in {node.component}, or none needs it", "one")
        access = self.einsum.access(name)
        depth = len(self.time)
        resident = name not in self.outside
        shift = self._shift(name, node.shift)
        tile = dict(self.tile)
        self.held[name] = HeldTensor(access, depth, resident, node.buffers, tile, shift)
        if access.output:
            self.reduction = node.reduction

    def _shift(self, name: str, dim: str) -> Axis | None:
        if not dim:
            return None
        if dim not in self.grid.dims:
            raise refusal(
                f"{name} shifts along {dim}, which is no dimension of the grid",
                f"one of {', '.join(self.grid.dims)}",
            )
        return "X" if dim == self.grid.dims[0] else "Y"

    def result(self, flat: FlatArch, mapping: Mapping) -> SpaceTime:
        """Return the mapping as read; raises InfeasibleMapping if nodes are missing.

        These are the Compute, and a Storage in the elements' memory for every tensor.
        """
        if not self.is_complete:
            raise refusal("the mapping does not end in a Compute", "Compute as the last node")
        for name in self.einsum.tensors:
            if name not in self.held:
                raise refusal(
                    f"{name} has no Storage in {self.grid.memory.name}", "one for each tensor"
                )
        tensors = tuple(self.held[name] for name in dict.fromkeys(self.einsum.tensors))
        for tensor in tensors:
            if tensor.name not in self.passed:
                check_residence(tensor, self.grid, self.staying)
        scalar, depth = self.scalar or (None, 0)
        return SpaceTime(
            flat=flat,
            grid=self.grid,
            workload_einsum=self.workload_einsum,
            einsum=padded(self.einsum, self.bounds),
            mapping=mapping,
            space=tuple(self.space),
            time=tuple(self.time),
            tensors=tensors,
            kernel=max(tensor.depth for tensor in tensors),
            scalar=scalar,
            scalar_depth=depth,
            reduction=self.reduction or "chain",
            staying=self.staying,
        )
