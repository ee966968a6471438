"""What a user's trial could not do (docs/validation/trial.md); rows that no other test holds."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from design_files import ARCH, WORKLOAD

from tilewright.arch.quantities import some
from tilewright.arch.spec.load import load_arch
from tilewright.dse import RunSettings, load_study, mapping_page, start_study
from tilewright.dse.command.cli import cli
from tilewright.dse.report.conclusion import census
from tilewright.dse.run.record import Trial
from tilewright.mapper import search
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator import Machine, load_profile
from tilewright.simulator.text.parsing import parse_program

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "validation" / "trial.md"
STUDY = """\
name: options
arch: {file: arch.yaml}
workload: {file: work.yaml}
model: analytical
mapper: {objective: energy * latency, front: [energy, usage], budget: 60, fusion: false, method: exact}
objectives: [energy]
constraints: [area <= 1.03 mm^2]
space: {arch.variables.Lanes: {values: [2, 4]}}
search: {sampler: grid}
"""  # noqa: E501
PROGRAM = """\
program nothing 1 x 1
code main
  buffer a f32 [2]
  mem1d all a extent 2
  task main entry
    @fmuls all, all, #2.0
place main [0:1, 0:1]
"""


def test_options_of_the_mapper_and_limits_as_written(tmp_path):
    for name, text in (("arch", ARCH), ("work", WORKLOAD), ("study", STUDY)):
        (tmp_path / f"{name}.yaml").write_text(text)
    start_study(load_study(tmp_path / "study.yaml"), tmp_path / "run", RunSettings())
    lines = (tmp_path / "run" / "trials.jsonl").read_text().splitlines()
    few, many = (json.loads(line) for line in lines)
    assert list(many["violations"]) == ["area <= 1.03 mm^2"]
    assert (few["proof"], few["gap"]) == ("optimal", 0.0)
    assert len(few["mappings"]) > 1
    report = (tmp_path / "run" / "report.html").read_text()
    assert "each design by its one mapping that is best in energy * latency" in report
    details = json.loads((tmp_path / "run" / "details" / "000000.json").read_text())
    assert [row["name"] for row in details["machine"]] == ["Main", "Buffer", "Array", "MAC"]
    assert any(row["limits"] and row["busy"] == 1.0 for row in details["machine"])
    assert details["roofline"].startswith("<svg")


def test_counts_and_nouns_agree():
    trial = Trial(
        number=0, batch=0, batch_size=1, key="a", point={}, status="feasible", metrics={"energy": 1}
    )
    assert census([trial], 1).startswith("1 design was tried: 1 can be built")
    assert census([trial, replace(trial, number=1, same_as=0)], 1).startswith(
        "1 design was tried in 2 trials"
    )
    assert census([trial, replace(trial, number=1)], 2, 1).endswith(
        "2 of them are beaten by no other, at the same point."
    )
    assert some(1, "element") == "1 element"


def test_short_forms_of_the_machine_s_objects():
    program, profile = parse_program(PROGRAM, "p.txt"), load_profile("wse2-sdk-sim")
    result = Machine(program, profile).run()
    assert repr(program) == "<Program nothing: 1 x 1 elements, 1 code, 0 colors>"
    assert repr(profile) == "<Profile wse2-sdk-sim: 850 MHz, 48 KiB>"
    assert repr(result) == f"<RunResult: {result.cycles} cycles; memory a>"
    assert "cycles" in result._repr_html_()


def test_the_page_of_a_mapping_from_python():
    arch, work = load_arch(ARCH), load_workload(WORKLOAD)
    page = mapping_page(arch, work, search(arch, work, objective="edp"))
    assert "The best mapping in energy-delay product" in page
    assert "Proven to be optimal" in page
    assert 'type="checkbox" id="theme"' in page


def test_each_row_of_the_page_has_its_test():
    rows = re.findall(r"`(tests/[\w/]+\.py)::(\w+)` \|", PAGE.read_text(encoding="utf-8"))
    assert len(rows) > 20
    for file, function in rows:
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf-8"), (file, function)


_SMALL = 'workload: {rank_sizes: {M: 4, K: 8}, bits_per_value: {All: %s}, einsums: ["%s"]}\n'
_MAP = ["map", "--arch", "edge_npu", "--workload", "w.yaml"]
_MISTAKES = {
    "did you mean bf16?": (("validate", "w.yaml"), ("bf17", "Y[m] = A[m, k]")),
    "put Z before Y": (("validate", "w.yaml"), ("8", 'Y[m] = Z[m, k]", "Z[m, k] = A[m, k]')),
    "add {einsum": (("validate", "w.yaml"), ("8", 'Y[m] = A[m]", "Z[m] = Y[m] + Y[M: 3 - m]')),
    "is a rank": (("workload", "show", "w.yaml", "--set", "M=9"), ("8", "Y[m] = A[m, k]")),
    "exact only": (
        [*_MAP, "--front", "energy,edp", "--method", "random"],
        ("8", "Y[m] = A[m, k]"),
    ),
}


@pytest.mark.parametrize("says", _MISTAKES)
def test_mistakes_are_told_with_what_to_write(says, tmp_path, monkeypatch):
    arguments, values = _MISTAKES[says]
    monkeypatch.chdir(tmp_path)
    Path("w.yaml").write_text(_SMALL % values)
    result = CliRunner().invoke(cli, list(arguments))
    assert (result.exit_code, says in result.stderr) == (2, True), result.stderr
