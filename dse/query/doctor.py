"""Whether this machine, and a run directory, are in order."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path

from tilewright.arch.errors import TilewrightError
from tilewright.arch.quantities import some
from tilewright.dse.report.sharing import sharing_of, sharing_text
from tilewright.dse.run.rundir import SPEC, TIMES, RunDirectory
from tilewright.dse.study.study_loading import load_stored_study

_NEEDED = ("numpy", "scipy", "numba", "optuna", "joblib", "networkx", "pydantic", "pyyaml")
_OPTIONAL: Mapping[str, str] = {
    "pandas": "to_pandas",
    "polars": "to_polars",
    "pyarrow": "export --parquet",
    "distributed": "--executor dask",
    "dask-jobqueue": "workers by SLURM",
    "cmaes": "the sampler cmaes",
    "torch": "the sampler gp",
    "psycopg2-binary": "mirrors in PostgreSQL",
    "optuna-dashboard": "looking at mirrors",
}
"""Packages that some commands need, and for what."""
_LEAST_ROOM = 1e9  # bytes of disk


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was examined: its `subject`, `words` on it, and whether it `is_good`."""

    subject: str
    words: str
    is_good: bool = True


def examine_machine() -> Iterator[Finding]:
    """Yield what is found of Python, packages, processors, disk, and the place of machine code."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("python", version, sys.version_info >= (3, 11))
    for name in _NEEDED:
        yield _package(name)
    for name, use in _OPTIONAL.items():
        yield _package(name, use)
    yield Finding("processors", str(os.cpu_count() or 1))
    room = shutil.disk_usage(Path.cwd()).free
    yield Finding("room on the disk", f"{room / 1e9:.1f} GB", room > _LEAST_ROOM)
    yield _kernels()
    yield _known_answers()


def examine_run(directory: Path) -> Iterator[Finding]:
    """Yield what is found of a run directory: its record, its inputs, its state."""
    try:
        run = RunDirectory.open(directory)
        environment = run.environment()
        trials = run.trials(load_stored_study(run.path / SPEC))
    except (TilewrightError, OSError) as error:
        yield Finding(str(directory), str(error), False)
        return
    yield Finding("trials.jsonl", f"{len(trials)} trials, all checksums agree")
    for name, digest in environment["files"].items():
        path = directory / name
        agrees = path.is_file() and sha256(path.read_bytes()).hexdigest() == digest
        words = "as the run began" if agrees else "missing or changed"
        yield Finding(name, words, agrees)
    yield Finding("shared", sharing_text(sharing_of(directory / TIMES)))
    failed = sum(trial.status in ("failed", "error") for trial in trials)
    hint = f"tilewright study resume {directory} --retry"
    yield Finding("failed evaluations", f"{failed}; {hint}" if failed else "0", not failed)
    missing = [t.number for t in trials if t.proof == "bounded"]
    yield Finding("not proven", f"{some(len(missing), 'trial')} with a gap to the lower bound")


def _package(name: str, use: str = "") -> Finding:
    """Return what is found of a package; `use`: what it is for, empty if everything needs it."""
    try:
        return Finding(name, metadata.version(name))
    except metadata.PackageNotFoundError:
        words = f"not installed (optional: {use})" if use else "missing"
        return Finding(name, words, bool(use))


def _kernels() -> Finding:
    import tilewright.arch

    folder = os.environ.get("NUMBA_CACHE_DIR") or str(Path(tilewright.arch.__file__).parent)
    writable = os.access(folder, os.W_OK)
    words = "kept beside the package" if writable else "kept in ~/.cache, or compiled anew"
    return Finding("machine code", words)


def _known_answers() -> Finding:
    from tilewright.simulator.known.content_store import FOLDER_VARIABLE, known_answers

    folder = known_answers().folder
    if folder is None:
        return Finding("known executions", f"not kept ({FOLDER_VARIABLE})")
    size = sum(path.stat().st_size for path in folder.rglob("*.json")) if folder.is_dir() else 0
    return Finding("known executions", f"{size / 1e6:.1f} MB in {folder} ({FOLDER_VARIABLE})")
