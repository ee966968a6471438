"""The page of `tilewright map --report`: the figures of the answer, and nothing fetched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tilewright.arch.quantities import quantity
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.cli import cli
from tilewright.dse.command.mapping_answer import MappingAnswer, find_mapping
from tilewright.dse.report.mapping_page import grid, memories, render_mapping, stacked
from tilewright.mapper.mapping.nest_lines import lines_of, nest_text
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = """
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    leak_power: 0
    area: 0
    tensors: {keep: All}
    actions: [{name: read, energy: 100, throughput: 4}, {name: write, energy: 100, throughput: 4}]
  - !Memory
    name: Buffer
    size: 512
    leak_power: 0
    area: 0
    tensors: {may_keep: All}
    actions: [{name: read, energy: 2, throughput: inf}, {name: write, energy: 2, throughput: inf}]
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions: [{name: compute, energy: 1, throughput: 1}]
"""
WORKLOAD = """
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 8, K: 8, N: 8, P: 8}
  einsums:
  - {einsum: "T[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: T}}
  - {einsum: "Z[m, p] = T[m, n] * C[n, p]", renames: {input: T, weight: C, output: Z}}
"""


@pytest.fixture(scope="module", name="answer")
def answered() -> MappingAnswer:
    options = {"objective": "energy", "front": ("energy", "latency")}
    return find_mapping(load_arch(ARCH), load_workload(WORKLOAD), options)


def test_page_shows_the_figures_of_the_answer_and_fetches_nothing(answer: MappingAnswer) -> None:
    page = render_mapping(answer, "<chain> on & machine", "tilewright map '<x>'")
    score = answer.result.best.score
    assert "&lt;chain&gt; on &amp; machine" in page
    assert "<chain>" not in page
    assert "<script" not in page
    assert not re.search(r"(?:src|href)=\"(?!#)", page)
    assert "@import" not in page
    assert "url(" not in page
    for name in ("energy", "latency", "edp"):
        assert f'<span class="card-value">{quantity(getattr(score, name), name)}</span>' in page
    best = answer.result.best
    for line in nest_text(lines_of(best.mapping, answer.workload, best.score)).splitlines():
        assert line in page
    assert page.count('<tr id="point-') == len(answer.result.front)


def test_bars_add_up_and_the_longest_fills_its_track() -> None:
    chart = stacked("title", {"a": [("x", 3.0), ("y", 1.0)], "b": [("y", 2.0)], "c": []}, "J")
    assert [bar.name for bar in chart.bars] == ["a", "b"]
    assert [sum(part[1] for part in bar.parts) for bar in chart.bars] == [100.0, 50.0]
    assert [bar.percent for bar in chart.bars] == ["67 %", "33 %"]
    assert chart.kinds == ("x", "y")


def test_memories_are_shown_by_share_of_their_size(answer: MappingAnswer) -> None:
    best = answer.result.best
    shown = {bar.name: bar.parts[0][1] for bar in memories(best).bars}
    assert shown == {"Buffer": pytest.approx(100 * float(best.score.capacity["Buffer"]) / 512)}


def test_table_sums_cells_in_the_order_of_the_machine() -> None:
    cells = {("Q", "MAC"): 1.0, ("Q", "DRAM"): 4.0, ("Z", "DRAM"): 2.0, ("Z", "unused"): 0.0}
    table = grid("title", cells, "J", ("DRAM", "unused", "MAC"))
    assert table.columns == ("DRAM", "MAC")
    assert table.rows == (("Q", (("4 J", 1.0), ("1 J", 0.25))), ("Z", (("2 J", 0.5), ("", 0.0))))
    assert grid("title", {("Q", "MAC"): 0.0}, "J").rows == ()


def test_command_writes_the_page(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ARCH)
    (tmp_path / "w.yaml").write_text(WORKLOAD)
    page = tmp_path / "page.html"
    files = ["--arch", str(tmp_path / "a.yaml"), "--workload", str(tmp_path / "w.yaml")]
    done = CliRunner().invoke(cli, ["map", *files, "--report", str(page)])
    assert done.exit_code == 0, done.output
    assert "Mapping · w on a" in page.read_text(encoding="utf-8")
    refused = CliRunner().invoke(cli, ["map", *files, "--report", str(tmp_path / "no/page.html")])
    assert refused.exit_code != 0
