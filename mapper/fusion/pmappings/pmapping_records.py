"""What is kept of pmappings: where they come from, what others must agree about, their costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import NamedTuple

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.pmappings.inner_programs import InnerProgram
from tilewright.mapper.fusion.pmappings.region.fused_loops import FusedLoops
from tilewright.mapper.fusion.pmappings.region.tile_reservations import LoopOrder
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import (
    SharedSpatialLoop,
    gap_above_lanes,
    gap_below_lanes,
)
from tilewright.mapper.fusion.pmappings.shared.shared_tolls import TollPassage
from tilewright.mapper.searches.exact.kernels import Floats, Ints


class ContestedTensor(NamedTuple):
    """Contested tensor that an Einsum holds above its innermost fused loop.

    Contested: another Einsum that shares these loops may hold it, too, without exchanging it.
    `place`: the tensor and the memory (or a Toll it passes). `holder_depth`, `tile_depth`: numbers
    of fused loops above its holder and above its tile, which may shrink with loops below the
    holder.
    """

    place: TensorPlace
    holder_depth: int
    tile_depth: int


@dataclass(frozen=True, slots=True)
class PmappingSource:
    """Say where pmappings come from: a search below the region, and fused loops placed above.

    The region: the holders below the outermost memory, down to the lowest that backs a tensor on
    chip. `inner_program`: the search. `number`: its number among those of the Einsum. `loops`: the
    temporal fused loops, by the gaps of the region in which they stand.
    """

    inner_program: InnerProgram
    number: int
    loops: FusedLoops

    def holder_depth(self, place: int) -> int:
        """Return the number of fused loops, temporal and spatial, above a holder of the region.

        The region: the holders below the outermost memory, down to the lowest that backs a tensor
        on chip. `place`: number of the holder there, from the outermost in.
        """
        n_spatial = len(self.inner_program.spatial_loops_above(place))
        return n_spatial + self._loops_down_to(gap_below_lanes(place))

    def toll_depth(self, passage: TollPassage) -> int:
        """Return the number of fused loops, temporal and spatial, above a Toll of the region.

        A Toll charges what passes it. `passage`: where it stands.
        """
        if passage.lanes_above is None:
            return self.holder_depth(passage.region_place)
        return passage.lanes_above + self._loops_down_to(gap_above_lanes(passage.region_place))

    @property
    def loops_above_lanes(self) -> list[int]:
        """Number of temporal fused loops above each spatial one, outermost first.

        Fused loops are those above the lowest tensor exchanged on chip, which other Einsums may
        share.
        """
        spatial = self.inner_program.spatial_loops
        return [self._loops_down_to(gap_above_lanes(loop.region_place)) for loop in spatial]

    def _loops_down_to(self, gap: int) -> int:
        return sum(loop.gap <= gap for loop in self.loops)


@dataclass(frozen=True, slots=True)
class NumberedCompatibility:
    """Fused loops and places of tensors on chip, without tile shapes, with variables as numbers.

    Fused loops are those that an Einsum may share with others. That is what other Einsums must
    agree about, before names are given. `order`: (number of the variable, tile) of the loops,
    outermost first; the numbers -1, -2, … stand for the entries of `spatial_loops`, and tile 0 for
    a tile that differs by tile shape. `depths`: ((tensor, memory), number of loops above) of
    exchanged tensors on chip. `held_tensors`: contested tensors (held by other Einsums in the same
    loops, too) that are held, or pass a Toll, above the innermost loop. `spatial_loops`: the
    spatial ones of the loops.
    """

    order: LoopOrder
    depths: tuple[tuple[TensorPlace, int], ...]
    held_tensors: tuple[ContestedTensor, ...]
    spatial_loops: tuple[SharedSpatialLoop, ...] = ()


@dataclass(frozen=True, slots=True)
class PmappingBlock:
    """Arrays of the pmappings that agree in fused loops and tensors on chip but for tile shapes.

    One row per pmapping. `states`: number of the tile shape below the fused loops, all lanes
    together. `values`: energy in joule, latency in second, bits in use of the counted memories,
    then per exchange memory the bits reserved above loop 1, …, above loop n, and in all. `origins`:
    (number of the source, number of the label in its program).
    """

    states: Ints
    values: Floats
    origins: Ints


def sorted_compatibilities(
    pieces: Mapping[NumberedCompatibility, list[PmappingBlock]],
) -> list[tuple[NumberedCompatibility, list[PmappingBlock]]]:
    """Return the (key, value) pairs of a mapping sorted by key, so that results are reproducible.

    The keys are fused loops with tensors on chip; the values are blocks of pmappings that have
    them.
    """
    return sorted(pieces.items(), key=lambda item: astuple(item[0]))
