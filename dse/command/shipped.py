"""Find files: of the user first, then those that ship with Tilewright."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Literal

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.names import did_you_mean

Kind = Literal["hardware", "workloads", "mappings"]


def studies_folder() -> Path:
    """Return the folder of the shipped studies, hardware and workloads."""
    return Path(str(resources.files("tilewright.studies")))


def shipped_studies() -> dict[str, Path]:
    """Return the shipped studies by name, sorted."""
    study_files = studies_folder().glob("*/study.yaml")
    return {path.parent.name: path for path in sorted(study_files)}


def find_study(name_or_file: str) -> Path:
    """Return the study file of that path or name; SpecError if there is none."""
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
    """Return the file called `name`: beside `base`, or shipped as `kind` (`.yaml` may be left out).

    SpecError if there is none.
    """
    shipped = studies_folder() / kind
    for candidate in (base / name, shipped / name, shipped / f"{name}.yaml"):
        if candidate.is_file():
            return candidate.resolve()
    shipped_names = [path.stem for path in shipped.glob("*.yaml")]
    raise SpecError(
        f"there is no such file, and no {kind} file of that name ships with Tilewright",
        where=where,
        value=name,
        instead=did_you_mean(name, shipped_names) or None,
    )


def find_files(names: Sequence[str], kind: Kind) -> list[Path]:
    """Return the files of the command line called `names`; SpecError if one is missing."""
    return [find_file(name, kind, Path.cwd()) for name in names]
