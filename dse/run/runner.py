"""Start a study, resume it, and finish it: front.json and the report."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from tilewright.arch.errors import TilewrightError
from tilewright.arch.files.source import load_document
from tilewright.arch.parallel_compilation import compile_first
from tilewright.arch.quantities import some
from tilewright.dse.command.console import say
from tilewright.dse.islands.island_search import Crew, search_islands
from tilewright.dse.islands.rounds import island_details
from tilewright.dse.models.dask_workers import check_executor
from tilewright.dse.models.evaluator import (
    NOTHING_SHARED,
    Attempt,
    Evaluator,
    Pool,
    Sharing,
    asking_for_details,
    has_check,
    kernels_of,
)
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.models.worker_pool import LOKY, make_pool
from tilewright.dse.run.environment import Keys, Start, describe, name_of
from tilewright.dse.run.front_file import summarize
from tilewright.dse.run.interrupts import INTERRUPTED, stop_on_signals
from tilewright.dse.run.record import Trial
from tilewright.dse.run.rundir import FRONT, SPEC, RunDirectory
from tilewright.dse.run.study_loop import Setting, Watcher, explore, is_complete, shown_in_detail
from tilewright.dse.store.extension import Changes, extend_run, outcomes_before, since_of, spec_text
from tilewright.dse.store.kept_inputs import changed_origins, keep_inputs
from tilewright.dse.store.safe_files import RunError, pretty_json, write_atomically
from tilewright.dse.study.changed_keys import differing_keys
from tilewright.dse.study.preflight import preflight
from tilewright.dse.study.study import StudySpec
from tilewright.dse.study.study_loading import load_study
from tilewright.simulator.known.code_hash import code_hash

_COMPILING = "compiling what designs call, once on a computer, before their limits begin"
_FILE_MOVED = re.compile(r"^(arch|workload|workloads)(\.\d+)?\.file:|^machine:")
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

    def __repr__(self) -> str:
        sizes = f"{some(len(self.trials), 'trial')}, {len(self.front['front'])} on the front"
        return f"<StudyResult {self.ending}: {sizes}, {self.run.path}>"

    def _repr_html_(self) -> str:
        """Return the answer in words and the Pareto front as a table, for a notebook."""
        from tilewright.arch.html_parts import html_lines
        from tilewright.dse.query.open_run import open_run
        from tilewright.dse.report.conclusion import conclusion

        words = conclusion(self.spec, self.trials).splitlines()
        front = open_run(self.run.path).front()
        return html_lines([(line, "") for line in words]) + front._repr_html_()


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How to run a study.

    `workers`: number of processes; `watcher`: is told of each batch; `evaluator`: a model in place
    of the study's (None); `stop`: an event that ends the run after the batch in which it is set
    (None: Ctrl-C, SIGTERM and SIGHUP do); `earlier_outcomes`: outcomes by key that need no
    evaluation; `executor`: loky (processes of this machine), `dask`, or `dask://HOST:PORT`.
    """

    workers: int = 1
    watcher: Watcher | None = None
    evaluator: Evaluator | None = None
    stop: threading.Event | None = None
    earlier_outcomes: Mapping[str, Attempt] = field(default_factory=dict)
    executor: str = LOKY


def start_study(
    spec: StudySpec,
    out: Path,
    run_settings: RunSettings,
    *,
    study_file: Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> StudyResult:
    """Run a study in the new directory `out` to its end and write its report.

    The input files are copied into it, and the run reads the copies. `study_file` and `settings`
    (--set) are only recorded, in env.json. Raises RunError if `out` holds something already,
    SpecError for a study whose files or knobs cannot work, EnvironmentFailed or WorkerLost if the
    machine does not allow to evaluate designs.
    """
    if run_settings.evaluator is None:
        preflight(spec)
    if run_settings.executor != LOKY:
        check_executor(run_settings.executor, spec.islands)
    inputs = keep_inputs(spec)
    environment = describe(inputs, spec, Start(study_file, settings or {}, run_settings.evaluator))
    run = RunDirectory.create(out, spec_text(inputs.resolved), environment, inputs.contents)
    return _run(load_study(run.path / SPEC), run, run_settings)


def resume_study(
    directory: Path, run_settings: RunSettings, changes: Changes | None = None
) -> StudyResult:
    """Go on with an interrupted run; the result is that of a run that was never interrupted.

    `changes`: extend the run (more trials, more values, another sampler), or evaluate failed trials
    again. Raises RunError if there is no run, or if the study or the model has changed since the
    run began; EnvironmentFailed or WorkerLost if the machine does not allow to evaluate designs.
    """
    run = RunDirectory.open(directory)
    check_unchanged(run)
    check_model(run, run_settings.evaluator)
    if changes is not None:
        extend_run(run, changes)
    return _run(load_study(directory / SPEC), run, run_settings)


def check_unchanged(run: RunDirectory) -> None:
    """Check that the study of a run and its copies of input files are what they were.

    Raises RunError that names what differs, also if the study file that the run began with says
    something else now.
    """
    environment = run.environment()
    data: Any = load_document(run.path / SPEC).data
    differences = [f"{SPEC}: {line}" for line in differing_keys(environment["spec"], data)]
    origin = environment.get("study_file")
    if origin and Path(origin).is_file() and not differences and not environment.get("extensions"):
        differences = _changes_of_study(Path(origin), environment)
    differences += _changed_copies(run, environment)
    if differences:
        raise RunError(
            f"the run in {run.path} cannot be resumed, for it began with another study:\n    "
            + "\n    ".join(differences),
            instead="undo the change, start a new run in another directory, or extend this one:"
            " --trials N, --add KEY=VALUE",
        )


def check_copies(run: RunDirectory) -> None:
    """Check that a run's copies of input files are what its designs were evaluated with.

    Raises RunError that names those that differ: figures found now would not go with the recorded.
    So it does for a run with a model of the user.
    """
    check_model(run)
    differences = _changed_copies(run, run.environment())
    if differences:
        raise RunError(
            f"input files of the run in {run.path} are not those that its designs were evaluated"
            " with:\n    " + "\n    ".join(differences),
            instead="put them back, or start a new run with them",
        )


def check_model(run: RunDirectory, evaluator: Evaluator | None = None) -> None:
    """Raise RunError if the study's model and one of the user would evaluate designs of one run.

    `evaluator`: a model of the user, None for that of the study. Of two models of the user, which
    may be a mended one and one that failed, the user must know.
    """
    recorded = run.environment().get("evaluator")
    if (recorded is None) == (evaluator is None):
        return
    models = (recorded or "the model of its study", evaluator and name_of(evaluator))
    raise RunError(
        f"the designs of the run in {run.path} were evaluated by {models[0]}, not by"
        f" {models[1] or 'the model of its study'}",
        instead="resume_study without an evaluator, or a new run"
        if recorded is None
        else "from Python: resume_study(DIR, RunSettings(evaluator=...))",
    )


def _changed_copies(run: RunDirectory, environment: Mapping[str, Any]) -> list[str]:
    """Return a line for each copy of an input file that is missing, or holds something else."""
    differences = []
    for name, digest in environment["files"].items():
        path = run.path / name
        if not path.is_file():
            differences.append(f"{name}: is missing")
        elif sha256(path.read_bytes()).hexdigest() != digest:
            differences.append(f"{name}: the contents changed")
    return differences


def _changes_of_study(origin: Path, environment: Mapping[str, Any]) -> list[str]:
    """Return what the study file says now and did not say when the run began."""
    try:
        current = load_study(origin, environment["settings"])
    except TilewrightError:  # files that it names may be elsewhere: the run has copies
        return []
    lines = differing_keys(environment.get("original", {}), dict(current.resolved))
    return [f"{origin}: {line}" for line in lines if not _FILE_MOVED.search(line)]


def changed_inputs(run: RunDirectory) -> list[str]:
    """Return the input files that hold something else now than the copies that a run reads."""
    environment = run.environment()
    return changed_origins(environment.get("origins", {}), environment["files"])


def code_changed(run: RunDirectory) -> bool:
    """Return whether Tilewright's own sources differ from those that began the run."""
    return bool(run.environment().get("code") != code_hash())


def _run(spec: StudySpec, run: RunDirectory, run_settings: RunSettings) -> StudyResult:
    evaluator = run_settings.evaluator or make_evaluator(spec)
    environment = run.environment()
    keys = Keys(spec, environment["files"])
    setting = Setting(
        spec,
        keys,
        run_settings.watcher or _Silent(),
        {**outcomes_before(run), **run_settings.earlier_outcomes},
        since_of(environment),
        has_check=has_check(evaluator),
    )
    crew = Crew(evaluator, run_settings.workers, run_settings.executor, setting.earlier_outcomes)
    with _stopping(run_settings) as stop:
        if spec.limits.is_limited:
            compile_first(kernels_of(evaluator), lambda: say(_COMPILING))
        if spec.islands > 1:
            trials = search_islands(setting, run, crew, stop.is_set)
            crew = crew.part(0, 1)
        pool = make_pool(evaluator, crew.workers, spec.limits, crew.executor)
        with pool:
            if spec.islands == 1:
                trials = explore(setting, run, pool, stop.is_set)
            _complete_details(spec, run, pool, trials, evaluator)
    return _finish(spec, run, trials)


def _complete_details(
    spec: StudySpec, run: RunDirectory, pool: Pool, trials: Sequence[Trial], evaluator: Evaluator
) -> None:
    """Evaluate again what has no details, as the model left them out or a process was killed."""
    shown = shown_in_detail(trials, spec)
    if spec.islands > 1:
        for trial in shown:
            details = island_details(run, trial)
            if details is not None:
                run.write_details(trial.number, details)
        run.keep_details([trial.number for trial in shown])
    missing = [t for t in shown if run.details(t.number) is None]
    points = [asking_for_details(evaluator, trial.point) for trial in missing]
    answers = pool.evaluate(points, _Silent().evaluated)
    for trial, attempt in zip(missing, answers, strict=True):
        run.write_details(trial.number, attempt.outcome.details)


def _finish(spec: StudySpec, run: RunDirectory, trials: Sequence[Trial]) -> StudyResult:
    from tilewright.dse.report.report import write_report

    front = summarize(spec, trials)
    write_atomically(run.path / FRONT, pretty_json(front))
    write_report(run, spec, trials)
    ending: Ending = "done" if front["front"] else "nothing feasible"
    if not is_complete(spec, trials):
        ending = "interrupted"
    return StudyResult(ending, run, spec, trials, front)


class _Silent:
    def batch(
        self, trials: Sequence[Trial], seconds: float, sharing: Sharing = NOTHING_SHARED
    ) -> None:
        """Show nothing."""

    def evaluated(self, done: int, count: int) -> None:
        """Show nothing."""


@contextmanager
def _stopping(run_settings: RunSettings) -> Iterator[threading.Event]:
    if run_settings.stop is not None:
        yield run_settings.stop
        return
    with stop_on_signals() as stop:
        yield stop


__all__ = [
    "EXIT_CODES",
    "RunSettings",
    "StudyResult",
    "TilewrightError",
    "resume_study",
    "start_study",
]
