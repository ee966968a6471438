"""Predicted times of the four kernels of a public tutorial beside the measured ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilewright.arch.number_format import number_format
from tilewright.mapper.layout.costs.blocked_matmul import BlockedMatmul, Order
from tilewright.mapper.layout.costs.blocked_matmul_time import blocked_matmul_time
from tilewright.mapper.layout.machines.layout_machine import load_machine

KERNELS: dict[str, tuple[tuple[int, int, int], Order]] = {
    "tiled": ((1, 1, 1), "mnk"),
    "opt1 hoist load": ((1, 64, 1), "mnk"),
    "opt2 block free dims": ((2, 64, 2), "mnk"),
    "opt3 fully optimized": ((16, 8, 2), "nkm"),
}


@pytest.mark.row("003.17")
def test_the_four_kernels_are_within_3_percent(shared_data: Path) -> None:
    """The DMA rate is fitted on the first and the third (theory/layouts.md §14)."""
    text = (shared_data / "layouts" / "nki_perf.json").read_text(encoding="utf-8")
    bf16 = number_format("bf16")
    rows = json.loads(text)["matmul_tutorial"]["rows"]
    assert {row["kernel"] for row in rows} == set(KERNELS)
    for row in rows:
        block, order = KERNELS[row["kernel"]]
        kernel = BlockedMatmul(
            m=4096, k=8192, n=8192, block=block, order=order, element=bf16, partial=bf16
        )
        time = blocked_matmul_time(kernel, load_machine("trainium1"))
        assert time.seconds * 1e3 == pytest.approx(row["latency_ms"], rel=0.03), row["kernel"]
