"""Load a study file: with --set from the command line, or from a run directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tilewright.arch.files.source import load_document
from tilewright.arch.files.toplevel import check_no_other_kind
from tilewright.dse.command.settings import check_used
from tilewright.dse.study.design_space import Value
from tilewright.dse.study.reading.study_reader import StudyReader
from tilewright.dse.study.study import StudySpec
from tilewright.dse.study.study_file import StudyFile


def load_study(path: Path, settings: Mapping[str, Value] | None = None) -> StudySpec:
    """Load and check a study file.

    `settings` (--set): a dotted path of the study file (`search.batch`, `arch.variables.N`)
    replaces that value; any other name is a variable of the study's template, of its architecture
    and of its workload. Raises SpecError, with file and line, for what is wrong, and for a variable
    that no file uses.
    """
    fields, variables = _split(settings or {})
    document = load_document(path, variables=variables)
    top = document.data
    if isinstance(top, dict) and not top.keys() & {"name", "objectives", "space"}:
        check_no_other_kind(document, "space", "study")
    resolved = path.name.endswith("spec.resolved.yaml")  # of a run directory
    reader = StudyReader(document, path.resolve().parent, resolved=resolved)
    spec = reader.read(fields, variables)
    check_used(variables, (path, *map(Path, spec.paths)))
    return spec


def load_stored_study(path: Path) -> StudySpec:
    """Load the study that a run directory holds, without looking for the files that it names.

    For reports of old runs. Raises SpecError if the study file itself is wrong.
    """
    return StudyReader(load_document(path), path.resolve().parent, stored=True).read({}, {})


def _split(settings: Mapping[str, Value]) -> tuple[dict[str, Value], dict[str, Value]]:
    names = set(StudyFile.model_fields)
    fields = {k: v for k, v in settings.items() if k.split(".")[0] in names}
    return fields, {k: v for k, v in settings.items() if k not in fields}
