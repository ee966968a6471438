"""Find files: of the user first, then those that ship with Tilewright."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.names import did_you_mean

Kind = Literal["hardware", "workloads", "mappings"]

_A_FILE = {"hardware": "hardware", "workloads": "workload", "mappings": "mapping"}


def studies_folder() -> Path:
    """Return the folder of the studies, hardware and workloads that ship with Tilewright."""
    studies = find_spec("tilewright.studies")
    assert studies is not None
    assert studies.origin is not None
    return Path(studies.origin).parent


def shipped_studies() -> dict[str, Path]:
    """Return the study files that ship with Tilewright by name, sorted."""
    study_files = studies_folder().glob("*/study.yaml")
    return {path.parent.name: path for path in sorted(study_files)}


def find_study(name_or_file: str) -> Path:
    """Return the study file with a path or, if there is none, that of a shipped study by name.

    Raises SpecError, with close names, if neither exists.
    """
    path = Path(name_or_file)
    if path.is_file():
        return path.resolve()
    shipped = shipped_studies()
    if name_or_file in shipped:
        return shipped[name_or_file]
    raise SpecError(
        "there is neither a file nor a shipped study of that name",
        value=name_or_file,
        instead=did_you_mean(name_or_file, shipped) or "see `tilewright study list`",
    )


def find_file(name: str, kind: Kind, base: Path, where: Where | None = None) -> Path:
    """Return the path of an input file: in the folder `base`, or else among the shipped ones.

    `kind`: hardware, workloads or mappings, the folder of shipped files, whose names may be given
    without `.yaml`. Raises SpecError, at `where` and with close names, if there is none.
    """
    shipped = studies_folder() / kind
    for candidate in (base / name, shipped / name, shipped / f"{name}.yaml"):
        if candidate.is_file():
            return candidate.resolve()
    shipped_names = sorted(path.stem for path in shipped.glob("*.yaml"))
    listed = f"one of: {', '.join(shipped_names)}" if shipped_names else None
    beside = f"{name}.yaml, which is a file here" if (base / f"{name}.yaml").is_file() else None
    raise SpecError(
        f"there is no such file, and no {_A_FILE[kind]} file of that name ships with Tilewright",
        where=where,
        value=name,
        instead=beside or did_you_mean(name, shipped_names) or listed,
    )


def find_files(names: Sequence[str], kind: Kind) -> list[Path]:
    """Return the paths of files named on the command line, in the current folder or shipped ones.

    `kind`: hardware, workloads or mappings. Raises SpecError if one is missing.
    """
    return [find_file(name, kind, Path.cwd()) for name in names]
