"""The two layouts of a recorded reshard, from its name and what it moved.

A name such as 2x2_BLOCK_TO_2x8_HEIGHT says grids and kinds, not the tensor. The shape is the first
of the recorded bytes, in tiles of 32 × 32 bf16, whose transfers carry the recorded bytes from every
source to every destination.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tilewright.arch.errors import SpecError
from tilewright.arch.number_format import number_format
from tilewright.mapper.layout import AffineMap, GridMap, GridSplit, Layout, Tiling
from tilewright.mapper.layout.costs.reshard_time import Node, node_of
from tilewright.mapper.layout.machines.layout_machine import LayoutMachine
from tilewright.mapper.layout.queries.transfers import transfers
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor

TILES = Tiling((32, 32), number_format("bf16"))
Pair = tuple[Layout, Layout]


def recorded_layouts(row: dict[str, Any], machine: LayoutMachine) -> Pair | None:
    """Return source and destination of a recorded reshard, None if no shape gives its transfers."""
    recorded = Counter[tuple[Node, Node]]()
    for x, y, to_x, to_y, size, count, _, _ in row["transfers"]:
        recorded[(x, y), (to_x, to_y)] += size * count
    for pair in candidates(row, machine):
        if moved(*pair, machine) == recorded:
            return pair
    return None


def candidates(row: dict[str, Any], machine: LayoutMachine) -> Iterator[Pair]:
    """Yield the layouts that the name means, for every shape of the recorded bytes."""
    source, destination = row["name"].split("_TO_")
    tiles = row["total_bytes"] // TILES.tile_bytes
    for high in range(1, tiles + 1):
        if tiles % high == 0:
            shape = (32 * high, 32 * tiles // high)
            try:
                yield of_name(source, shape, machine), of_name(destination, shape, machine)
            except SpecError:
                continue


def of_name(name: str, shape: tuple[int, int], machine: LayoutMachine) -> Layout:
    """Return the layout of `dram` (interleaved), `2x8_BLOCK`, or `2x8_HEIGHT` (rows of units)."""
    if name == "dram":
        return ShardedTensor(shape, machine.memories["dram"].units, TILES, "dram").interleaved()
    grid, kind = name.split("_")
    rows, columns = map(int, grid.split("x"))
    tensor = ShardedTensor(shape, machine.units, TILES)
    if kind == "BLOCK":
        return tensor.block_sharded(rows, columns)
    if kind != "HEIGHT":
        raise SpecError(f"no kind {kind}")
    cells = (rows * columns, 1)
    affine = AffineMap.parse(f"(0, d0 // {columns}, d0 % {columns})", 2)
    split = GridSplit.ceil(tensor.collapse.extents, cells, TILES.sides)
    return Layout.on_grid(tensor.collapse, split, TILES, GridMap(cells, machine.units, affine))


def moved(
    source: Layout, destination: Layout, machine: LayoutMachine
) -> Counter[tuple[Node, Node]]:
    """Return the bytes that move from each network node to each other."""
    result = Counter[tuple[Node, Node]]()
    for move in transfers(source, destination):
        start = (
            machine.dram_nodes[move.source[-1]]
            if source.memory == "dram"
            else node_of(move.source, machine)
        )
        result[start, node_of(move.destination, machine)] += move.bytes
    return result
