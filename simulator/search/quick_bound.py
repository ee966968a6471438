"""A bound of a family of mappings in a few sums, before any of them is planned.

It leaves out what differs inside the family (the order of a reduction) and what takes long to find
(conflicts, distances of most elements), so that it is never above the bound of a plan of the family
(theory/grid.md §6).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.grid.grid_shares import Share
from tilewright.mapper.grid.number_types import dtype_of
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.check.route_check import MAX_STREAM
from tilewright.simulator.isa.dsd import DTYPES
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.search.element_cycles import ElementCycles, FamilyTiles, SumCount


@dataclass(frozen=True)
class QuickBound:
    """Bounds of the families of a mapspace on one machine."""

    space: GridMapspace
    flat: FlatArch
    profile: Profile

    @cached_property
    def leak_power(self) -> float:
        """Leakage in W of all components."""
        return sum(
            c.leak_power * c.parent_fanout * c.own_fanout
            for c in (*self.flat.components, *self.flat.beside)
        )

    @cached_property
    def _point_energy(self) -> float:
        return self.space.einsum.operations * self.space.grid.compute.action("compute").energy

    @cached_property
    def _element(self) -> ElementCycles:
        return ElementCycles(self.space, self.profile)

    def energy(self, family: GridFamily) -> float:  # noqa: ARG002 - the same for all families
        """Return joules that every mapping of a family spends, without leakage."""
        return self._point_energy

    def cycles(self, family: GridFamily) -> float:
        """Return cycles that no execution of a mapping of a family goes below.

        Raises InfeasibleMapping if the tiles do not fit an element.
        """
        tiles = FamilyTiles.of(self.space, family)
        if self._words(tiles) > self.free_words:
            raise InfeasibleMapping(f"{self.space.grid.memory.name} of an element is too small")
        work, last = self._element.work(tiles), self._last_sums(family)
        streams = (
            self._stream(access, tiles) + self._behind(access, tiles, work, last)
            for access in self.space.einsum.inputs
            if access.tensor not in family.resident
        )
        main = work + self._element.transfers(tiles, last)
        return max(main, work + self._sums_end(tiles), *streams, 0.0)

    # -- sums and results ------------------------------------------------------------------

    def _last_sums(self, family: GridFamily) -> SumCount:
        """Return what the last element does with each tile of the output.

        It receives a sum along each axis with a group; the last one of a column that gathers passes
        on the results of all others.
        """
        stays = self.space.output_stays
        columns, rows = self.space.groups(family.shares)
        received = (columns > 1) + (rows > 1)
        operations = max(received, not stays) + family.shared
        heads = _product(family.shares, "Y") // rows
        gathers = not stays and heads > 1 and columns < _product(family.shares, "X")
        return SumCount(operations, heads - 1 if gathers else 0)

    def _sums_end(self, tiles: FamilyTiles) -> float:
        """Return the transfers and the way of the first element's sum to the last element.

        Along each axis the way is a send and links; where sums run along both, the last element has
        an operation for each. A result that is shared goes all the way back.
        """
        profile, family = self.profile, tiles.family
        groups = self.space.groups(family.shares)
        if max(groups) == 1:
            return self._element.transfers(tiles, SumCount(int(not self.space.output_stays)))
        hop = profile.dispatch_to_link_cycles + profile.arrival_to_execute_cycles
        columns, rows = (
            float(hop + (group - 1) * profile.hop_cycles) if group > 1 else 0.0 for group in groups
        )
        values = tiles.output
        way = columns + rows
        if columns and rows:
            way = max(way, columns + self._element.load + self._element.words(values))
        if family.shared:
            links = sum(groups) - len(groups)
            way += float(hop + links * profile.hop_cycles) + self._element.words(values - 1)
        return self._element.transfers(tiles, SumCount(1)) + way

    # -- streams ---------------------------------------------------------------------------

    def _behind(
        self, access: TensorAccess, tiles: FamilyTiles, work: float, sums: SumCount
    ) -> float:
        """Return the cycles of the last element behind its last word of an input.

        They are those of the work on the last tile that passes, or on all, and then of its sums.
        `work`: on all points.
        """
        element, family = self._element, tiles.family
        on_tile = prod(tiles.tile.values()) * element.least_rate
        behind = on_tile if access.tensor in tiles.passing else work
        if family.buffers == 1 and not self.space.output_stays:
            values = tiles.output
            behind += element.load * sums.operations
            behind += element.words(values) * (sums.operations + sums.passed)
        return behind

    def _stream(self, access: TensorAccess, tiles: FamilyTiles) -> float:
        """Return the words of the longest border stream of an input.

        Raises InfeasibleMapping if more words enter than a port takes.
        """
        shares = tiles.family.shares
        columns, rows = (_product(shares, axis) for axis in ("X", "Y"))
        used = {
            axis: prod(
                s.count for s in shares if s.axis == axis and s.variable in access.rank_variables
            )
            for axis in ("X", "Y")
        }
        words = used["X"] * used["Y"] * access.tile_size(tiles.local)
        if words > MAX_STREAM:
            raise InfeasibleMapping(
                f"more than {MAX_STREAM:,} words of {access.tensor} enter over a border "
                "(persistent_tensors of a workload are in the elements)"
            )
        lines = max(rows if used["Y"] == rows else 1, columns if used["X"] == columns else 1)
        return words / lines

    # -- memory ----------------------------------------------------------------------------

    def words(self, family: GridFamily) -> int:
        """Return the 16-bit words of an element that the tiles of a family need at least."""
        return self._words(FamilyTiles.of(self.space, family))

    def _words(self, tiles: FamilyTiles) -> int:
        held = zip(self._wide.items(), (*tiles.inputs, tiles.output), strict=True)
        buffers = tiles.family.buffers
        return sum(
            wide * values * (buffers if tensor in tiles.passing else 1)
            for (tensor, wide), values in held
        )

    @cached_property
    def _wide(self) -> dict[str, int]:
        """16-bit words of a value of each input, in their order, and of the output."""
        einsum = self.space.einsum
        accesses = (*einsum.inputs, einsum.outputs[0])
        return {access.tensor: DTYPES[dtype_of(access, einsum)] for access in accesses}

    @cached_property
    def free_words(self) -> int:
        """16-bit words of an element that tiles may use."""
        return (int(self.space.grid.memory.size) // 8 - self.profile.sram_reserved_bytes) // 2


def _product(shares: tuple[Share, ...], axis: str) -> int:
    return prod(share.count for share in shares if share.axis == axis)
