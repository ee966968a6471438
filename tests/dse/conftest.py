from __future__ import annotations

import subprocess
import sys

import pytest
from design_files import ARCH, SIMPLE_ARCH, SPLIT, WORKLOAD
from toy_module import TOY, load_toy

from tilewright.dse.study.study import StudyInput


@pytest.fixture(scope="session")
def toy():
    """The module toy_study."""
    return load_toy()


@pytest.fixture
def toy_process():
    """Run toy_study.py as a program of its own; return its exit code."""

    def run(*arguments, env=None):
        import os

        done = subprocess.run(
            [sys.executable, str(TOY), *map(str, arguments)],
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode

    return run


@pytest.fixture
def study(toy, tmp_path, monkeypatch):
    """A study file whose model is the toy; the working directory is its folder."""
    # The preflight knows the choices of real mappings; the toy has one of its own.
    path = toy.write_study(tmp_path, toy.STUDY.replace("two_phase, tree]", "two_phase]"))
    (tmp_path / "arch.yaml").write_text(SIMPLE_ARCH)
    (tmp_path / "workload.yaml").write_text(WORKLOAD)
    monkeypatch.setattr("tilewright.dse.run.runner.make_evaluator", lambda spec: toy.ToyModel())
    monkeypatch.setattr(
        "tilewright.dse.run.replay_design.make_evaluator", lambda spec: toy.ToyModel()
    )
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def split(tmp_path, monkeypatch):
    """Options that name an architecture and a workload in two files each."""
    monkeypatch.chdir(tmp_path)
    for name, text in SPLIT.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return ("--arch", "chip.yaml", "--arch", "core.yaml",
            "--workload", "sizes.yaml", "--workload", "work.yaml")  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    """An architecture with a variable number of lanes, and a matrix product."""
    (tmp_path / "arch.yaml").write_text(ARCH)
    (tmp_path / "work.yaml").write_text(WORKLOAD)
    monkeypatch.chdir(tmp_path)
    return StudyInput(str(tmp_path / "arch.yaml"), {}), StudyInput(str(tmp_path / "work.yaml"), {})
