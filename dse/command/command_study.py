"""Commands on studies: study list, run, resume, report."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.dse.command.console import emit, json_option, parse_lists, say, settings_option
from tilewright.dse.command.runs.command_ask import (
    compare_command,
    diff_command,
    explain_command,
    export_command,
    query_command,
    show_command,
)
from tilewright.dse.command.runs.command_tend import (
    doctor_command,
    rerun_command,
    schema_command,
    watch_command,
)

if TYPE_CHECKING:
    import threading

    from tilewright.dse.run.runner import StudyResult
    from tilewright.dse.study.study import StudySpec

_WORKERS = click.option(
    "--workers",
    type=click.IntRange(min=1, max=max(64, 4 * (os.cpu_count() or 1))),
    default=None,
    help="Worker processes; the result does not depend on it.  [default: the CPUs at hand]",
)
_EXECUTOR = click.option(
    "--executor",
    default="loky",
    show_default=True,
    help="Where designs are evaluated: loky (processes of this machine), dask (the same by Dask),"
    " or dask://HOST:PORT, a Dask scheduler whose workers see the run directory.",
)
_MIRROR = click.option(
    "--mirror",
    "mirrors",
    multiple=True,
    metavar="URL",
    help="Copy the trials to an Optuna study, which optuna-dashboard opens: sqlite:///study.db,"
    " postgresql://USER:PASSWORD@HOST/DATABASE, or the path of a journal.log. May be repeated.",
)
_DIRECTORY = click.argument("directory", type=click.Path(path_type=Path))


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """What `study run` and `study resume` are asked for alike.

    `workers`: number of processes, None for the CPUs at hand; `executor`: loky, dask or
    dask://HOST:PORT; `mirrors`: URLs of Optuna studies; `trials`: in all, None for those of the
    study; `settings`: KEY=VALUE; `as_json`: print one JSON document.
    """

    workers: int | None
    executor: str
    mirrors: tuple[str, ...]
    trials: int | None
    settings: tuple[str, ...]
    as_json: bool

    @property
    def processes(self) -> int:
        """The number of worker processes."""
        return self.workers or _cpus()


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRunOptions(StudyOptions):
    """The options of `study run`.

    `out`: the new directory, None for one in runs/; `dry_run`: try the reference design only;
    `reuse`: runs whose outcomes are taken over.
    """

    out: Path | None
    dry_run: bool
    reuse: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResumeOptions(StudyOptions):
    """The options of `study resume`; `retry`: evaluate failed designs again."""

    retry: bool


@click.group(
    "study",
    short_help="Search for the designs that answer a question.",
    commands=[
        query_command,
        show_command,
        explain_command,
        diff_command,
        compare_command,
        export_command,
        rerun_command,
        watch_command,
        doctor_command,
        schema_command,
    ],
)
def study_group() -> None:
    """Search for the designs that answer a question.

    A study is a YAML file: an architecture, a workload, the knobs that may be turned, and what to
    minimize. Its run directory holds every trial (trials.jsonl), the best designs (front.json)
    and a report that opens in a browser without network (report.html).
    """


@study_group.command("list", short_help="List the studies that ship, and what they ask.")
@json_option()
def list_studies(as_json: bool) -> None:
    """List the studies that ship with Tilewright, with the question each one asks."""
    from tilewright.dse.command.shipped import shipped_studies
    from tilewright.dse.study.study_loading import load_study

    studies = [(name, path, load_study(path)) for name, path in shipped_studies().items()]
    if as_json:
        emit([{"name": n, "file": str(p), "question": s.question} for n, p, s in studies])
        return
    for name, _, spec in studies:
        knobs = f"{len(spec.space.dimensions)} knobs, {spec.space.size:,} designs"
        asked = f"{spec.model}; {knobs}; {spec.trials:,} trials"
        click.echo(f"{name}\n    {spec.question}\n    {asked}")


@study_group.command("run")
@click.argument("study", metavar="NAME_OR_FILE")
@_WORKERS
@_EXECUTOR
@_MIRROR
@click.option("--out", type=click.Path(path_type=Path), default=None,
              help="Directory of the run; must be new.  [default: runs/NAME]")  # fmt: skip
@click.option("--trials", type=click.IntRange(min=1), default=None, help="Instead of the study's.")
@click.option("--dry-run", is_flag=True,
              help="Try the reference design and a few others; say how large the space is and how"
              " long all would take.")  # fmt: skip
@click.option("--reuse", type=click.Path(path_type=Path), multiple=True, metavar="RUN",
              help="Take over what another run has evaluated. May be repeated.")  # fmt: skip
@settings_option(
    "A variable of the study's files (SCALE=8), or a value of the study file itself "
    "(search.batch=4, seed=7). May be repeated."
)
@json_option()
def run_study(study: str, **options: Any) -> None:
    """Run a study: a shipped one by its name, or a study file of yours.

    Ctrl-C finishes the batch and writes everything; `tilewright study resume` goes on from there,
    also after a crash or kill -9, and ends with the same result.

    \b
    Examples:
      tilewright study run wafer_matvec
      tilewright study run my_study.yaml --workers 8 --out runs/first
      tilewright study run wafer_matvec --trials 20 --set SCALE=32 --set search.sampler=random
      tilewright study run my_study.yaml --set 'objectives=[energy, area]' --dry-run
    """
    from tilewright.dse.command.shipped import find_study
    from tilewright.dse.study.knobs import knobs_text
    from tilewright.dse.study.study_loading import load_study

    asked = StudyRunOptions(**options)
    path, values = find_study(study), parse_lists(asked.settings, "--set")
    if asked.trials is not None:
        values["search.trials"] = asked.trials
    spec = load_study(path, values)
    for baseline in spec.baselines:
        if own := knobs_text(spec.space, baseline.own):
            say(f"baseline {baseline.name}: {own}, as the files have it")
    if asked.dry_run:
        _estimate(spec, asked)
    else:
        _run(spec, path, values, asked)


def _estimate(spec: StudySpec, asked: StudyRunOptions) -> None:
    """Print what `study run --dry-run` says."""
    from tilewright.dse.query.estimate import estimate

    duration = estimate(spec, asked.processes, say)
    if asked.as_json:
        emit(duration.document())
    else:
        click.echo(duration.text())


def _run(spec: StudySpec, path: Path, values: Mapping[str, Any], asked: StudyRunOptions) -> None:
    """Run a study from its file, with what --set changes."""
    from tilewright.arch.quantities import some
    from tilewright.dse.run.live_view import watcher_for
    from tilewright.dse.run.runner import RunSettings, start_study
    from tilewright.dse.store.mirror import with_mirrors

    outcomes = _reused(asked.reuse)
    directory = asked.out or _free_directory(Path("runs") / spec.name)
    size = f"{some(spec.space.size, 'design')}, {some(spec.trials, 'trial')}"
    say(f"{spec.name}: {size}, run in {directory}")
    with _stopping(directory) as stop:
        with watcher_for(spec, stop) as shown:
            watcher = with_mirrors(shown, spec, asked.mirrors, directory.resolve().name, new=True)
            execution = RunSettings(
                asked.processes,
                watcher,
                stop=stop,
                earlier_outcomes=outcomes,
                executor=asked.executor,
            )
            result = start_study(spec, directory, execution, study_file=path, settings=values)
        _conclude(result, asked.as_json)


@study_group.command(
    "resume", short_help="Go on with an interrupted run, or extend a finished one."
)
@_DIRECTORY
@_WORKERS
@_EXECUTOR
@_MIRROR
@click.option("--trials", type=click.IntRange(min=1), default=None,
              help="Extend the run to so many trials in all.")  # fmt: skip
@click.option("--add", "settings", metavar="KEY=VALUE", multiple=True,
              help="Go on with another sampler (search.sampler=tpe), or more values of a knob,"
              " the old ones among them (space.arch.Buffer.size.pow2='[2**10, 2**16]'). May be"
              " repeated.")  # fmt: skip
@click.option("--retry", is_flag=True, help="Evaluate again what failed for want of memory, time"
              " or a worker, or hit a defect.")  # fmt: skip
@json_option()
def resume_command(directory: Path, **options: Any) -> None:
    """Go on with a run that was interrupted, with the result of one that was not.

    A finished run can be extended: its history stays, and env.json notes from where on the rest
    was searched otherwise.

    \b
    Examples:
      tilewright study resume runs/wafer_matvec
      tilewright study resume runs/wafer_matvec --trials 200
      tilewright study resume runs/wafer_matvec --trials 200 --add search.sampler=bottleneck
    """
    from tilewright.dse.run.live_view import watcher_for
    from tilewright.dse.run.rundir import SPEC, RunDirectory
    from tilewright.dse.run.runner import (
        RunSettings,
        changed_inputs,
        check_unchanged,
        code_changed,
        resume_study,
    )
    from tilewright.dse.store.extension import Changes, extend_run
    from tilewright.dse.store.mirror import with_mirrors
    from tilewright.dse.study.study_loading import load_study

    asked = StudyResumeOptions(**options)
    run = RunDirectory.open(directory)
    if code_changed(run):
        say("note: Tilewright has changed since this run began; later trials may differ for it")
    for file in changed_inputs(run):
        say(f"note: {file} has changed since this run began; the run goes on with its copy")
    changes = Changes(asked.trials, parse_lists(asked.settings, "--add"), asked.retry)
    with _stopping(directory) as stop:
        check_unchanged(run)
        extend_run(run, changes)
        spec = load_study(directory / SPEC)
        with watcher_for(spec, stop) as shown:
            watcher = with_mirrors(shown, spec, asked.mirrors, directory.resolve().name)
            execution = RunSettings(asked.processes, watcher, stop=stop, executor=asked.executor)
            result = resume_study(directory, execution)
        _conclude(result, asked.as_json)


@study_group.command("report", short_help="Write report.html of a run anew.")
@_DIRECTORY
@json_option()
def report_command(directory: Path, as_json: bool) -> None:
    """Write report.html of a run anew (also of one that has not ended) and say where it lies.

    \b
    Example:
      tilewright study report runs/wafer_matvec
    """
    from tilewright.dse.report.report import write_report
    from tilewright.dse.run.rundir import SPEC, RunDirectory
    from tilewright.dse.study.study_loading import load_stored_study

    run = RunDirectory.open(directory)
    spec = load_stored_study(directory / SPEC)
    path = write_report(run, spec, run.trials(spec))
    if as_json:
        emit({"report": str(path)})
    else:
        click.echo(path)


def _stopping(directory: Path) -> AbstractContextManager[threading.Event]:
    from tilewright.dse.run.interrupts import FINISHING, leave_at_once, stop_on_signals
    from tilewright.dse.run.rundir import RunDirectory

    return stop_on_signals(
        lambda: leave_at_once(directory, RunDirectory(directory).exists),
        message="" if sys.stderr.isatty() else FINISHING,  # the live view says so
    )


def _conclude(result: StudyResult, as_json: bool) -> None:
    from tilewright.dse.report.conclusion import conclusion
    from tilewright.dse.run.interrupts import resume_hint
    from tilewright.dse.run.rundir import REPORT
    from tilewright.dse.run.runner import EXIT_CODES

    path = result.run.path
    if as_json:
        emit(
            {
                "ending": result.ending,
                "directory": str(path),
                "report": str(path / REPORT),
                **result.front,
            }
        )
    else:
        click.echo(conclusion(result.spec, result.trials))
        click.echo(f"report: {path / REPORT}")
    if result.ending == "interrupted":
        say(resume_hint(path))
    click.get_current_context().exit(EXIT_CODES[result.ending])


def _reused(runs: tuple[Path, ...]) -> dict[str, Any]:
    """Return what other runs have evaluated, by key.

    Those of another version say nothing. Raises RunError for a run with a model of the user.
    """
    from tilewright.dse.run.rundir import RunDirectory
    from tilewright.dse.run.runner import check_model, code_changed
    from tilewright.dse.store.known_outcomes import known_outcomes

    outcomes: dict[str, Any] = {}
    for path in runs:
        run = RunDirectory.open(path)
        check_model(run)
        if code_changed(run):
            say(f"note: {path} was made by another state of Tilewright; nothing is taken over")
        else:
            outcomes |= known_outcomes(run.trials())
    return outcomes


def _free_directory(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
