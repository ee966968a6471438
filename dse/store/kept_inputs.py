"""Copies of a study's input files in its run directory: the run reads these, so it stands alone.

A file that a template includes, a cost table and a machine profile are inputs like the file that
names them. Each source (the architecture, a workload, the profile) has a folder of its own, in
which its files keep their places relative to each other.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from tilewright.arch.errors import SpecError, TilewrightError
from tilewright.arch.files.source import load_document
from tilewright.dse.models.evaluators import LAYOUT_MODELS
from tilewright.dse.study.design_space import Value
from tilewright.dse.study.study import StudyInput, StudySpec

INPUTS = "inputs"
_MOST_VARIANTS = 64  # values of a variable that are tried for what its template includes


@dataclass(frozen=True, slots=True)
class KeptInputs:
    """The input files of a study as a run keeps them.

    `contents`: by path in the run directory; `origins`: where each came from; `resolved`: the study
    as data, in which the copies stand for the files.
    """

    contents: Mapping[str, bytes]
    origins: Mapping[str, str]
    resolved: Mapping[str, Any]

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 (hex) of each file, by path in the run directory."""
        return {name: sha256(body).hexdigest() for name, body in sorted(self.contents.items())}


def keep_inputs(spec: StudySpec) -> KeptInputs:
    """Read all input files of a study.

    Raises SpecError for a file that is wrong, OSError for one that cannot be read.
    """
    contents: dict[str, bytes] = {}
    origins: dict[str, str] = {}
    resolved: dict[str, Any] = deepcopy(dict(spec.resolved))
    for folder, file, files in _sources(spec):
        root = Path(os.path.commonpath([str(Path(path).parent) for path in files]))
        for path in files:
            name = f"{INPUTS}/{folder}/{Path(path).relative_to(root).as_posix()}"
            contents[name] = Path(path).read_bytes()
            origins[name] = path
            if path == file:
                _place(resolved, folder, name)
    return KeptInputs(contents, origins, resolved)


def changed_origins(origins: Mapping[str, Any], hashes: Mapping[str, Any]) -> list[str]:
    """Return the files that a run was begun with and that hold something else now.

    `origins`: path of each by that of its copy; `hashes`: of the copies. One that is missing is not
    listed: the run may have been moved.
    """
    return [
        str(origin)
        for copy, origin in sorted(origins.items())
        if Path(str(origin)).is_file()
        and sha256(Path(str(origin)).read_bytes()).hexdigest() != hashes.get(copy)
    ]


def _place(resolved: dict[str, Any], folder: str, name: str) -> None:
    """Put the path of a copy in the place of the file that it is a copy of; changes `resolved`.

    `folder`: which input: machine, arch, workload, or workload<n>; `name`: path of the copy.
    """
    if folder == "machine":
        resolved["machine"] = name
    elif folder in resolved:
        resolved[folder]["file"] = name
    else:
        resolved["workloads"][int(folder.removeprefix("workload"))]["file"] = name


def _sources(spec: StudySpec) -> Iterator[tuple[str, str, list[str]]]:
    """Yield (folder, file, all files that it is read from) of each input of a study."""
    yield "arch", spec.arch.file, _files_of_arch(spec)
    several = "workloads" in spec.resolved
    for number, workload in enumerate(spec.workloads):
        files = _files(workload, _variants(spec, "workload."))
        yield f"workload{number}" if several else "workload", workload.file, files
    if spec.model == "simulated" and spec.machine.endswith((".yaml", ".yml")):
        yield "machine", spec.machine, [spec.machine]


def _files_of_arch(spec: StudySpec) -> list[str]:
    if spec.model in LAYOUT_MODELS:
        return [spec.arch.file]
    files = _files(spec.arch, _variants(spec, "arch.variables."))
    try:
        from tilewright.arch.spec.load import load_arch

        arch = load_arch(Path(spec.arch.file), variables=spec.arch.variables)
    except SpecError:  # the check before the first trial says what is wrong
        return files
    return list(dict.fromkeys([*files, *(str(Path(file).resolve()) for file in arch.files)]))


def _files(source: StudyInput, variants: Iterable[Mapping[str, Value]]) -> list[str]:
    """Return the files that a template reads, for any of these values of its variables."""
    files = [source.file]
    for variant in [{}, *variants]:
        try:
            document = load_document(Path(source.file), variables={**source.variables, **variant})
        except TilewrightError:  # of one design: that will say so
            continue
        files += [str(Path(file).resolve()) for file in document.files]
        if len(document.files) == 1 and not variant and not _includes(source.file):
            break  # no variable can change what it reads
    return list(dict.fromkeys(files))


def _includes(file: str) -> bool:
    return "include" in Path(file).read_text(encoding="utf-8", errors="replace")


def _variants(spec: StudySpec, prefix: str) -> Iterator[Mapping[str, Value]]:
    """Yield values of the variables that are knobs, one at a time."""
    for dimension in spec.space.dimensions:
        if dimension.path.startswith(prefix):
            name = dimension.path.removeprefix(prefix)
            for value in dimension.values[:_MOST_VARIANTS]:
                yield {name: value}
