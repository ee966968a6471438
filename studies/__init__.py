"""What ships with Tilewright: hardware, workloads, and one folder per question with its answer."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

__all__ = ["catalog", "path_of"]

FOLDER = Path(str(resources.files(__name__)))


def catalog() -> dict[str, tuple[str, ...]]:
    """Return the names that ship, by kind: studies, hardware, workloads."""
    return {
        "studies": tuple(sorted(path.parent.name for path in FOLDER.glob("*/study.yaml"))),
        "hardware": tuple(sorted(path.stem for path in FOLDER.glob("hardware/*.yaml"))),
        "workloads": tuple(sorted(path.stem for path in FOLDER.glob("workloads/*.yaml"))),
    }


def path_of(kind: str, name: str) -> Path:
    """Return the file of a shipped study, hardware or workload; KeyError if there is none."""
    if name not in catalog()[kind]:
        raise KeyError(f"{kind}: {name} (there are {', '.join(catalog()[kind])})")
    return FOLDER / name / "study.yaml" if kind == "studies" else FOLDER / kind / f"{name}.yaml"


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
