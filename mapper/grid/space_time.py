"""A mapping of one Einsum read as loops in space and time on a grid of elements.

The reading says for each tensor where it is held, which loops bring its tiles, and how they are
shared; host_streams, partial_sums and predicted_counts derive the rest. What cannot be read so is
refused with the reason: those mappings are not in the mapspace of a grid (theory/grid.md §1).
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid import Grid, grid_of
from tilewright.mapper.grid.number_types import NumberTypes, number_types
from tilewright.mapper.grid.padding import may_pad, padded
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.mapping.mapping import (
    Compute,
    Mapping,
    Node,
    Sequential,
    Spatial,
    Storage,
    Temporal,
    Toll,
)
from tilewright.mapper.workload.einsum import Einsum, TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping


@dataclass(frozen=True, slots=True)
class TimeLoop:
    """A loop in time of every element: `count` tiles of `tile` values of a rank variable."""

    variable: str
    tile: int
    count: int


@dataclass(frozen=True, slots=True)
class SpaceLoop:
    """A loop over elements along an axis: `count` shares of `tile` values of a rank variable."""

    variable: str
    tile: int
    count: int
    axis: Axis


@dataclass(frozen=True, slots=True)
class HeldTensor:
    """How the elements hold one tensor.

    `access`: its access in the Einsum. `depth`: number of loops in time above its Storage in the
    elements' memory, so that 0 means the whole share of an element. `resident`: no Storage outside
    the grid, so the memories have the share before the run, or keep it after the run. `buffers`:
    tiles that the memory holds at a time, 1 or 2. `tile[v]`: values of each rank variable in one
    tile. `shift`: the axis along whose rings the tiles move on, None if they do not.
    """

    access: TensorAccess
    depth: int
    resident: bool
    buffers: int
    tile: Dict[str, int]
    shift: Axis | None = None

    @property
    def name(self) -> str:
        """Name of the tensor."""
        return self.access.tensor

    @property
    def extents(self) -> tuple[int, ...]:
        """Positions of each rank in one tile."""
        return tuple(form.extent(self.tile) for _, form in self.access.projection)

    @property
    def values(self) -> int:
        """Values of one tile."""
        return prod(self.extents)

    def uses(self, variable: str) -> bool:
        """Return whether a rank variable stands in an index of the tensor."""
        return variable in self.access.rank_variables


@dataclass(frozen=True)
class SpaceTime:
    """A mapping of one Einsum on a grid of elements, as loops in space and time.

    `workload_einsum`: the Einsum; `einsum`: the same with the sizes that the elements have
    together, padding included. `space`: loops over elements, outermost first; `time`: loops that
    each element runs, outermost first, those of one turn left out. `tensors`: how each tensor is
    held. `kernel`: number of loops in time above all Storages of the elements' memory; those below
    are the work on one tile. `scalar`: the input whose values an engine takes one at a time from
    its register, None if there is none; `scalar_depth`: loops in time above that register.
    `reduction`: how partial sums are added over the elements. `staying`: tensors of other Einsums,
    too, that stay in the elements' memories between them.
    """

    flat: FlatArch = field(repr=False)
    grid: Grid = field(repr=False)
    workload_einsum: Einsum
    einsum: Einsum
    mapping: Mapping
    space: tuple[SpaceLoop, ...]
    time: tuple[TimeLoop, ...]
    tensors: tuple[HeldTensor, ...]
    kernel: int
    scalar: str | None
    scalar_depth: int
    reduction: str
    staying: frozenset[str]

    @cached_property
    def _tensors(self) -> dict[str, HeldTensor]:
        return {tensor.name: tensor for tensor in self.tensors}

    def tensor(self, name: str) -> HeldTensor:
        """Return how the elements hold a tensor; KeyError if the Einsum has none of that name."""
        return self._tensors[name]

    @property
    def output(self) -> HeldTensor:
        """How the elements hold the one output."""
        return self._tensors[self.einsum.outputs[0].tensor]

    @property
    def inputs(self) -> tuple[HeldTensor, ...]:
        """How the elements hold the inputs, in the order of the Einsum."""
        return tuple(tensor for tensor in self.tensors if not tensor.access.output)

    @property
    def streams(self) -> tuple[HeldTensor, ...]:
        """The inputs that come from outside the grid during the run."""
        return tuple(tensor for tensor in self.inputs if not tensor.resident)

    @property
    def shifted(self) -> tuple[HeldTensor, ...]:
        """The inputs whose tiles move on along rings of elements."""
        return tuple(tensor for tensor in self.inputs if tensor.shift is not None)

    def along(self, axis: Axis) -> tuple[SpaceLoop, ...]:
        """Return the loops over the elements of one axis, outermost first."""
        return tuple(loop for loop in self.space if loop.axis == axis)

    @cached_property
    def columns(self) -> int:
        """Columns of the grid that the mapping uses, from column 0 on; all their elements work."""
        return prod(loop.count for loop in self.along("X"))

    @cached_property
    def rows(self) -> int:
        """Rows of the grid that the mapping uses, from row 0 on; all their elements work."""
        return prod(loop.count for loop in self.along("Y"))

    @cached_property
    def numbers(self) -> NumberTypes:
        """Number types of the inputs and of the output."""
        return number_types(self.einsum)

    @property
    def dtype(self) -> str:
        """Number type of the output and of its partial sums."""
        return self.numbers.output

    def dtype_of(self, tensor: str) -> str:
        """Return the number type of a tensor of the Einsum."""
        return self.numbers.output if self.tensor(tensor).access.output else self.numbers.inputs

    @property
    def padding_share(self) -> float:
        """Share of the points of the elements that are padding, 0 to 1."""
        return 1 - self.workload_einsum.operations / self.einsum.operations

    def visits(self, tensor: HeldTensor) -> int:
        """Return how many tiles of a tensor pass an element one after the other.

        1 for a whole share. It is the product of the counts of the loops in time above the tensor's
        Storage.
        """
        return prod(loop.count for loop in self.time[: tensor.depth])

    def is_reduced(self, variable: str) -> bool:
        """Return whether the Einsum sums over a rank variable."""
        return variable not in self.einsum.outputs[0].rank_variables


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
    pipeline. Raises InfeasibleMapping with the reason,
    and what to write instead, for a mapping that no program of the elements can follow
    (theory/grid.md §1 lists the rules); nothing is said of the size of memories.
    """
    grid = grid_of(flat)
    _check_einsum(einsum)
    names = set(einsum.tensors)
    reading = _Reading(grid, einsum, staying & names, passed & names)
    for node in mapping.nodes:
        reading.take(node)
    result = reading.result(flat, mapping)
    _check_sums(result)
    _check_scalar(result)
    _check_buffers(result)
    _check_shifts(result)
    _check_reuse(result)
    return result


class _Reading:
    """Collects what the nodes of a mapping say: `take` each, outermost first, then `result`."""

    def __init__(
        self, grid: Grid, einsum: Einsum, staying: frozenset[str], passed: frozenset[str]
    ) -> None:
        self.grid, self.einsum, self.staying, self.passed = grid, einsum, staying, passed
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
                raise _refusal(
                    "several Einsums in one nest are not executed together",
                    "a mapping of each Einsum",
                )
            case Toll():
                raise _refusal(f"{node.component} is a Toll above the elements", "a Memory")
            case Storage():
                self._storage(node)
            case Temporal() | Spatial():
                self._loop(node)
            case Compute():
                self.is_complete = True

    def _loop(self, node: Temporal | Spatial) -> None:
        name, before = node.rank_variable, self.tile.get(node.rank_variable)
        if before is None:
            raise _refusal(
                f"{name!r} is no rank variable of {self.einsum.name}",
                "one of " + ", ".join(self.einsum.bounds),
            )
        if (isinstance(node, Temporal) and node.initial_tile_shape is not None) or node.names:
            raise _refusal(f"the loop over {name} has tiles of two sizes or of other names", "one")
        if node.tile_shape > before:
            raise _refusal(
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
            raise _refusal(
                f"tiles do not divide the {before} values of {name} in the tile above",
                f"a divisor of {before}: only the outermost loop over {name}, above the Storages "
                f"of {self.grid.memory.name}, may have a shorter last tile",
            )
        if not may_pad(self.einsum, name):
            raise _refusal(
                f"tiles do not divide {before} values of {name}, and zeros behind the last one "
                f"would change {self.einsum.outputs[0].tensor}",
                f"a divisor of {before}",
            )
        self.bounds[name] = size

    def _shares(self, node: Spatial, count: int) -> None:
        if node.component != self.grid.fanout or node.name not in self.grid.dims:
            raise _refusal(
                f"{node.component}.{node.name} is no dimension of the grid",
                f"{self.grid.fanout} and one of {', '.join(self.grid.dims)}",
            )
        if self.held:
            raise _refusal(
                f"the elements share {node.rank_variable} below a Storage of their memory",
                f"the loop over {node.name} above the Storages of {self.grid.memory.name}",
            )
        axis: Axis = "X" if node.name == self.grid.dims[0] else "Y"
        if count > 1:
            self.space.append(SpaceLoop(node.rank_variable, node.tile_shape, count, axis))
        used = prod(loop.count for loop in self.space if loop.axis == axis)
        if used > self.grid.size(axis):
            raise _refusal(
                f"{used} shares along {node.name}, but {self.grid.size(axis)} elements", "fewer"
            )

    def _storage(self, node: Storage) -> None:
        grid, register = self.grid, self.grid.register
        if node.component == grid.host.name:
            if self.space or self.time:
                raise _refusal(
                    f"a loop stands above the Storage of {grid.host.name}",
                    f"{grid.host.name} first: it has whole tensors",
                )
            self.outside.update(node.tensors)
        elif node.component == grid.memory.name:
            for name in node.tensors:
                self._hold(name, node)
        elif register is not None and node.component == register.name:
            if self.scalar is not None or len(node.tensors) != 1:
                raise _refusal("the engine's register takes one value of one tensor", "one tensor")
            self.scalar = node.tensors[0], len(self.time)
        else:
            raise _refusal(
                f"{node.component} is not part of the grid",
                f"Storages of {grid.host.name} and {grid.memory.name}",
            )

    def _hold(self, name: str, node: Storage) -> None:
        if name in self.held or name not in self.einsum.tensors:
            raise _refusal(f"{name} has two Storages in {node.component}, or none needs it", "one")
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
            raise _refusal(
                f"{name} shifts along {dim}, which is no dimension of the grid",
                f"one of {', '.join(self.grid.dims)}",
            )
        return "X" if dim == self.grid.dims[0] else "Y"

    def result(self, flat: FlatArch, mapping: Mapping) -> SpaceTime:
        """Return the mapping as read; raises InfeasibleMapping if nodes are missing.

        These are the Compute, and a Storage in the elements' memory for every tensor.
        """
        if not self.is_complete:
            raise _refusal("the mapping does not end in a Compute", "Compute as the last node")
        for name in self.einsum.tensors:
            if name not in self.held:
                raise _refusal(
                    f"{name} has no Storage in {self.grid.memory.name}", "one for each tensor"
                )
        tensors = tuple(self.held[name] for name in dict.fromkeys(self.einsum.tensors))
        for tensor in tensors:
            if tensor.name not in self.passed:
                _check_residence(tensor, self.grid, self.staying)
        scalar, depth = self.scalar or (None, 0)
        return SpaceTime(
            flat=flat,
            grid=self.grid,
            workload_einsum=self.einsum,
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


def _check_einsum(einsum: Einsum) -> None:
    if len(einsum.outputs) != 1 or not einsum.inputs:
        raise _refusal(f"{einsum.name} has not exactly one output and an input", "one output")
    tensors = [access.values_of for access in einsum.accesses]
    for access in einsum.accesses:
        if tensors.count(access.values_of) > 1:
            ranks = ", ".join(rank.lower() for rank, _ in access.projection)
            name = access.values_of
            raise _refusal(
                f"{einsum.name} reads {name} with different indices",
                f'an Einsum "{name}_again[{ranks}] = {name}[{ranks}]" before it, and {name}_again '
                "the second time (one for each further read)",
            )
    if einsum.n_instances != 1:
        raise _refusal(f"{einsum.name} has {einsum.n_instances} instances", "a rank for them")
    number_types(einsum)


def _check_residence(tensor: HeldTensor, grid: Grid, staying: frozenset[str]) -> None:
    if not tensor.resident:
        return
    stays = tensor.access.output or tensor.access.persistent or tensor.name in staying
    if not stays:
        raise _refusal(
            f"{tensor.name} is in no memory outside the grid, but it is neither persistent nor "
            "computed by an Einsum that leaves it in the elements",
            f"keep it in {grid.host.name}, or list it in persistent_tensors",
        )
    if tensor.depth and tensor.shift is None:
        raise _refusal(
            f"a loop stands above {tensor.name}, which only the elements hold",
            f"its Storage in {grid.memory.name} above all loops in time",
        )


def _check_sums(read: SpaceTime) -> None:
    """Raise InfeasibleMapping unless partial sums stay in the elements until they are complete.

    So no loop over a summed variable may stand above the output's Storage, and along each axis
    loops over summed variables are innermost: the elements that add up are neighbours.
    """
    above = [loop.variable for loop in read.time[: read.output.depth]]
    summed = next((name for name in above if read.is_reduced(name)), None)
    if summed is not None:
        raise _refusal(
            f"the loop over {summed}, which is summed over, stands above {read.output.name}: "
            "partial sums would leave the grid and come back",
            f"the Storage of {read.output.name} above that loop",
        )
    for axis in ("X", "Y"):
        reduced = [read.is_reduced(loop.variable) for loop in read.along(axis)]
        if reduced != sorted(reduced):
            raise _refusal(
                f"elements along {axis} that add up are not neighbours",
                f"the loops that are summed over innermost along {axis}",
            )


def _check_scalar(read: SpaceTime) -> None:
    """Raise InfeasibleMapping unless one vector operation uses each value in the register.

    The register holds an input of an Einsum of two inputs. Its Storage is below all those of the
    elements' memory. Loops below it are over output variables that this input lacks.
    """
    if read.scalar is None:
        return
    tensor, below = read.tensor(read.scalar), read.time[read.scalar_depth :]
    if tensor.access.output or len(read.inputs) != 2:
        raise _refusal(
            f"the engine's register holds {read.scalar}", "an input of an Einsum of two inputs"
        )
    if read.scalar_depth < read.kernel:
        raise _refusal(
            f"the register of {read.scalar} stands above a Storage of {read.grid.memory.name}",
            "below all of them",
        )
    for loop in below:
        if tensor.uses(loop.variable) or read.is_reduced(loop.variable):
            raise _refusal(
                f"the loop over {loop.variable} below the register of {read.scalar} is no loop of "
                "one vector operation",
                f"loops over ranks of {read.output.name} that {read.scalar} lacks",
            )


def _check_buffers(read: SpaceTime) -> None:
    """Raise InfeasibleMapping unless tensors have 1 or 2 buffers, and 2 only to overlap work.

    With two buffers anywhere, one loop in time is above the tiles that pass. All tensors below this
    loop have two buffers; those above it have one.
    """
    for tensor in read.tensors:
        if tensor.buffers not in (1, 2):
            raise _refusal(f"{tensor.name} has {tensor.buffers} buffers", "1 or 2")
    single = {tensor.depth for tensor in read.tensors if tensor.buffers == 1}
    double = {tensor.depth for tensor in read.tensors if tensor.buffers == 2}
    if double and (read.kernel != 1 or single - {0} or double != {1}):
        raise _refusal(
            "two buffers overlap the tiles of one loop in time",
            "one loop above the Storages with two buffers, and two buffers for each tensor there",
        )


def _check_reuse(read: SpaceTime) -> None:
    """Raise InfeasibleMapping for a tensor that a line of elements has in common, but may not.

    Elements that work with the same values get them from one transfer, and add up what they write.
    """
    for share, tensor in product(read.space, read.tensors):
        dim = read.grid.dimension(share.axis)
        is_common = not tensor.uses(share.variable) and (
            tensor.access.output or not tensor.resident
        )
        if is_common and dim is not None and tensor.name not in dim.may_reuse:
            raise _refusal(
                f"elements along {dim.name} have {tensor.name} in common, which may_reuse of "
                f"{read.grid.fanout}.{dim.name} leaves out",
                f"{tensor.name} in may_reuse, or no loop over {dim.name} but over its ranks",
            )


def _check_shifts(read: SpaceTime) -> None:
    """Raise InfeasibleMapping unless tiles that move along rings meet those that they work with.

    Only inputs may shift.
    """
    if not read.shifted and read.output.shift is None:
        return
    if read.output.shift is not None:
        raise _refusal(f"{read.output.name} shifts", "a shift of inputs only")
    for tensor in read.shifted:
        _check_shift(read, tensor)
    for tensor in read.inputs:
        if tensor.shift is None and (tensor.depth or tensor.uses(read.time[0].variable)):
            _check_beside_shifts(read, tensor)


def _check_shift(read: SpaceTime, tensor: HeldTensor) -> None:
    axis = tensor.shift
    assert axis is not None
    name, elements = tensor.name, read.columns if axis == "X" else read.rows
    if tensor.buffers != 2:
        raise _refusal(f"{name} shifts with {tensor.buffers} buffers", "2 buffers")
    loop = read.time[0]
    if not tensor.uses(loop.variable) or not read.is_reduced(loop.variable):
        raise _refusal(
            f"{name} shifts below a loop over {loop.variable}",
            f"a loop over a rank of {name} that is summed over",
        )
    if loop.count != elements:
        raise _refusal(
            f"{loop.count} tiles of {name} shift along {elements} elements of axis {axis}",
            "as many tiles as elements",
        )
    if any(tensor.uses(share.variable) for share in read.along(axis)):
        raise _refusal(
            f"{name} shifts along axis {axis}, whose elements share a rank of it", "the other axis"
        )
    if name in read.staying:
        raise _refusal(
            f"{name} shifts, which another Einsum leaves in the elements",
            f"{name} in {read.grid.host.name}",
        )
    across = read.along("Y" if axis == "X" else "X")
    turned = any(other.shift not in (None, axis) for other in read.shifted)
    if turned and not tensor.resident and not all(tensor.uses(s.variable) for s in across):
        raise _refusal(
            f"{name} would enter once for each ring along axis {axis}",
            f"a rank of {name} over the other axis, or {name} persistent and in the elements",
        )


def _check_beside_shifts(read: SpaceTime, tensor: HeldTensor) -> None:
    """Raise InfeasibleMapping unless an input that does not shift serves each turn of the shifts.

    It must be persistent and whole in the elements, and the variable of the shift alone in one
    index.
    """
    name, variable = tensor.name, read.time[0].variable
    if tensor.depth or not tensor.resident or name in read.staying:
        raise _refusal(
            f"{name} comes in tiles beside tensors that shift, or in another order to each element",
            f"a shift of {name}, too, or {name} persistent, whole in the elements",
        )
    forms = [form for _, form in tensor.access.projection if variable in dict(form.terms)]
    if len(forms) > 1 or forms[0].terms != ((variable, 1),):
        raise _refusal(
            f"{variable} stands beside others in an index of {name}, which does not shift",
            f"an index that is {variable} alone",
        )


def _refusal(what: str, instead: str) -> InfeasibleMapping:
    return InfeasibleMapping(f"no program of the elements: {what}", instead=instead)
