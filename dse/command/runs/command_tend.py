"""Commands that tend runs: rerun, watch, doctor, schema."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tilewright.dse.command.console import emit, json_option, say

if TYPE_CHECKING:
    from tilewright.dse.query.open_run import RunTrials

_POLL = 1.0  # seconds


@click.command("rerun")
@click.option("--pareto-from", "source", type=click.Path(path_type=Path), required=True,
              metavar="RUN", help="The run whose front is evaluated again.")  # fmt: skip
@click.option("--study", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="In this study, not that of the run.")  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Directory; must be new."
)
@click.option("--workers", type=click.IntRange(min=1, max=64), default=1, show_default=True)
def rerun_command(source: Path, study: Path | None, out: Path, workers: int) -> None:
    """Evaluate the designs of a run's front again, as a new run.

    \b
    Examples:
      tilewright study rerun --pareto-from runs/first --out runs/again
      tilewright study rerun --pareto-from runs/first --study executed.yaml --out runs/executed
    """
    from tilewright.dse.query.rerun import front_study
    from tilewright.dse.report.conclusion import conclusion
    from tilewright.dse.run.live_view import watcher_for
    from tilewright.dse.run.rundir import REPORT
    from tilewright.dse.run.runner import EXIT_CODES, RunSettings, start_study

    spec = front_study(source, study)
    with watcher_for(spec) as watcher:
        result = start_study(spec, out, RunSettings(workers, watcher))
    click.echo(conclusion(result.spec, result.trials))
    click.echo(f"report: {out / REPORT}")
    click.get_current_context().exit(EXIT_CODES[result.ending])


@click.command("watch", short_help="Follow a run of another process.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--once", is_flag=True, help="Print the present state only.")
def watch_command(run: Path, once: bool) -> None:
    """Follow a run of another process: a line for each new batch, until it ends.

    Where no process of this machine runs the study, a note says so.

    \b
    Examples:
      tilewright study watch runs/wafer_matvec
      watch -n 60 tilewright study watch runs/wafer_matvec --once
    """
    from tilewright.dse.query.open_run import open_run
    from tilewright.dse.query.running import can_tell, process_of
    from tilewright.dse.run.study_loop import is_complete

    shown, noted = -1, False
    while True:
        opened = open_run(run)
        if len(opened) > shown:
            shown = len(opened)
            click.echo(_state(opened, run))
        if is_complete(opened.spec, opened.trials):
            return
        stands = can_tell() and process_of(run) is None
        if stands and not noted:
            say(f"note: no process here runs it; `tilewright study resume {run}` goes on")
        noted = stands
        if once:
            return
        time.sleep(_POLL)


def _state(opened: RunTrials, run: Path) -> str:
    """Return a line on the state of a run, with what is done of the batch that is evaluated."""
    from tilewright.dse.query.running import evaluated_of_batch
    from tilewright.dse.run.live_view import state_lines
    from tilewright.dse.run.rundir import REPORT
    from tilewright.dse.run.study_loop import counted, is_complete

    words = [f"{counted(opened.trials)}/{opened.spec.trials} trials"]
    words += state_lines(opened.spec, opened.trials)[:2] if len(opened) else ["no batch yet"]
    done = evaluated_of_batch(run)
    if is_complete(opened.spec, opened.trials):
        words.append(f"ended; report: {run / REPORT}")
    elif done:
        words.append(f"{done} of the next batch evaluated")
    return " | ".join(words)


@click.command("doctor", short_help="Check this machine, and a run directory.")
@click.argument("run", type=click.Path(path_type=Path), required=False)
@json_option()
def doctor_command(run: Path | None, as_json: bool) -> None:
    """Check this machine, and a run directory if one is named; exit code 2 if one is wrong."""
    from tilewright.dse.query.doctor import examine_machine, examine_run

    findings = list(examine_machine()) + (list(examine_run(run)) if run is not None else [])
    if as_json:
        emit([{"subject": f.subject, "words": f.words, "good": f.is_good} for f in findings])
    for finding in findings:
        if not as_json:
            click.echo(
                f"{'ok     ' if finding.is_good else 'PROBLEM'} {finding.subject}: {finding.words}"
            )
    click.get_current_context().exit(0 if all(finding.is_good for finding in findings) else 2)


@click.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of study files, for editors."""
    click.echo(schema_text(), nl=False)
    say("an editor takes it by a first line `# yaml-language-server: $schema=FILE` in the study")


def schema_text() -> str:
    """Return the JSON Schema of study files as text."""
    from tilewright.dse.study.study_file import StudyFile

    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**schema, **StudyFile.model_json_schema()}, indent=1) + "\n"
