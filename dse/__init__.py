"""Studies: design spaces, the search loop, run directories, reports, and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arch.lazy import lazily

if TYPE_CHECKING:
    from tilewright.dse.models.evaluator import Evaluator, Outcome
    from tilewright.dse.query.open_run import RunTrials as RunTrials
    from tilewright.dse.query.open_run import open_run
    from tilewright.dse.report.mapping.mapping_page import mapping_page as mapping_page
    from tilewright.dse.run.record import Trial as Trial
    from tilewright.dse.run.rundir import RunDirectory
    from tilewright.dse.run.runner import RunSettings, StudyResult, resume_study, start_study
    from tilewright.dse.study.study import StudySpec
    from tilewright.dse.study.study_loading import load_study

__all__ = [
    "Evaluator",
    "Outcome",
    "RunDirectory",
    "RunSettings",
    "StudyResult",
    "StudySpec",
    "load_study",
    "open_run",
    "resume_study",
    "start_study",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Evaluator": "tilewright.dse.models.evaluator",
        "RunSettings": "tilewright.dse.run.runner",
        "Outcome": "tilewright.dse.models.evaluator",
        "RunDirectory": "tilewright.dse.run.rundir",
        "RunTrials": "tilewright.dse.query.open_run",
        "StudyResult": "tilewright.dse.run.runner",
        "Trial": "tilewright.dse.run.record",
        "StudySpec": "tilewright.dse.study.study",
        "find_study": "tilewright.dse.command.shipped",
        "mapping_page": "tilewright.dse.report.mapping.mapping_page",
        "load_study": "tilewright.dse.study.study_loading",
        "open_run": "tilewright.dse.query.open_run",
        "resume_study": "tilewright.dse.run.runner",
        "start_study": "tilewright.dse.run.runner",
    },
)
