from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

TOY = Path(__file__).with_name("toy_study.py")


@pytest.fixture(scope="session")
def toy():
    """The module toy_study."""
    spec = importlib.util.spec_from_file_location("toy_study", TOY)
    module = importlib.util.module_from_spec(spec)
    sys.modules["toy_study"] = module
    spec.loader.exec_module(module)
    return module


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
