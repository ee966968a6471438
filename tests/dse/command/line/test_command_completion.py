"""tilewright completion: the script, and what it offers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from design_files import run

MAIN = "from tilewright.dse.command.cli import main; main()"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell(shell):
    text = run("completion", shell).stdout
    assert "_TILEWRIGHT_COMPLETE" in text
    assert f"{shell}_complete" in text


def test_the_shell_of_the_environment(monkeypatch):
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "fish_complete" in run("completion").stdout
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    done = run("completion")
    assert done.exit_code == 2
    assert "bash, zsh, fish" in done.stderr


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("tilewright work", "plain,workload"),
        ("tilewright map --arch edge", "plain,edge_npu"),
        ("tilewright workload show ml", "plain,mlp4"),
        ("tilewright new study s --workload ml", "plain,mlp4"),
    ],
)
def test_names_are_offered(words, offered):
    environment = {
        **os.environ,
        "_TILEWRIGHT_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", MAIN], env=environment, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert offered in done.stdout.splitlines(), done.stderr
