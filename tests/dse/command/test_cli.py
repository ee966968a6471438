"""The program: help texts, start-up, errors of the user as one message."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest
from design_files import run

from tilewright.dse.command.cli import cli


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["study", "run", "wafer_matvek"], "did you mean wafer_matvec?"),
        (["study", "resume", "nowhere"], "is not the directory of a run"),
        (["study", "run", "study.yaml", "--set", "search.trials"], "--set takes KEY=VALUE"),
        (["study", "run", "arch.yaml"], "this file holds an architecture, no study"),
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


def test_every_help_text_teaches(study):
    commands = ["", "study", "study run", "study resume", "study report", "study list",
                "evaluate", "map", "simulate", "validate", "arch", "arch list", "arch show",
                "workload", "workload list", "workload show", "new", "new arch", "new workload",
                "new study", "completion", "execute", "run"]  # fmt: skip
    for command in commands:
        done = run(*command.split(), "--help")
        assert done.exit_code == 0
        assert len(done.stdout.splitlines()) > 5
    assert "--set" in run("validate", "--help").stdout


@pytest.mark.parametrize("group", ["", "study", "new", "arch", "workload"])
def test_lists_of_commands_are_not_cut(group):
    lines = run(*group.split(), "--help").stdout.partition("\nCommands:\n")[2].splitlines()
    assert len(lines) >= 2
    assert [line for line in lines if line.endswith("...")] == []


def test_every_command_tells_the_version():
    def commands(group, words):
        yield words
        for name, inner in getattr(group, "commands", {}).items():
            yield from commands(inner, [*words, name])

    several = list(commands(cli, []))
    assert len(several) > 15
    for words in several:
        done = run(*words, "--version")
        assert done.stdout == f"tilewright, version {version('tilewright')}\n", words


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
