"""Predicted cycles of matrix products beside measured ones: every row of the reference folder."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from tilewright.arch.number_format import number_format
from tilewright.mapper.layout.costs.gemm import Gemm, stored
from tilewright.mapper.layout.costs.gemm_time import gemm_time
from tilewright.mapper.layout.machines.layout_machine import LayoutMachine, load_machine


def measured(shared_data: Path) -> list[dict[str, Any]]:
    text = (shared_data / "layouts" / "tt_gemm_perf.json").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)["rows"]
    return rows


def machine_of(row: dict[str, Any]) -> LayoutMachine:
    return load_machine({"N150": "wormhole", "P150": "blackhole"}[row["card"]])


def gemm_of(row: dict[str, Any]) -> Gemm:
    rows, columns = row["grid"]
    sizes = {"m": row["m"], "k": row["k"], "n": row["n"]}
    element = number_format(row["dtype"].lower())
    fidelity = row["fidelity"].lower()
    gemm = Gemm(**sizes, grid=(rows, columns), element=element, fidelity=fidelity)
    return stored(gemm, machine_of(row))


def error(row: dict[str, Any]) -> float:
    cycles = row["ideal_cycles"] / (row["device_util_pct"] / 100)
    return abs(gemm_time(gemm_of(row), machine_of(row)).cycles / cycles - 1)


def test_ideal_cycles_are_those_of_the_reference(shared_data: Path) -> None:
    """Exact where tiles divide over the cores; never less than the ideal."""
    for row in measured(shared_data):
        gemm, machine = gemm_of(row), machine_of(row)
        cycles = gemm.tile_products * machine.rates[f"tile_cycles_{gemm.fidelity}"]
        rows, columns = row["grid"]
        even = row["m"] % (32 * rows) == 0 == row["n"] % (32 * columns)
        assert cycles == row["ideal_cycles"] if even else cycles >= row["ideal_cycles"]


def test_half_of_the_products_are_within_15_percent(shared_data: Path) -> None:
    """Held-out rows are those at odd places; all rows, and each machine's, besides."""
    rows = measured(shared_data)
    assert median(map(error, rows[1::2])) <= 0.15
    assert median(map(error, rows)) <= 0.15
    for card in {row["card"] for row in rows}:
        assert median(error(row) for row in rows if row["card"] == card) <= 0.15
    assert sum(error(row) <= 0.15 for row in rows) >= 0.8 * len(rows)
