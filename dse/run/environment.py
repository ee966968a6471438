"""What a result depends on besides the study: versions, code, files, command line."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from tilewright.dse.command.console import without_password
from tilewright.dse.store.kept_inputs import KeptInputs
from tilewright.dse.study.design_space import Point, canonical_json
from tilewright.dse.study.study import StudySpec
from tilewright.simulator.known.code_hash import code_hash

_PACKAGES = ("numpy", "scipy", "numba", "optuna", "joblib", "networkx", "pydantic", "pyyaml")


def version() -> str:
    """Return the version of the installed package, `unknown` if it is not installed."""
    try:
        return metadata.version("tilewright")
    except metadata.PackageNotFoundError:
        return "unknown"


class Keys:
    """Function from a design to a key: equal keys mean that the evaluation gives the same result.

    The key is 24 hex digits of a hash over model, machine, contents of the input files, variables,
    weights, options of the mapper, version and the design's knob values. A run uses it to evaluate
    each design only once, and to take over what another run has evaluated.

    `hashes`: of the input files, by path.
    """

    def __init__(self, spec: StudySpec, hashes: Mapping[str, str]) -> None:
        sources = (spec.arch, *spec.workloads)
        own_machine = spec.model == "simulated" and not spec.machine.endswith((".yaml", ".yml"))
        self._context = {
            "version": version(),
            "model": spec.model,
            "machine": spec.machine if own_machine else None,
            "mapper": dict(spec.mapper) if spec.model == "analytical" else None,
            "files": sorted(hashes.values()),
            "variables": [dict(source.variables) for source in sources],
            "weights": [[source.name, source.weight] for source in spec.workloads],
            "values": dict(spec.arch.values),
        }

    def __call__(self, point: Point) -> str:
        text = canonical_json({"context": self._context, "point": dict(point)})
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Start:
    """How a run was started.

    `study_file`: its path, None for a study without a file; `settings`: the values given by --set;
    `evaluator`: a model of the user in place of the study's, None without one.
    """

    study_file: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    evaluator: object | None = None

    def named_evaluator(self) -> dict[str, str]:
        """Return the entry of env.json that names the user's model; empty without one."""
        return {} if self.evaluator is None else {"evaluator": name_of(self.evaluator)}


def name_of(evaluator: object) -> str:
    """Return the name by which a run remembers a model of the user: module and class."""
    kind = type(evaluator)
    return f"{kind.__module__}.{kind.__qualname__}"


def describe(inputs: KeptInputs, spec: StudySpec, start: Start) -> dict[str, Any]:
    """Return the contents of env.json: what the result of a run depends on.

    Versions of Tilewright, Python and packages, hash of the code, command line, start time, the
    input files with their hashes and where they came from, and the study itself: as it was given,
    and with the copies in the place of its files.
    """
    return {
        "tilewright": version(),
        "code": code_hash(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": _versions(),
        "command": ["tilewright", *map(without_password, sys.argv[1:])],
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "study_file": None if start.study_file is None else str(start.study_file),
        "settings": dict(start.settings),
        **start.named_evaluator(),
        "files": inputs.hashes(),
        "origins": dict(inputs.origins),
        "spec": dict(inputs.resolved),
        "original": dict(spec.resolved),
    }


def _versions() -> dict[str, str]:
    versions: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
