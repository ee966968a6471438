"""Compile the missing kernels of a first run in several processes at once.

numba compiles in Python, one function after the other, so two processes take half the time of one.
Each process takes the next kernel that nobody has taken; what it compiles goes to disk
(`arch/compiled.py`), where this process finds it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tilewright.arch.compiled import Kernel, is_kept

MOST_PROCESSES: Final = 4
_CHILD: Final = "from tilewright.arch import parallel_compilation as p; p.compile_as_told()"

_looked_for: Final[set[tuple[str, str, str]]] = set()
"""The kernels that `compile_first` has looked for in this process, by identity."""


def compile_missing(kernels: Sequence[Kernel]) -> None:
    """Compile those of some kernels that are not on disk, in up to four processes.

    kernels: those that share functions stand side by side. It does nothing if fewer than two are
    missing, if there is one processor, or if nothing can be kept on disk; each kernel is then
    compiled when it is called.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return
    missing = [kernel for kernel in kernels if not is_kept(kernel)]
    processes = min(MOST_PROCESSES, len(missing), processors())
    if processes < 2 or not all(kernel.file.is_writable() for kernel in missing):
        return
    with TemporaryDirectory(prefix="tilewright-") as folder:
        starts = [number * len(missing) // processes for number in range(processes - 1)]
        with _children(missing, Path(folder), starts):
            # The first kernels are the first child's: this process begins at the other end.
            _compile_untaken(missing[::-1], Path(folder))


def compile_first(kernels: Sequence[Kernel], tell: Callable[[], object]) -> None:
    """Compile those of some kernels that are not on disk, before something that has a limit begins.

    Each is looked for once in a process. `tell`: called before, if any is missing.
    """
    missing = [k for k in kernels if k.identity not in _looked_for and not is_kept(k)]
    if missing:
        tell()
        compile_missing(missing)
        for kernel in missing:
            kernel.load()
    _looked_for.update(kernel.identity for kernel in kernels)


def compile_as_told() -> None:
    """Compile the kernels that a JSON text on standard input lists: the main of a child process."""
    told = json.load(sys.stdin)
    kernels = [Kernel(*fields) for fields in told["kernels"]]
    _compile_untaken(kernels[told["start"] :] + kernels[: told["start"]], Path(told["folder"]))


def _compile_untaken(kernels: Sequence[Kernel], folder: Path) -> None:
    """Compile those kernels that no other process of this run has taken.

    A process takes a kernel by being the first to make its file in `folder`. Kernels that another
    command is compiling come last: then they are on disk.
    """
    later = []
    for kernel in kernels:
        try:
            (folder / f"{kernel.home}.{kernel.name}").touch(exist_ok=False)
        except FileExistsError:
            continue
        with kernel.file.locked(waits=False) as free:
            pass
        if free:
            kernel.address()
        else:
            later.append(kernel)
    for kernel in later:
        kernel.address()


@contextmanager
def _children(kernels: Sequence[Kernel], folder: Path, starts: Sequence[int]) -> Iterator[None]:
    """Start a child process for each number in `starts`; at the end wait for all.

    A child begins at the kernel with that number. All are ended on an error.
    """
    search_path = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    environment = {**os.environ, "PYTHONPATH": search_path}
    fields = [(k.home, k.name, k.signature_text, k.file.sources, k.records) for k in kernels]
    children: list[subprocess.Popen[str]] = []
    try:
        for start in starts:
            with suppress(OSError):  # without a child this process compiles its kernels, too
                child = subprocess.Popen(  # noqa: S603 (our own code)
                    [sys.executable, "-c", _CHILD], env=environment, text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip
                children.append(child)
                assert child.stdin is not None
                told = {"kernels": fields, "folder": str(folder), "start": start}
                with child.stdin as pipe:
                    json.dump(told, pipe)
        yield
        for child in children:
            child.wait()
    finally:
        for child in children:
            child.kill()
            child.wait()


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
