"""Sources are compiled once per run of the tests, by one process, whatever the surroundings are.

With no bytecode on disk a collection takes three times as long: every source is compiled, and the
assertions of every test are rewritten. Workers that collect side by side would all do so. So the
first worker collects, and the others compile missing kernels meanwhile, which the tests need, too.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tilewright.arch.compiled import Kernel, is_kept

FORBIDDEN = "PYTHONDONTWRITEBYTECODE"


class BytecodeFolder:
    """Keeps bytecode in a folder of the run where the environment forbids it beside the sources.

    Else each of some hundred processes that the tests start would compile all sources anew.
    """

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="tilewright-bytecode-")
        os.environ.pop(FORBIDDEN, None)
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = self.folder
        sys.dont_write_bytecode = False

    def pytest_unconfigure(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class FirstCollection:
    """Lets a worker wait, at work, until the first worker of the run has collected."""

    def __init__(self, worker: dict[str, object]) -> None:
        self.number = int(str(worker["workerid"]).removeprefix("gw"))
        self.collected = Path(tempfile.gettempdir()) / f"tilewright-{worker['testrunuid']}"

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        if self.number == 0:
            try:
                return (yield)
            finally:
                self.collected.touch()
        for kernel in large_kernels():
            if self.collected.exists():
                break
            if not is_kept(kernel):
                kernel.address()
        return (yield)

    def pytest_unconfigure(self) -> None:
        if self.number == 0:
            self.collected.unlink(missing_ok=True)


def large_kernels() -> list[Kernel]:
    """Return the kernels of both engines that take longest to compile, the longest first."""
    from tilewright.simulator.engine import engine_entries
    from tilewright.simulator.engine.features import FEATURES
    from tilewright.simulator.fast import fast_entries

    features = [(each.module, name) for each in FEATURES for name in each.entries.values()]
    engine = [engine_entries.feature_kernel(*feature) for feature in features]
    return [fast_entries.solve, engine_entries.run, *engine, fast_entries.run_values]


def register(config: pytest.Config) -> None:
    """Register what a process of a whole run needs: a worker, or the process that starts it."""
    if [Path(argument).name for argument in config.args] != ["tests"]:
        return
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        config.pluginmanager.register(FirstCollection(worker))
    elif sys.dont_write_bytecode:
        config.pluginmanager.register(BytecodeFolder())
