"""The page of `tilewright map --report`: the figures of the answer, and nothing fetched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from nodes import arch_text, mac, memory

from tilewright.arch.errors import TilewrightError
from tilewright.arch.quantities import quantity
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.cli import cli
from tilewright.dse.command.mapping_answer import MappingAnswer, find_mapping
from tilewright.dse.report.mapping.mapping_page import (
    PageSubject,
    front_of,
    render_mapping,
    render_score,
)
from tilewright.mapper.fronts.front import Front
from tilewright.mapper.mapping.mapping import ComputeNode, Mapping
from tilewright.mapper.mapping.nest_lines import lines_of, nest_text
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = arch_text(
    memory("DRAM", "inf", "keep: All", (100, 4)),
    memory("Buffer", 512, "may_keep: All", (2, "inf")),
    mac(),
)
WORKLOAD = """
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 8, K: 8, N: 8, P: 8}
  einsums:
  - {einsum: "T[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: T}}
  - {einsum: "Z[m, p] = T[m, n] * C[n, p]", renames: {input: T, weight: C, output: Z}}
"""


SUBJECT = PageSubject(
    "<chain> on & machine", load_arch(ARCH), load_workload(WORKLOAD), "tilewright map '<x>'"
)


@pytest.fixture(scope="module", name="answer")
def answered() -> MappingAnswer:
    options = {"objective": "energy", "front": ("energy", "latency")}
    return find_mapping(load_arch(ARCH), load_workload(WORKLOAD), options)


def test_page_shows_the_figures_of_the_answer_and_fetches_nothing(answer: MappingAnswer) -> None:
    page = render_mapping(answer, SUBJECT)
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


def test_a_point_of_the_front_is_shown_instead(answer: MappingAnswer) -> None:
    last = len(answer.result.front) - 1
    page = render_mapping(answer.at(last), SUBJECT)
    assert f"Point {last} of the trade-off" in page
    assert quantity(answer.result.front[last].score.latency, "latency") in page
    with pytest.raises(TilewrightError, match="no such point"):
        answer.at(last + 1)


def test_a_mapping_without_a_search_has_a_page(answer: MappingAnswer) -> None:
    page = render_score(answer.result.best, SUBJECT)
    assert "What this mapping costs" in page
    assert "Searched in" not in page
    assert 'id="front"' not in page
    for words in ("Roofline", "By component", "By tensor", "!Storage"):
        assert words in page


def test_points_and_rows_lead_to_each_other() -> None:
    options = {"objective": "energy", "front": ("energy", "usage.Buffer")}
    answer = find_mapping(SUBJECT.arch, SUBJECT.workload, options)
    assert len(answer.result.front) > 1
    page = render_mapping(answer, SUBJECT)
    targets = set(re.findall(r' id="([^"]+)"', page))
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert links <= targets
    numbers = range(len(answer.result.front))
    assert {f"point-{n}" for n in numbers} | {f"dot-{n}" for n in numbers} <= links


def test_a_third_metric_is_colour_and_axes_vary() -> None:
    def point(energy: float, bits: int) -> ScoredMapping:
        score = Score(energy, 1.0, 0.0, 0.0, energy, 0.0, capacity={"A": bits, "B": 9 - bits})
        return ScoredMapping(Mapping((ComputeNode("Z", "MAC"),)), score)

    points = [point(1.0, 5), point(2.0, 3), point(5.0, 1)]
    chart = front_of(Front(points, ("energy", "latency", "usage.A", "usage.B")))
    assert chart is not None
    assert (chart.x.metric, chart.y.metric, chart.third) == ("energy", "usage.A", "usage.B")
    assert chart.shades == (0.0, 0.5, 1.0)
    two = front_of(Front(points, ("energy", "latency")))
    assert two is not None
    assert (two.x.metric, two.y.metric, two.third) == ("energy", "latency", None)
    assert front_of(Front(points[:1], ("energy", "latency"))) is None


def test_command_writes_the_page(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ARCH)
    (tmp_path / "w.yaml").write_text(WORKLOAD)
    page = tmp_path / "page.html"
    files = ["--arch", str(tmp_path / "a.yaml"), "--workload", str(tmp_path / "w.yaml")]
    done = CliRunner().invoke(cli, ["map", *files, "--report", str(page)])
    assert done.exit_code == 0, done.output
    assert "Mapping · w on a" in page.read_text(encoding="utf-8")
    saved = str(tmp_path / "m.yaml")
    wanted = ["--front", "energy,latency", "--point", "0", "--save", saved, "--html", str(page)]
    assert CliRunner().invoke(cli, ["map", *files, *wanted]).exit_code == 0
    assert "Point 0 of the trade-off" in page.read_text(encoding="utf-8")
    scored = ["evaluate", *files, "--mapping", saved, "--html", str(page)]
    assert CliRunner().invoke(cli, scored).exit_code == 0
    assert "Mapping · m: w on a" in page.read_text(encoding="utf-8")
    refused = CliRunner().invoke(cli, ["map", *files, "--report", str(tmp_path / "no/page.html")])
    assert refused.exit_code != 0
