"""The command line: answers on standard output, words on standard error, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from tilewright.dse.command.cli import cli
from tilewright.dse.command.console import parse_settings
from tilewright.dse.models import evaluators

SIMPLE_ARCH = """\
arch:
  variables: {GridX: 4, GridY: 4}
  nodes:
  - !Memory
    name: Main
    size: inf
    leak_power: 0
    area: 0
    tensors: {keep: All}
    actions:
    - {name: read, energy: 1, latency: 0}
    - {name: write, energy: 1, latency: 0}
  - !Compute
    name: MAC
    leak_power: 0
    area: 0
    actions:
    - {name: compute, energy: 1, latency: 1}
"""
SIMPLE_WORKLOAD = """\
workload:
  rank_sizes: {T: 4, F: 8, G: 16}
  bits_per_value: {All: 8}
  einsums:
  - einsum: "up[t, f] = tokens[t, g] * WU[g, f]"
    renames: {input: tokens, weight: WU, output: up}
"""


@pytest.fixture
def study(toy, tmp_path, monkeypatch):
    """A study file whose model is the toy; the working directory is its folder."""
    # The preflight knows the choices of real mappings; the toy has one of its own.
    path = toy.write_study(tmp_path, toy.STUDY.replace("two_phase, tree]", "two_phase]"))
    (tmp_path / "arch.yaml").write_text(SIMPLE_ARCH)
    (tmp_path / "workload.yaml").write_text(SIMPLE_WORKLOAD)
    monkeypatch.setattr("tilewright.dse.run.runner.make_evaluator", lambda spec: toy.ToyModel())
    monkeypatch.setattr("tilewright.dse.run.rerun.make_evaluator", lambda spec: toy.ToyModel())
    monkeypatch.chdir(tmp_path)
    return path


def run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def test_run_prints_the_answer_and_the_place_of_the_report(study, tmp_path):
    done = run("study", "run", study, "--workers", 1, "--trials", 24)
    assert done.exit_code == 0, done.output
    assert "Lowest energy" in done.stdout
    assert "report: runs/toy/report.html" in done.stdout
    assert "batch 3: 24/24 trials" in done.stderr
    assert (tmp_path / "runs/toy/report.html").exists()
    again = run("study", "run", study, "--workers", 1, "--trials", 8)
    assert "runs/toy-2/report.html" in again.stdout


def test_json_is_one_document_and_nothing_else(study):
    done = run("study", "run", study, "--workers", 1, "--trials", 16, "--json")
    document = json.loads(done.stdout)
    assert document["ending"] == "done"
    assert document["trials"] == 16
    assert document["front"][0]["metrics"]["energy"] > 0
    resumed = run("study", "resume", document["directory"], "--workers", 1, "--json")
    assert json.loads(resumed.stdout)["front"] == document["front"]
    report = run("study", "report", document["directory"], "--json")
    assert json.loads(report.stdout)["report"].endswith("report.html")
    assert json.loads(run("study", "list", "--json").stdout)[0]["name"]


def test_an_existing_run_is_refused_with_the_way_on(study):
    assert run("study", "run", study, "--workers", 1, "--trials", 8, "--out", "r").exit_code == 0
    done = run("study", "run", study, "--workers", 1, "--trials", 8, "--out", "r")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "r holds a run already" in done.stderr
    assert "tilewright study resume r" in done.stderr


def test_set_reaches_the_study(study):
    done = run("study", "run", study, "--workers", 1, "--out", "r", "--json",
               "--set", "search.trials=5", "--set", "seed=9")  # fmt: skip
    assert json.loads(done.stdout)["trials"] == 5
    assert "seed: 9\n" in (study.parent / "r/spec.resolved.yaml").read_text()


def test_no_feasible_design_is_exit_code_3(study, toy, monkeypatch):
    from tilewright.arch.errors import SpecError

    class Never:
        def evaluate(self, point):
            raise SpecError("it never fits")

    monkeypatch.setattr("tilewright.dse.run.runner.make_evaluator", lambda spec: Never())
    done = run("study", "run", study, "--workers", 1, "--trials", 8)
    assert done.exit_code == 3
    assert "8 × it never fits" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["study", "run", "wafer_matvek"], "did you mean wafer_matvec?"),
        (["study", "resume", "nowhere"], "is not the directory of a run"),
        (["study", "run", "study.yaml", "--set", "search.trials"], "--set takes KEY=VALUE"),
        (["validate", "nothing.yaml"], "there is no such file"),
        (["validate", "toast.yaml"], "this is no file of ours"),
        (
            ["study", "run", "study.yaml", "--set", "space.arch.variables.GridX.pow2.0=3"],
            "the ends of pow2 are powers of two",
        ),
    ],
)
def test_errors_are_one_message_and_exit_code_2(study, arguments, words):
    (study.parent / "toast.yaml").write_text("bread: white\n")
    done = run(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_knob_that_names_nothing_is_an_error_before_the_first_trial(study):
    study.write_text(study.read_text().replace("variables.GridX", "variables.GridXY"))
    done = run("study", "run", study, "--workers", 1)
    assert done.exit_code == 2
    assert "the architecture has no variable GridXY" in done.stderr
    assert not (study.parent / "runs" / "toy" / "trials.jsonl").exists()


def test_validate_knows_each_kind(study):
    done = run("validate", "arch.yaml", "workload.yaml", "study.yaml", "--json")
    assert done.exit_code == 0, done.stderr
    verdicts = json.loads(done.stdout)
    assert [v["kind"] for v in verdicts] == ["architecture", "workload", "study"]
    assert all(v["valid"] for v in verdicts)
    (study.parent / "arch.yaml").write_text("arch: {nodes: []}\n")
    broken = run("validate", "arch.yaml", "workload.yaml", "--json")
    assert broken.exit_code == 2
    assert [v["valid"] for v in json.loads(broken.stdout)] == [False, True]
    assert "no Compute" in broken.stderr


def test_every_help_text_teaches(study):
    commands = ["", "study", "study run", "study resume", "study report", "study list",
                "evaluate", "map", "simulate", "validate"]  # fmt: skip
    for command in commands:
        done = run(*command.split(), "--help")
        assert done.exit_code == 0
        assert len(done.stdout.splitlines()) > 5
    assert "--set" in run("validate", "--help").stdout


def test_settings_are_read_as_yaml_reads_them():
    given = ["A=4", "B=0.5", "C=true", "D=text", "E=a=b", "F=", "G=1e3", "H=on"]
    assert parse_settings(given) == {
        "A": 4, "B": 0.5, "C": True, "D": "text", "E": "a=b", "F": "", "G": 1000.0, "H": "on",
    }  # fmt: skip


def test_the_program_answers_help_without_the_heavy_packages():
    """What makes a start slow is not imported; the time itself is no test on a shared machine."""
    code = (
        "import sys; sys.argv = ['tilewright', '--help']\n"
        "from tilewright.dse.command.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'numpy', 'optuna', 'numba', 'scipy', 'networkx', 'jinja2', 'rich', 'joblib',"
        " 'yaml', 'pydantic'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr.strip() == "[]"
    assert "Usage: tilewright" in done.stdout


def test_metrics_of_the_models_are_distinct():
    for names in evaluators.METRICS.values():
        assert len(set(names)) == len(names)


SPLIT = {
    "chip": "arch:\n  nodes:\n"
    "  - !Memory {name: DRAM, size: inf, area: 0, leak_power: 0, actions: "
    "[{name: read, energy: E, throughput: inf}, {name: write, energy: E, throughput: inf}]}\n",
    "core": "variables: {E: 2}\narch:\n  nodes:\n"
    "  - !Compute {name: MAC, area: 1, leak_power: 0, "
    "actions: [{name: compute, energy: 0, throughput: 1}]}\n",
    "other": "\nvariables:\n  E: 3\n",
    "sizes": "workload:\n  rank_sizes: {M: 4}\n  bits_per_value: {All: 1}\n",
    "work": 'workload:\n  einsums: ["Z[m] = A[m]"]\n',
    "nest": "mapping:\n  nodes:\n  - !Storage {tensors: [A, Z], component: DRAM}\n"
    "  - !Temporal {rank_variable: m, tile_shape: {{TILE}}}\n"
    "  - !Temporal {rank_variable: m, tile_shape: 1}\n"
    "  - !Compute {einsum: Z, component: MAC}\n",
}


@pytest.fixture
def split(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in SPLIT.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return ("--arch", "chip.yaml", "--arch", "core.yaml",
            "--workload", "sizes.yaml", "--workload", "work.yaml")  # fmt: skip


def test_several_files_are_read_as_one(split):
    checked = run("validate", *split, "--json")
    assert checked.exit_code == 0, checked.stderr
    assert [v["summary"] for v in json.loads(checked.stdout)] == ["2 components", "1 Einsum"]
    scored = run("evaluate", *split, "--mapping", "nest.yaml", "--set", "TILE=2", "--json")
    assert json.loads(scored.stdout)["energy"] == 2 * 8, scored.stderr
    dear = run("evaluate", *split, "--mapping", "nest.yaml",
               "--set", "TILE=2", "--set", "E=5", "--json")  # fmt: skip
    assert json.loads(dear.stdout)["energy"] == 5 * 8, dear.stderr
    mapped = run("map", *split, "--set", "E=4", "--json")
    assert json.loads(mapped.stdout)["energy"] == 4 * 8, mapped.stderr


def test_set_changes_fields_and_refuses_names_that_are_no_variables(split):
    nest = ("--mapping", "nest.yaml", "--set", "TILE=2")
    dear = run("evaluate", *split, *nest, "--set", "DRAM.actions.read.energy=7", "--json")
    assert json.loads(dear.stdout)["energy"] == 7 * 4 + 2 * 4, dear.stderr
    mapped = run("map", *split, "--set", "DRAM.actions.read.energy=7", "--json")
    assert json.loads(mapped.stdout)["energy"] == 7 * 4 + 2 * 4, mapped.stderr
    for name, says in (
        ("DRAM", "--set DRAM.FIELD=8, for example DRAM.size"),
        ("A", "no file here has a variable A"),
        ("DRAM.sise", "did you mean size?"),
        ("DRUM.size", "did you mean DRAM?"),
    ):
        done = run("map", *split, "--set", f"{name}=8")
        assert done.exit_code == 2
        assert says in done.stderr


def test_names_are_found_in_templates_with_assertions(split, tmp_path):
    text = "{% set n = SIZE %}{% assert n > 1, 'too few' %}workload: {rank_sizes: {M: {{ n }}}}"
    (tmp_path / "sizes.yaml").write_text(text + "\n")
    (tmp_path / "bits.yaml").write_text("workload:\n  bits_per_value: {All: 1}\n")
    files = (*split, "--workload", "bits.yaml")
    assert run("map", *files, "--set", "SIZE=4").exit_code == 0
    wrong = run("map", *files, "--set", "SIZE=4", "--set", "SISE=4")
    assert wrong.exit_code == 2
    assert "did you mean SIZE?" in wrong.stderr


@pytest.mark.parametrize("command", ["validate", "evaluate", "map"])
def test_files_that_disagree_are_named_both(split, command):
    more = ("--mapping", "nest.yaml") if command == "evaluate" else ()
    done = run(command, *split, "--arch", "other.yaml", *more)
    assert done.exit_code == 2
    assert "two files disagree about E" in done.stderr
    assert "core.yaml:1" in done.stderr
    assert "other.yaml:3:6 (variables.E)" in done.stderr
    missing = run(command, *split, "--arch", "chop.yaml", *more)
    assert "no such file" in missing.stderr


def test_validate_wants_a_file(tmp_path):
    done = run("validate")
    assert done.exit_code == 2
    assert "at least one file" in done.stderr
