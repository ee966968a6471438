"""Time of a blocked product by engine, against numbers done by hand."""

from dataclasses import replace

import pytest

from tilewright.arch.errors import SpecError
from tilewright.arch.number_format import number_format
from tilewright.mapper.layout.costs.blocked_matmul import BlockedMatmul
from tilewright.mapper.layout.costs.blocked_matmul_time import blocked_matmul_time
from tilewright.mapper.layout.machines.layout_machine import load_machine

TRAINIUM = load_machine("trainium1")
BF16 = number_format("bf16")
TUTORIAL = BlockedMatmul(
    m=4096, k=8192, n=8192, block=(16, 8, 2), order="nkm", element=BF16, partial=BF16
)


def test_each_engine_by_hand() -> None:
    """32 · 64 · 16 matmuls of 512 + 32 cycles; 4096 evictions; 738 MB."""
    time = blocked_matmul_time(TUTORIAL, TRAINIUM)
    assert time.resources == pytest.approx(
        {
            "tensor engine": 32768 * 544 / 2.8e9,
            "vector engine": 4096 * 572 / 1.12e9,
            "DMA": 738_197_504 / 104e9,
        }
    )
    assert time.limit == "DMA"
    assert time.seconds == pytest.approx(738_197_504 / 104e9)


@pytest.mark.row("003.11")
def test_single_buffers_wait() -> None:
    """A load into one buffer, or an eviction from one bank, overlaps with nothing."""
    time = blocked_matmul_time(replace(TUTORIAL, depths=(1, 2), psum_banks=1), TRAINIUM)
    assert time.waiting == pytest.approx(
        {"load of operand 0": 536_870_912 / 104e9, "eviction": 4096 * 572 / 1.12e9}
    )
    assert time.limit == "tensor engine"
    assert time.seconds == pytest.approx(32768 * 544 / 2.8e9 + sum(time.waiting.values()))


def test_machines_without_rates_are_refused() -> None:
    with pytest.raises(SpecError, match="trainium2 has no kernel_dma_bytes_per_second"):
        blocked_matmul_time(TUTORIAL, load_machine("trainium2"))
    with pytest.raises(SpecError, match="wormhole has no memory sbuf"):
        blocked_matmul_time(TUTORIAL, load_machine("wormhole"))
