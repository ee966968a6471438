"""Rows of vector operations as kernels have them, and reads that meet on a bank, counted out."""

import random
from itertools import product
from math import prod

import numpy as np
import pytest
from grid_mappings import FORMS, einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.einsum import Affine, TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.compile.code.bank_costs import BankRead, meet
from tilewright.simulator.compile.columns import BANKS
from tilewright.simulator.lowering.kernel import kernel_of
from tilewright.simulator.search.bounds.vector_reads import TileInMemory, VectorReads


def held(name: str, forms: list[dict[str, int]], tile: dict[str, int], wide: int) -> TileInMemory:
    indices = ((f"R{n}", Affine(tuple(form.items()))) for n, form in enumerate(forms))
    access = TensorAccess(name, tuple(indices), output=False)
    return TileInMemory(access, tile, wide, keeps_order=False)


def most_apart(reads: VectorReads, group: int) -> int:
    """Count the turns without conflict for each distance of the tiles, and return the most."""
    one, other = (reads.tiles[name].moves(reads.vector) for name in ("A", "B"))
    wide = reads.tiles["A"].wide, reads.tiles["B"].wide
    inner = reads.vector[-1]
    first, second = (
        BankRead(0, words, (reads.turns[inner],), (moves.get(inner, 0) * words,))
        for moves, words in zip((one, other), wide, strict=True)
    )
    counts = []
    for begin in range(BANKS):
        count = 0
        for point in product(*(range(reads.turns[name]) for name in reads.outer)):
            turns = list(zip(reads.outer, point, strict=True))
            apart = sum(one.get(n, 0) * wide[0] * t - other.get(n, 0) * wide[1] * t
                        for n, t in turns)  # fmt: skip
            count += not meet(first, second, begin + apart, group)
        counts.append(count)
    return max(counts)


@pytest.mark.parametrize("seed", range(40))
def test_the_best_distance_of_two_tiles_is_found(seed: int) -> None:
    """By trying all; of several sizes together as of each alone."""
    draw = random.Random(seed)
    sizes = [{name: draw.randint(1, 12) for name in "mpqrs"} for _ in range(6)]
    forms = [{"m": 1}], [{"p": 1, "r": draw.choice((1, 2))}, {"q": draw.choice((1, 2)), "s": 1}]
    wide, group = draw.choice(((1, 4), (2, 2), (1, 2), (2, 1)))

    def reads(tile: dict[str, int]) -> VectorReads:
        tiles = {
            "A": held("A", [*forms[0], *forms[1]], tile, wide),
            "B": held("B", [{"m": 1}, {"p": 1}, {"q": 1}], tile, wide),
        }
        return VectorReads(("p", "q"), ("m", "r", "s"), tile, tiles)

    together = {name: np.array([tile[name] for tile in sizes]) for name in "mpqrs"}
    found = np.broadcast_to(reads(together).most_apart("A", "B", group), len(sizes))
    rows = np.broadcast_to(reads(together).row, len(sizes))
    for place, tile in enumerate(sizes):
        one = reads(tile)
        assert one.most_apart("A", "B", group) == found[place] == most_apart(one, group)
        assert one.row == rows[place]


@pytest.mark.parametrize("staying", [False, True])
def test_rows_and_moves_are_those_of_kernels(*, staying: bool) -> None:
    checked = 0
    for form in FORMS:
        flat, einsum = grid_arch(form, 16, 2, 2), einsum_workload(form, 16).einsums[0]
        stays = frozenset({einsum.outputs[0].tensor}) if staying else frozenset[str]()
        space = GridMapspace(grid_of(flat), einsum, staying=stays)
        families = list(space.families())
        for family in random.Random(form).sample(families, min(4, len(families))):
            mapping = space.mapping_of(space.members(family)[0])
            try:
                read = space_time(flat, einsum, mapping, stays)
                kernel = kernel_of(read)
            except InfeasibleMapping:
                continue
            vector = [read.time[number].variable for number in kernel.vector]
            tiles = {
                t.name: TileInMemory(t.access, t.tile, 1, t.name in stays)
                for t in read.tensors
                if t.name != read.scalar
            }
            turns = {read.time[n].variable: read.time[n].count for n in kernel.vector}
            for name, tile in tiles.items():
                moves = tile.moves(vector)
                layout = kernel.layouts[name].moves
                numbers = range(read.kernel, len(read.time))
                assert [moves.get(read.time[n].variable, 0) for n in numbers] == [
                    layout[n] for n in numbers
                ]
            loops = kernel.loops[read.output.name]
            row = VectorReads(vector, (), turns, tiles).row
            assert row == (loops[-1][0] if loops else 1)
            assert prod(turns.values()) % row == 0
            checked += 1
    assert checked > 100
