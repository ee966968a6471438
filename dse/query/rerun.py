"""Make a study of the designs on a run's front, to evaluate them again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilewright.arch.files.source import load_document
from tilewright.dse.query.open_run import open_run
from tilewright.dse.run.rundir import SPEC
from tilewright.dse.run.runner import check_copies
from tilewright.dse.store.extension import spec_text
from tilewright.dse.store.safe_files import RunError
from tilewright.dse.study.reading.study_reader import StudyReader
from tilewright.dse.study.study import StudySpec


def front_study(directory: Path, study: Path | None = None) -> StudySpec:
    """Return a study that tries the designs of a run's front, and no others.

    `directory`: of the run; `study`: the study file that they are tried in, None for that of the
    run. The reference design stays first. Raises RunError if no design is feasible or the run's
    copies of input files changed, SpecError for a design that the study's space does not have.
    """
    run = open_run(directory)
    front = run.front()
    if not len(front):
        raise RunError("the run has no feasible design")
    if study is None:
        check_copies(run.directory)
    source = study or directory / SPEC
    data: Any = load_document(source).data
    data["baselines"] = data.get("baselines", [])[:1]
    reference = [dict(baseline.point) for baseline in _study(source, data).baselines]
    data["baselines"] += [
        {"name": f"trial {trial.number}", "values": dict(trial.point)}
        for trial in front
        if dict(trial.point) not in reference
    ]
    count = len(data["baselines"])
    data["search"] = {"sampler": "grid", "trials": count, "batch": min(count, 32)}
    return _study(source, data)


def _study(source: Path, data: Mapping[str, Any]) -> StudySpec:
    document = load_document(source, text=spec_text(data))
    return StudyReader(document, source.resolve().parent, resolved=True).read({}, {})
