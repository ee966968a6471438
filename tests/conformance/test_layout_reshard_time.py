"""Predicted cycles of reshards beside measured ones: every row of the reference folder."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from recorded_layouts import recorded_layouts

from tilewright.mapper.layout.costs.reshard_time import (
    ReshardTime,
    RoutedRead,
    read_time,
    reshard_time,
)
from tilewright.mapper.layout.machines.layout_machine import load_machine


def measured(shared_data: Path) -> list[dict[str, Any]]:
    text = (shared_data / "layouts" / "tt_npe_reshard_golden.json").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = json.loads(text)["workloads"]
    return rows


def predicted(row: dict[str, Any]) -> ReshardTime:
    """From sources, destinations, sizes and networks; the recorded issue times are not read."""
    reads = [
        RoutedRead((x, y), (to_x, to_y), {"NOC_0": 0, "NOC_1": 1}[network], size * count, count)
        for x, y, to_x, to_y, size, count, network, _ in row["transfers"]
    ]
    dram = [read.source for read in reads if read.source[0] in (0, 5)]
    return read_time(reads, load_machine("wormhole"), dram)


def test_the_bounds_are_those_of_the_reference(shared_data: Path) -> None:
    """Source port, destination port and link, without the fitted constants."""
    names = {"src_niu": "source port", "dst_niu": "destination port", "link": "link"}
    for row in measured(shared_data):
        resources = predicted(row).resources
        for theirs, ours in names.items():
            assert abs(resources[ours] - row["resource_bound_cycles"][theirs]) < 1, row["name"]


def test_half_of_the_predictions_are_within_15_percent(shared_data: Path) -> None:
    rows = measured(shared_data)
    errors = [abs(predicted(row).cycles / row["golden_cycles"] - 1) for row in rows]
    assert median(errors) <= 0.15
    assert sum(error <= 0.15 for error in errors) >= 0.7 * len(errors)


def test_transfers_of_two_layouts_are_those_that_were_recorded(shared_data: Path) -> None:
    """Bytes from every source to every destination; and the cycles, from the layouts alone.

    Nine in ten: a name says grids and kinds, not the tensor, so some may have another one.
    """
    machine, rows = load_machine("wormhole"), measured(shared_data)
    pairs = [(row, recorded_layouts(row, machine)) for row in rows]
    errors = [
        abs(reshard_time(*pair, machine).cycles / row["golden_cycles"] - 1)
        for row, pair in pairs
        if pair is not None
    ]
    assert len(errors) >= 0.9 * len(rows)
    assert median(errors) <= 0.15
