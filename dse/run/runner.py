"""Start a study, resume it, and finish it: front.json and the report."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tilewright.arch.errors import TilewrightError
from tilewright.dse.models.evaluator import Evaluator
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.models.worker_pool import Pool, make_pool
from tilewright.dse.run.environment import Keys, code_hash, describe, file_hashes
from tilewright.dse.run.front_file import summarize
from tilewright.dse.run.interrupts import INTERRUPTED, stop_on_signals
from tilewright.dse.run.record import Trial
from tilewright.dse.run.rundir import (
    FRONT,
    SPEC,
    RunDirectory,
    RunError,
    pretty_json,
    write_atomically,
)
from tilewright.dse.run.study_loop import Setting, Watcher, explore, shown_in_detail
from tilewright.dse.study.changed_keys import differing_keys
from tilewright.dse.study.preflight import preflight
from tilewright.dse.study.study import StudySpec
from tilewright.dse.study.study_loading import load_study

Ending = Literal["done", "nothing feasible", "interrupted"]
EXIT_CODES: Mapping[Ending, int] = {"done": 0, "nothing feasible": 3, "interrupted": INTERRUPTED}


@dataclass(frozen=True, slots=True)
class StudyResult:
    """How a study ended.

    `ending`: done, nothing feasible, or interrupted; `run`: its directory; `spec`: the study;
    `trials`: all of them; `front`: the contents of front.json.
    """

    ending: Ending
    run: RunDirectory
    spec: StudySpec
    trials: Sequence[Trial]
    front: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Execution:
    """How to run a study.

    `workers`: number of processes; `watcher`: is told of each batch; `evaluator`: a model in place
    of the study's (None); `stop`: an event that ends the run after the batch in which it is set
    (None: Ctrl-C and SIGTERM do).
    """

    workers: int = 1
    watcher: Watcher | None = None
    evaluator: Evaluator | None = None
    stop: threading.Event | None = None


def start_study(
    spec: StudySpec,
    out: Path,
    execution: Execution,
    *,
    study_file: Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> StudyResult:
    """Run a study in the new directory `out` to its end and write its report.

    `study_file` and `settings` (--set) are only recorded, in env.json. Raises RunError if `out`
    holds something already, SpecError for a study whose files or knobs cannot work, WorkerLost if
    a worker process died.
    """
    if execution.evaluator is None:
        preflight(spec)
    environment = describe(spec, study_file, settings or {})
    run = RunDirectory.create(out, spec_text(spec), environment)
    return _run(spec, run, execution)


def resume_study(directory: Path, execution: Execution) -> StudyResult:
    """Go on with an interrupted run; the result is that of a run that was never interrupted.

    Raises RunError if there is no run, or the study or one of its files has changed since the run
    began; WorkerLost if a worker process died.
    """
    run = RunDirectory.open(directory)
    spec = load_study(directory / SPEC)
    check_unchanged(run, spec)
    return _run(spec, run, execution)


def check_unchanged(run: RunDirectory, spec: StudySpec) -> None:
    """Check that the study of a run and its input files are what they were when it began.

    Raises RunError that names what differs.
    """
    environment = run.environment()
    stored = environment["spec"]
    differences = [f"{SPEC}: {line}" for line in differing_keys(stored, dict(spec.resolved))]
    origin = environment.get("study_file")
    if origin and Path(origin).is_file() and not differences:
        current = load_study(Path(origin), environment["settings"])
        differences = [
            f"{origin}: {line}" for line in differing_keys(stored, dict(current.resolved))
        ]
    now_files = file_hashes(environment["files"])
    for path, digest in environment["files"].items():
        if now_files.get(path) != digest:
            differences.append(
                f"{path}: {'the contents changed' if path in now_files else 'is missing'}"
            )
    if differences:
        raise RunError(
            f"the run in {run.path} cannot be resumed, for it began with another study:\n    "
            + "\n    ".join(differences),
            instead="undo the change, or start a new run in another directory",
        )


def code_changed(run: RunDirectory) -> bool:
    """Return whether Tilewright's own sources differ from those that began the run."""
    return bool(run.environment().get("code") != code_hash())


def spec_text(spec: StudySpec) -> str:
    """Return the study as the YAML text of a study file, with all defaults and absolute paths."""
    import yaml

    text: str = yaml.safe_dump(dict(spec.resolved), sort_keys=False, allow_unicode=True, width=100)
    return "# The study as it ran: a study file itself, with all defaults filled in.\n" + text


def _run(spec: StudySpec, run: RunDirectory, execution: Execution) -> StudyResult:
    evaluator = execution.evaluator or make_evaluator(spec)
    setting = Setting(spec, evaluator, Keys(spec), execution.watcher or _Silent())
    with _stopping(execution) as stop, make_pool(evaluator, execution.workers) as pool:
        trials = explore(setting, run, pool, stop.is_set)
        _complete_details(spec, run, pool, trials)
    return _finish(spec, run, trials)


def _complete_details(
    spec: StudySpec, run: RunDirectory, pool: Pool, trials: Sequence[Trial]
) -> None:
    """Evaluate again what a killed process could not store the details of."""
    shown = shown_in_detail(trials, spec)
    missing = [t for t in shown if run.details(t.number) is None]
    answers = pool.evaluate([trial.point for trial in missing], _Silent().evaluated)
    for trial, attempt in zip(missing, answers, strict=True):
        run.write_details(trial.number, attempt.outcome.details)


def _finish(spec: StudySpec, run: RunDirectory, trials: Sequence[Trial]) -> StudyResult:
    from tilewright.dse.report.report import write_report

    front = summarize(spec, trials)
    write_atomically(run.path / FRONT, pretty_json(front))
    write_report(run, spec, trials)
    ending: Ending = "done" if front["front"] else "nothing feasible"
    if len(trials) < spec.trials:
        ending = "interrupted"
    return StudyResult(ending, run, spec, trials, front)


class _Silent:
    def batch(self, trials: Sequence[Trial], seconds: float) -> None:
        """Show nothing."""

    def evaluated(self, done: int, count: int) -> None:
        """Show nothing."""


@contextmanager
def _stopping(execution: Execution) -> Iterator[threading.Event]:
    if execution.stop is not None:
        yield execution.stop
        return
    with stop_on_signals() as stop:
        yield stop


__all__ = [
    "EXIT_CODES",
    "Execution",
    "StudyResult",
    "TilewrightError",
    "resume_study",
    "start_study",
]
