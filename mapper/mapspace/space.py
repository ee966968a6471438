"""The mapspace of one Einsum on one flattened architecture, under all its constraints."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tilewright.arch.components import TensorHolder
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.errors import InfeasibleMapping
from tilewright.mapper.mapping import Mapping
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.fitting import count_fitting
from tilewright.mapper.mapspace.locate import Place, locate
from tilewright.mapper.mapspace.moves import moved_tiles
from tilewright.mapper.mapspace.placement import Template, templates
from tilewright.mapper.mapspace.points import Points, overflow
from tilewright.mapper.mapspace.skeleton import Frame, Rules, skeleton
from tilewright.mapper.mapspace.uneven_points import UnevenPoints, check_uneven

if TYPE_CHECKING:
    from tilewright.arch.flat import FlatArch

_TRIES = 10_000


@dataclass(frozen=True, slots=True)
class MapspaceSize:
    """`points` counts (template, tile shapes) exactly, before capacity is looked at."""

    templates: int
    points: int


class Mapspace:
    """Mappings of `einsum` on `flat`: placements, holder orders, canonical loops, lanes.

    `backed` names tensors that the outermost memory must keep; `conventions` decides two rules
    only: under "accelforge" tensors.tile_shape is ignored and no_refetch_from_above leaves spatial
    loops alone, as in that tool (accelforge.md §2.7). `uneven` names rank variables that may have
    one loop, temporal or spatial, whose tiles do not divide the tile above it; its last tile is
    smaller (lattice-dp.md §9.5). UnsupportedFeature for uneven variables under "accelforge".
    """

    def __init__(
        self,
        einsum: Einsum,
        flat: FlatArch,
        conventions: str = "default",
        backed: frozenset[str] = frozenset(),
        uneven: frozenset[str] = frozenset(),
    ) -> None:
        own = conventions != "accelforge"
        check_uneven(einsum, uneven, own)
        self.einsum = einsum
        self.flat = flat
        self.backed = backed
        self.conventions = conventions
        self.uneven = uneven
        self.frame = Frame(einsum, flat.components, Rules(own, own, own), uneven)

    @cached_property
    def templates(self) -> tuple[Template, ...]:
        """All templates, in a fixed order."""
        holders = [c for c in self.flat.components if isinstance(c, TensorHolder)]
        return tuple(templates(holders, self.einsum, self.backed))

    @cached_property
    def _points(self) -> tuple[Points, ...]:
        kind = UnevenPoints if self.uneven else Points
        return tuple(kind(self.frame, t, skeleton(self.frame, t)) for t in self.templates)

    def __iter__(self) -> Iterator[Mapping]:
        """Enumerate the mappings that fit, in a fixed order."""
        for points in self._points:
            for tiles in points:
                yield assemble(self.frame, points.slots, tiles)

    @cached_property
    def size(self) -> MapspaceSize:
        """The exact number of templates and points."""
        return MapspaceSize(len(self.templates), sum(points.count for points in self._points))

    def fitting(self, limit: int = 1_000_000) -> int | None:
        """Return the exact number of points whose tiles fit; None after `limit` steps of counting.

        Where no memory can overflow it is `size.points`.
        """
        total = 0
        for points in self._points:
            found, steps = count_fitting(points, limit)
            limit -= steps
            if found is None or limit < 0:
                return None
            total += found
        return total

    def sample(self, rng: random.Random) -> Mapping:
        """Draw a mapping uniformly from the points that fit; InfeasibleMapping if none turns up."""
        counts = [points.count for points in self._points]
        if not sum(counts):
            raise InfeasibleMapping(
                f"the constraints leave no mapping of {self.einsum.name} at all",
                instead="relax loop_bounds, tile_shape, keep or the fanouts",
            )
        for _ in range(_TRIES):
            ticket = rng.randrange(sum(counts))
            number = 0
            while ticket >= counts[number]:
                ticket -= counts[number]
                number += 1
            points = self._points[number]
            tiles = points.sample(rng)
            if overflow(self.frame, points.slots, tiles) is None:
                return assemble(self.frame, points.slots, tiles)
        raise InfeasibleMapping(
            f"none of {_TRIES} random mappings of {self.einsum.name} fits its memories",
            instead="use the dynamic search, which finds one or proves that there is none",
        )

    def neighbours(self, mapping: Mapping) -> Iterator[Mapping]:
        """Yield the mappings of the same template that differ by one prime moved to another slot.

        Of a variable that may be uneven: those that differ in the tile of one loop.
        InfeasibleMapping if `mapping` is not in the mapspace.
        """
        place = self._locate(mapping)
        if isinstance(place, str):
            raise InfeasibleMapping(
                f"not a mapping of this mapspace: {place}", instead="a mapping that it contains"
            )
        points = self._points[place.template]
        for tiles in moved_tiles(self.frame, points.slots, place.tiles):
            if overflow(self.frame, points.slots, tiles) is None:
                yield assemble(self.frame, points.slots, tiles)

    def contains(self, mapping: Mapping) -> str | None:
        """Return None if the mapspace holds `mapping`, else the reason why it does not."""
        place = self._locate(mapping)
        if isinstance(place, str):
            return place
        found = overflow(self.frame, self._points[place.template].slots, place.tiles)
        if found is None:
            return None
        memory, parts = found
        size = getattr(self.frame.holder(memory), "size", 0)
        each = ", ".join(f"{tensor} {bits:g}" for tensor, bits in parts.items())
        return f"{memory} needs {sum(parts.values()):g} bits ({each}), its size is {size:g}"

    def _locate(self, mapping: Mapping) -> Place | str:
        return locate(
            self.frame, [(points.template, points.slots) for points in self._points], mapping
        )
