"""The layouts of a mapspace: shardings of each tensor, placements of each tile (layouts.md §15).

A mapping says which tiles a memory holds; this says how a tensor may be divided over the instances
of a memory, and at which addresses the tiles of a mapping may lie in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, prod
from typing import Protocol

from tilewright.arch.components.components import Memory
from tilewright.arch.errors import SpecError
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.names import did_you_mean
from tilewright.mapper.layout.collapse import Collapse
from tilewright.mapper.layout.enumeration.banks import Banks
from tilewright.mapper.layout.enumeration.shardings import distinct_grids, grid_shardings
from tilewright.mapper.layout.grid_split import GridSplit
from tilewright.mapper.layout.layout import Layout
from tilewright.mapper.layout.packing.buffer_request import BufferRequest
from tilewright.mapper.layout.packing.packing import PackedMemory, packings
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor
from tilewright.mapper.layout.tiling import Tiling
from tilewright.mapper.mapping.mapping import Mapping as MappingTree
from tilewright.mapper.mapping.mapping import Storage
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.occupancy.occupancy import Occupancy
from tilewright.mapper.model.paths.path import paths_of, restrict
from tilewright.mapper.model.paths.view import make_view
from tilewright.mapper.model.tally import tally
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping


@dataclass(frozen=True, slots=True)
class PlacedMapping:
    """A mapping and the addresses of its tiles in one memory (`packed`)."""

    mapping: MappingTree
    packed: PackedMemory


class EinsumMappings(Protocol):
    """All mappings of one Einsum, such as a Mapspace."""

    @property
    def einsum(self) -> Einsum:
        """The Einsum."""

    @property
    def flat(self) -> FlatArch:
        """The path of components that it is mapped to."""

    @property
    def conventions(self) -> str:
        """Name of the rules of the model."""

    def __iter__(self) -> Iterator[MappingTree]:
        """Yield every mapping that fits."""


@dataclass(frozen=True)
class LayoutSpace:
    """Two dimensions that layouts add to a mapspace of one Einsum.

    `space`: the mapspace; `tiling`: tiles and number format in which shards are stored; `banks`:
    of memories by name (others: no banks, addresses of any byte); `lifetimes`: first and last step
    in which a tensor's tile is alive, by tensor (others: step 0), where Einsums run in turn.
    """

    space: EinsumMappings
    tiling: Tiling = field(default_factory=Tiling)
    banks: Mapping[str, Banks] = field(default_factory=dict)
    lifetimes: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def units(self, memory: str) -> tuple[int, ...]:
        """Return the fanouts that make instances of a memory, outermost first; (1,) for none.

        Those of an Array's grid come last, for a memory that is spread over one.
        Raises SpecError for a name that is no memory.
        """
        component = self._memory(memory)
        path = (*self.space.flat.above(memory), component)
        dims = [dim for part in path for dim in part.spatial] + [*component.physical_spatial]
        return tuple(dim.fanout for dim in dims if dim.fanout > 1) or (1,)

    def shape(self, tensor: str) -> tuple[int, ...]:
        """Return the extents of a tensor's ranks; SpecError if the Einsum has no such tensor."""
        einsum = self.space.einsum
        if tensor not in einsum.tensors:
            raise SpecError(
                f"{einsum.name} has no tensor {tensor}",
                instead=did_you_mean(tensor, einsum.tensors) or None,
            )
        access = einsum.access(tensor)
        return tuple(form.extent(einsum.bounds) for _, form in access.projection) or (1,)

    def shardings(self, tensor: str, memory: str) -> Iterator[Layout]:
        """Yield the distinct shardings of a tensor over the instances of a memory that fit it.

        One for each shard shape, none with an empty cell. Raises InfeasibleMapping, with the
        memory, the least bytes of a shard and the bytes of an instance, if none fits.
        """
        shape, units = self.shape(tensor), self.units(memory)
        size = self._bytes(memory)
        sharded = ShardedTensor(shape, units, self.tiling)
        least: Layout | None = None
        fitting = False
        for layout in grid_shardings(sharded, Collapse.of(shape, ())):
            if size is None or layout.bytes_per_unit <= size:
                fitting = True
                yield layout
            elif least is None or layout.bytes_per_unit < least.bytes_per_unit:
                least = layout
        if not fitting and least is not None and size is not None:
            raise InfeasibleMapping(
                f"each of {prod(units)} {memory}: a shard of {tensor} has at least "
                f"{least.bytes_per_unit} bytes, {memory} has {size}",
                instead=_enough_instances(sharded, least.collapse, size),
            )

    def requests(self, mapping: MappingTree, memory: str) -> tuple[BufferRequest, ...]:
        """Return what the tiles of a mapping ask of one instance of a memory.

        Depth: the buffers of the Storage node. Raises MappingError if it is no mapping of the
        Einsum.
        """
        self._memory(memory)
        banks = self.banks.get(memory, Banks())
        requests = []
        for tile in self._reserved(mapping):
            if tile.component != memory or not tile.bits:
                continue
            node = mapping.nodes[tile.origin]
            first, last = self.lifetimes.get(tile.tensor, (0, 0))
            request = BufferRequest(
                name=tile.tensor,
                tile_bytes=-(-tile.bits.__ceil__() // 8),
                depth=node.buffers if isinstance(node, Storage) else 1,
                first=first,
                last=last,
                modulus=banks.round_bytes,
                residues=banks.residues,
            )
            requests.append(request)
        return tuple(requests)

    def placements(self, mapping: MappingTree, memory: str) -> Iterator[PackedMemory]:
        """Yield addresses for the tiles of a mapping in a memory: one for each choice of banks.

        Raises InfeasibleMapping, with the memory, the tiles alive and the smallest change that
        would fit, if there is none.
        """
        size = self._bytes(memory)
        requests = self.requests(mapping, memory)
        room = sum(r.stride * r.depth + r.modulus for r in requests) if size is None else size
        return packings(requests, room, f"each {memory}")

    def best_placement(self, mapping: MappingTree, memory: str) -> PackedMemory:
        """Return the placement with the fewest inputs that meet on a bank, then the fewest bytes.

        Raises InfeasibleMapping like `placements`.
        """
        banks = self.banks.get(memory, Banks())
        inputs = [access.tensor for access in self.space.einsum.inputs]
        return min(
            self.placements(mapping, memory),
            key=lambda packed: (len(banks.meetings(packed, inputs)), packed.used),
        )

    def placed_mappings(self, memory: str) -> Iterator[PlacedMapping]:
        """Yield the mappings of the mapspace whose tiles have addresses, each with the best ones.

        A mapping that fits by its sizes may have no addresses: alignment, banks or depth need more.
        """
        for mapping in self.space:
            try:
                yield PlacedMapping(mapping, self.best_placement(mapping, memory))
            except InfeasibleMapping:
                continue

    def _reserved(self, mapping: MappingTree) -> tuple[Occupancy, ...]:
        view = make_view(self.space.einsum, self.space.flat)
        (path,) = paths_of(mapping)
        restricted = restrict(path, frozenset(view.tensors))
        return tally(restricted, view, conventions_called(self.space.conventions)).occupancy

    def _memory(self, name: str) -> Memory:
        component = self.space.flat.component(name)
        if not isinstance(component, Memory):
            raise SpecError(f"{name} is no memory", value=name)
        return component

    def _bytes(self, memory: str) -> int | None:
        """Return the bytes of one instance of a memory, rounded down; None without a limit."""
        size = self._memory(memory).size
        return None if size == inf else int(size) // 8


def _enough_instances(tensor: ShardedTensor, collapse: Collapse, size: int) -> str:
    """Return a sentence with the fewest instances over which a tensor's shards fit.

    `size`: bytes of one instance.
    """
    extents, tiling = collapse.extents, tensor.tiling
    most = prod(tiling.tiles(extents))
    enough = [
        prod(grid)
        for grid in distinct_grids(extents, most, tiling.sides)
        if prod(tiling.tiles(GridSplit.ceil(extents, grid, tiling.sides).shard_shape))
        * tiling.tile_bytes
        <= size
    ]
    return f"{min(enough)} instances" if enough else f"a format with tiles of at most {size} bytes"
