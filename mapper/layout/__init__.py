"""Physical form of tensors: collapse, split over a grid, tile, map, place (layouts.md).

A `Layout` composes five frozen parts, each with an exact inverse. `schemes` builds named ones,
`queries` answers questions about them, `text` reads and prints them, `legality` says what a machine
of `machines` does not allow, `enumeration` lists the distinct ones, `packing` finds addresses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arch.lazy import lazily

if TYPE_CHECKING:
    from tilewright.arch.number_format import NumberFormat, number_format
    from tilewright.mapper.layout.affine_map import AffineMap
    from tilewright.mapper.layout.collapse import Collapse
    from tilewright.mapper.layout.grid_map import GridMap
    from tilewright.mapper.layout.grid_split import GridSplit
    from tilewright.mapper.layout.layout import Layout, Location
    from tilewright.mapper.layout.layout_phases import LayoutPhases
    from tilewright.mapper.layout.memory_map import MemoryMap, TileBuffer
    from tilewright.mapper.layout.rotation import ModuloRotation
    from tilewright.mapper.layout.tile_placement import BlockPlace, PlacementOverlap, TilePlacement
    from tilewright.mapper.layout.tiling import Tiling

__all__ = [
    "AffineMap",
    "BlockPlace",
    "Collapse",
    "GridMap",
    "GridSplit",
    "Layout",
    "LayoutPhases",
    "Location",
    "MemoryMap",
    "ModuloRotation",
    "NumberFormat",
    "PlacementOverlap",
    "TileBuffer",
    "TilePlacement",
    "Tiling",
    "number_format",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "AffineMap": "tilewright.mapper.layout.affine_map",
        "BlockPlace": "tilewright.mapper.layout.tile_placement",
        "Collapse": "tilewright.mapper.layout.collapse",
        "GridMap": "tilewright.mapper.layout.grid_map",
        "GridSplit": "tilewright.mapper.layout.grid_split",
        "Layout": "tilewright.mapper.layout.layout",
        "LayoutPhases": "tilewright.mapper.layout.layout_phases",
        "Location": "tilewright.mapper.layout.layout",
        "MemoryMap": "tilewright.mapper.layout.memory_map",
        "ModuloRotation": "tilewright.mapper.layout.rotation",
        "NumberFormat": "tilewright.arch.number_format",
        "PlacementOverlap": "tilewright.mapper.layout.tile_placement",
        "TileBuffer": "tilewright.mapper.layout.memory_map",
        "TilePlacement": "tilewright.mapper.layout.tile_placement",
        "Tiling": "tilewright.mapper.layout.tiling",
        "number_format": "tilewright.arch.number_format",
    },
)
