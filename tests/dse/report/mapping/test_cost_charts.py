"""The charts of a mapping's costs: stacked bars, a waterfall, shaded tables."""

from __future__ import annotations

import pytest
from cascades import TWO_PRODUCTS

from tilewright.dse.report.mapping.cost_charts import (
    cost_charts,
    einsum_grids,
    grid,
    memories,
    stacked,
    waterfall,
)
from tilewright.mapper import search
from tilewright.studies import path_of

ARCH = path_of("hardware", "edge_npu")


def test_bars_add_up_and_the_longest_fills_its_track() -> None:
    chart = stacked("title", {"a": [("x", 3.0), ("y", 1.0)], "b": [("y", 2.0)], "c": []}, "J")
    assert [bar.name for bar in chart.bars] == ["a", "b"]
    assert [sum(part[1] for part in bar.parts) for bar in chart.bars] == [100.0, 50.0]
    assert [bar.percent for bar in chart.bars] == ["67 %", "33 %"]
    assert chart.kinds == ("x", "y")


def test_memories_are_shown_by_share_of_their_size() -> None:
    best = search(ARCH, TWO_PRODUCTS).best
    shown = {bar.name: bar.parts[0][1] for bar in memories(best).bars}
    used = {name: float(bits) for name, bits in best.score.capacity.items()}
    sizes = {"GlobalBuffer": 256 * 8192, "Register": 512 * 8}
    assert shown == {name: pytest.approx(100 * used[name] / size) for name, size in sizes.items()}


def test_table_sums_cells_in_the_order_of_the_machine() -> None:
    cells = {("Q", "MAC"): 1.0, ("Q", "DRAM"): 4.0, ("Z", "DRAM"): 2.0, ("Z", "unused"): 0.0}
    table = grid("title", cells, "J", ("DRAM", "unused", "MAC"))
    assert table.columns == ("DRAM", "MAC")
    assert table.rows == (("Q", (("4 J", 1.0), ("1 J", 0.25))), ("Z", (("2 J", 0.5), ("", 0.0))))
    assert grid("title", {("Q", "MAC"): 0.0}, "J").rows == ()


def test_a_waterfall_begins_where_the_bar_above_ends() -> None:
    chart = waterfall(stacked("title", {"a": [("x", 3.0)], "b": [("x", 1.0)]}, "J"))
    assert [(bar.offset, bar.parts[0][1]) for bar in chart.bars] == [(0.0, 75.0), (75.0, 25.0)]
    assert waterfall(stacked("title", {}, "J")).bars == ()


def test_charts_and_grids_of_a_search() -> None:
    best = search(ARCH, TWO_PRODUCTS).best
    energy = cost_charts(best)[0]
    assert sum(width for bar in energy.bars for _, width, _ in bar.parts) == pytest.approx(100)
    assert einsum_grids(best)[0].title == "Energy by Einsum and component"
