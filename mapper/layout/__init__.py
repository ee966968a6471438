"""Physical form of tensors: collapse, split over a grid, tile, place in memory (layouts.md)."""

from tilewright.mapper.layout.collapse import Collapse
from tilewright.mapper.layout.sharding import Sharding
from tilewright.mapper.layout.tile_addresses import MemoryMap, ModuloRotation, TileBuffer

__all__ = ["Collapse", "MemoryMap", "ModuloRotation", "Sharding", "TileBuffer"]
