"""A mapping of one Einsum as loops in space and time on a grid of elements.

It says for each tensor where it is held, which loops bring its tiles, and how they are shared;
host_streams, partial_sums and predicted_counts derive the rest. `reading/mapping_reading.py` reads
it from a mapping.
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid import Grid
from tilewright.mapper.grid.number_types import (
    NumberTypes,
    dtype_of,
    number_types,
    tile_values_per_wavelet,
)
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.mapping.mapping import Mapping, Storage
from tilewright.mapper.workload.einsum import Einsum, TensorAccess


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


@dataclass(frozen=True)
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

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """Positions of each rank in one tile."""
        return tuple(form.extent(self.tile) for _, form in self.access.projection)

    @cached_property
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
    together, padding included, with the width of its partial sums, and computed by their engines
    even if it is a copy operation.
    `space`: loops over elements, outermost first; `time`: loops that each element runs, outermost
    first, those of one turn left out. `tensors`: how each tensor is held. `kernel`: number of loops
    in time above all Storages of the elements' memory; those below are the work on one tile.
    `scalar`: the input whose values an engine takes one at a time from its register, None if there
    is none; `scalar_depth`: loops in time above that register. `reduction`: how partial sums are
    added over the elements. `staying`: tensors of other Einsums, too, that stay in the elements'
    memories between them.
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
    def _per_wavelet(self) -> dict[str, int]:
        """Values that go in one wavelet, by tensor."""
        return {}

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

    @cached_property
    def inputs(self) -> tuple[HeldTensor, ...]:
        """How the elements hold the inputs, in the order of the Einsum."""
        return tuple(tensor for tensor in self.tensors if not tensor.access.output)

    @cached_property
    def streams(self) -> tuple[HeldTensor, ...]:
        """The inputs that come from outside the grid during the run."""
        return tuple(tensor for tensor in self.inputs if not tensor.resident)

    @cached_property
    def shifted(self) -> tuple[HeldTensor, ...]:
        """The inputs whose tiles move on along rings of elements."""
        return tuple(tensor for tensor in self.inputs if tensor.shift is not None)

    def with_reduction(self, reduction: str) -> SpaceTime:
        """Return the same loops where elements add up partial sums in another way."""
        held = (self.output.name,), self.grid.memory.name
        scheme = "" if reduction == "chain" else reduction
        nodes = tuple(
            replace(node, reduction=scheme)
            if isinstance(node, Storage) and (node.tensors, node.component) == held
            else node
            for node in self.mapping.nodes
        )
        return replace(self, mapping=Mapping(nodes), reduction=reduction)

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

    @property
    def result_dtype(self) -> str:
        """Number type of the output outside the elements, where its values leave them."""
        return dtype_of(self.workload_einsum.outputs[0], self.workload_einsum)

    @property
    def narrows(self) -> bool:
        """Whether sums of f32 become f16 where they leave the elements."""
        return self.result_dtype != self.dtype

    def dtype_of(self, tensor: str) -> str:
        """Return the number type of a tensor of the Einsum in the elements."""
        numbers = self.numbers
        return numbers.output if self.tensor(tensor).access.output else numbers.inputs[tensor]

    def values_per_wavelet(self, tensor: HeldTensor) -> int:
        """Return how many values of a tensor's tiles go in one wavelet: 1 or 2.

        It holds for all streams of them, but for a ring's partial sums, which go in chunks.
        """
        if tensor.name not in self._per_wavelet:
            self._per_wavelet[tensor.name] = tile_values_per_wavelet(
                tensor.values, tensor.access, self.einsum, is_added=self.is_added
            )
        return self._per_wavelet[tensor.name]

    def words(self, tensor: HeldTensor) -> int:
        """Return the words (wavelets) in which one tile of a tensor goes over links."""
        return tensor.values // self.values_per_wavelet(tensor)

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

    @cached_property
    def is_added(self) -> bool:
        """Whether elements add up the output, or take the greatest of its values."""
        return any(self.is_reduced(share.variable) for share in self.space)

    def is_reduced(self, variable: str) -> bool:
        """Return whether the Einsum sums over a rank variable."""
        return variable not in self.einsum.outputs[0].rank_variables
