"""Studies: design spaces, the search loop, run directories, reports, and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arch.lazy import lazily

if TYPE_CHECKING:
    from tilewright.dse.evaluator import Evaluator, Outcome
    from tilewright.dse.rundir import RunDirectory
    from tilewright.dse.runner import Execution, StudyResult, resume_study, start_study
    from tilewright.dse.shipped import find_study
    from tilewright.dse.study import StudySpec, load_study

__all__ = [
    "Evaluator",
    "Execution",
    "Outcome",
    "RunDirectory",
    "StudyResult",
    "StudySpec",
    "find_study",
    "load_study",
    "resume_study",
    "start_study",
]

__getattr__ = lazily(
    __name__,
    {
        "Evaluator": "tilewright.dse.evaluator",
        "Execution": "tilewright.dse.runner",
        "Outcome": "tilewright.dse.evaluator",
        "RunDirectory": "tilewright.dse.rundir",
        "StudyResult": "tilewright.dse.runner",
        "StudySpec": "tilewright.dse.study",
        "find_study": "tilewright.dse.shipped",
        "load_study": "tilewright.dse.study",
        "resume_study": "tilewright.dse.runner",
        "start_study": "tilewright.dse.runner",
    },
)
