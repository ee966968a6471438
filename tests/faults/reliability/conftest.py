from __future__ import annotations

import os
import subprocess
import sys

import pytest
from design_files import ARCH, WORKLOAD
from toy_module import load_toy

STUDY = """\
name: small
arch: {file: arch.yaml}
workload: {file: work.yaml}
model: analytical
objectives: [energy, latency]
space:
  arch.Buffer.size: {values: [256, 512, 1024]}
  arch.variables.Lanes: {values: [1, 2, 4, 8]}
search: {sampler: grid, batch: 4}
"""


@pytest.fixture(scope="session")
def toy():
    """The module toy_study."""
    return load_toy()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with an analytical study of 12 designs; the working directory."""
    (tmp_path / "arch.yaml").write_text(ARCH)
    (tmp_path / "work.yaml").write_text(WORKLOAD)
    (tmp_path / "study.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shell():
    """Run a shell command in a folder with `tilewright` in reach; return the finished process."""

    def run(command, folder, **environment):
        return subprocess.run(
            ["bash", "-c", command.replace("tilewright ", f"{COMMAND} ")],
            cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip

    return run


COMMAND = f"{sys.executable} -c 'from tilewright.dse.command.cli import main; main()'"
