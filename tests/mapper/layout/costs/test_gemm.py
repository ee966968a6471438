"""Tiles of a core, its buffers, and where the data of a product fit."""

from dataclasses import replace

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.number_format import number_format
from tilewright.mapper.layout.costs.gemm import Gemm, stored
from tilewright.mapper.layout.machines.layout_machine import load_machine
from tilewright.mapper.workload.errors import InfeasibleMapping

WORMHOLE = load_machine("wormhole")
SMALL = Gemm(
    m=512, k=1024, n=2048, grid=(8, 8), element=number_format("bfp8"), fidelity="lofi"
)  # fmt: skip


def test_tiles_of_the_busiest_core() -> None:
    """16 × 64 tiles over 8 × 8 cores: 2 × 8 of the result, 32 along k; a rest rounds up."""
    assert SMALL.core_tiles == (2, 8, 32)
    assert SMALL.tile_products == 512
    assert SMALL.tile_bytes == 1088
    assert replace(SMALL, m=513).core_tiles == (3, 8, 32)


def test_buffers_of_a_core() -> None:
    """Blocks of 4 tiles along k are doubled; shards of the operand and of the result stay."""
    sizes = {b.name: (b.tile_bytes // 1088, b.depth) for b in SMALL.buffers()}
    assert sizes == {
        "blocks of operand 0": (8, 2),
        "blocks of operand 1": (32, 2),
        "operand 0": (8, 1),
        "result": (16, 1),
    }
    assert SMALL.packed(WORMHOLE).used == (16 + 64 + 8 + 16) * 1088
    parts = replace(SMALL, resident=False, passes=(2, 4))
    sizes = {b.name: (b.tile_bytes // 1088, b.depth) for b in parts.buffers()}
    assert sizes == {
        "blocks of operand 0": (4, 2),
        "blocks of operand 1": (8, 2),
        "result": (2, 1),
    }


def test_large_products_go_to_dram_in_passes() -> None:
    """The passes chosen read the fewest operands again, and no fewer passes fit."""
    assert stored(SMALL, WORMHOLE) == SMALL
    large = replace(SMALL, m=16384, k=16384, n=16384)
    chosen = stored(large, WORMHOLE)
    assert not chosen.resident
    assert chosen.packed(WORMHOLE).used <= 1499136
    rows, columns = chosen.passes
    for fewer in ((rows - 1, columns), (rows, columns - 1)):
        if min(fewer) >= 1:
            with pytest.raises(InfeasibleMapping, match="result"):
                replace(chosen, passes=fewer).packed(WORMHOLE)


def test_what_fits_no_core_is_refused() -> None:
    with pytest.raises(InfeasibleMapping, match="blocks of operand 0"):
        stored(replace(SMALL, k=32 * 2000, inner_block=2000), WORMHOLE)
    with pytest.raises(SpecError, match="1 or more"):
        replace(SMALL, m=0)
