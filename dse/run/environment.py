"""What a result depends on besides the study: versions, code, files, command line."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from tilewright.dse.study.design_space import Point, canonical_json
from tilewright.dse.study.study import StudySpec

_PACKAGES = ("numpy", "scipy", "numba", "optuna", "joblib", "networkx", "pydantic", "pyyaml")
_OURS = ("arch", "mapper", "simulator", "dse")


def version() -> str:
    """Return the version of the installed package, `unknown` if it is not installed."""
    try:
        return metadata.version("tilewright")
    except metadata.PackageNotFoundError:
        return "unknown"


@cache
def code_hash() -> str:
    """Return the first 16 hex digits of a SHA-256 over all Python sources of Tilewright."""
    digest = hashlib.sha256()
    for package in _OURS:
        root = Path(str(resources.files(f"tilewright.{package}")))
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{package}/{path.relative_to(root).as_posix()}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def file_hashes(paths: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 (hex) of each file that exists, by path; missing files are left out."""
    return {
        path: hashlib.sha256(Path(path).read_bytes()).hexdigest()
        for path in sorted(paths)
        if Path(path).is_file()
    }


class Keys:
    """Function from a design to a key: equal keys mean that the evaluation gives the same result.

    The key is 24 hex digits of a hash over model, machine, contents of the input files, variables,
    version and the design's knob values. A run uses it to evaluate each design only once.
    """

    def __init__(self, spec: StudySpec) -> None:
        contents = [file_hashes([source.file]) for source in (spec.arch, spec.workload)]
        self._context = {
            "version": version(),
            "model": spec.model,
            "machine": spec.machine if spec.model == "simulated" else None,
            "mapper": spec.mapper_objective,
            "files": [list(hashes.values()) for hashes in contents],
            "variables": [dict(spec.arch.variables), dict(spec.workload.variables)],
            "values": dict(spec.arch.values),
        }

    def __call__(self, point: Point) -> str:
        text = canonical_json({"context": self._context, "point": dict(point)})
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def describe(
    spec: StudySpec, study_file: Path | None, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the contents of env.json: what the result of a run depends on.

    Versions of Tilewright, Python and packages, hash of the code, command line, start time, hashes
    of the input files, and the study itself. `settings`: the values given by --set.
    """
    return {
        "tilewright": version(),
        "code": code_hash(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": _versions(),
        "command": ["tilewright", *sys.argv[1:]],
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "study_file": None if study_file is None else str(study_file),
        "settings": dict(settings),
        "files": file_hashes([spec.arch.file, spec.workload.file]),
        "spec": dict(spec.resolved),
    }


def _versions() -> dict[str, str]:
    versions: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
