"""Commands that ask a run: query, show, explain, diff, compare, export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.dse.command.console import emit, json_option, say

if TYPE_CHECKING:
    from tilewright.dse.query.open_run import RunTrials
    from tilewright.dse.study.design_space import Point, Space

_MOST_MAPPINGS = 20
RUN = click.argument("run", type=click.Path(path_type=Path))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOptions:
    """The options of `study query`.

    `sort`: expression to order by, None for none; `descending`: the largest first; `front`: metrics
    in which no other may beat a trial, None for none; `limit`: how many to print; `repeats`: also
    trials that repeat a design; `as_json`: print one JSON document.
    """

    sort: str | None
    descending: bool
    front: str | None
    limit: int
    repeats: bool
    as_json: bool


@click.command("query")
@RUN
@click.argument("condition", default="")
@click.option("--sort", default=None, metavar="EXPRESSION", help="Order by this, smallest first.")
@click.option("--descending", is_flag=True, help="With --sort: largest first.")
@click.option("--front", default=None, metavar="METRICS",
              help="Keep what no other of them beats in these, separated by commas.")  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True,
              help="Print so many trials.")  # fmt: skip
@click.option("--repeats", is_flag=True, help="Also trials that repeat an earlier design.")
@json_option()
def query_command(run: Path, condition: str, **options: Any) -> None:
    """List the trials of a run for which a condition holds.

    CONDITION is an expression over metrics, knobs (by name, short label or path) and trial, status,
    proof, gap, seconds, with units. Each design is listed once.

    \b
    Examples:
      tilewright study query runs/a "latency < 1 ms and GlobalBuffer.size <= 64 MiB" --sort edp
      tilewright study query runs/a "status == 'feasible'" --front energy,latency
      tilewright study query runs/a "gap > 0.01" --sort "energy / base.energy"
      tilewright study query runs/a "seconds < 1 and gap < 0.05"
    """
    from tilewright.dse.query.open_run import open_run

    asked = QueryOptions(**options)
    trials = open_run(run) if asked.repeats else open_run(run).designs()
    chosen = trials.where(condition) if condition else trials
    if not asked.as_json:
        _say_what_there_is(trials, chosen, condition)
    shown_also = []
    if asked.front is not None:
        shown_also = [name.strip() for name in asked.front.split(",") if name.strip()]
        chosen = chosen.front(*shown_also)
    if asked.sort is not None:
        chosen = chosen.sorted_by(asked.sort, descending=asked.descending)
        shown_also.append(asked.sort)
    _print(chosen, asked.limit, asked.as_json, shown_also)


def _say_what_there_is(asked: RunTrials, chosen: RunTrials, condition: str) -> None:
    """Say between which values the trials lie, if the condition holds for none of them.

    Else only of knobs, for a limit with a unit that tells no values apart.
    """
    for line in asked.spans(condition, of_knobs=bool(len(chosen))):
        say(line)


def _print(trials: RunTrials, limit: int, as_json: bool, also: Sequence[str]) -> None:
    from tilewright.arch.quantities import some
    from tilewright.arch.text_table import text_table

    if as_json:
        emit(trials.rows())
        return
    if not len(trials):
        click.echo("no trial")
        return
    table = trials.table(limit, also)
    click.echo("\n".join(text_table(table, ">" * (len(table[0]) - 1) + "<")))
    more = f", {limit} shown (--limit)" if len(trials) > limit else ""
    say(some(len(trials), "trial") + more)


@click.command("show", short_help="Show one trial: knobs, metrics, proof, loop nests.")
@RUN
@click.argument("trial", type=click.IntRange(min=0))
@json_option()
def show_command(run: Path, trial: int, as_json: bool) -> None:
    """Show one trial: knobs, metrics, proof, its own front, loop nests.

    A design that is neither on the front nor a baseline is evaluated again for its loop nests.

    \b
    Example:
      tilewright study show runs/wafer_matvec 14
    """
    from tilewright.dse.query.open_run import open_run
    from tilewright.dse.query.trial_details import details_of

    opened = open_run(run)
    shown = opened.trial(trial)
    details = details_of(opened, trial, "loop_nest", say)
    row = next(each for each in opened.rows() if each["trial"] == trial)
    if as_json:
        emit(
            {**row, "mappings": [dict(each) for each in shown.mappings], "details": details or None}
        )
        return
    lines = list(_row_lines(row, opened.spec.space, shown.point))
    lines += _own_front(shown.mappings, opened.spec.mapper.get("front", ()))
    lines += _loop_nests(details)
    click.echo("\n".join(lines))


def _row_lines(row: Mapping[str, Any], space: Space, point: Point) -> Iterator[str]:
    """Yield a line for each knob and value that a trial has."""
    from tilewright.dse.study.knobs import knob_text, labels_of

    labels = zip(labels_of(space), space.paths, strict=True)
    texts = {label: knob_text(path, point[path]) for label, path in labels}
    for name, value in row.items():
        if value is not None:
            yield f"{name}: {texts.get(name) or _shown(name, value)}"


def _own_front(mappings: Sequence[Mapping[str, float]], asked: Sequence[str]) -> Iterator[str]:
    """Yield a table of the Pareto set of a design's mappings, in the metrics asked for."""
    from tilewright.arch.quantities import label, some, told_apart
    from tilewright.arch.text_table import text_table

    if not mappings:
        return
    usages = [name for name in mappings[0] if name.startswith("usage.")]
    names = [each for name in asked for each in (usages if name == "usage" else [name])]
    shown = mappings[:_MOST_MAPPINGS]
    columns = [told_apart([each[name] for each in shown], name) for name in names]
    more = f", {len(shown)} shown (--json has all)" if len(mappings) > len(shown) else ""
    yield from ("", f"its own front has {some(len(mappings), 'mapping')}{more}:")
    rows = [[label(name) for name in names], *map(list, zip(*columns, strict=True))]
    yield from text_table(rows, ">" * len(names))


def _loop_nests(details: Mapping[str, Any]) -> Iterator[str]:
    for section in details.get("sections", []):
        yield from ("", f"{section['einsum']}:", str(section["loop_nest"]))


def _shown(name: str, value: Any) -> str:
    from tilewright.arch.quantities import quantity, unit_of_metric
    from tilewright.mapper.searches.result import gap_text

    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "seconds":
        return quantity(value, "latency")
    if name == "gap":
        return gap_text(value)
    if isinstance(value, float) and unit_of_metric(name):
        return quantity(value, name)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@click.command(
    "explain", short_help="Say what binds a design, and what a step of each knob brings."
)
@RUN
@click.argument("trial", type=click.IntRange(min=0))
@json_option()
def explain_command(run: Path, trial: int, as_json: bool) -> None:
    """Say what takes most in a design, what is proven, and what each knob would change.

    Steps of knobs that the run has not tried are evaluated now; the run stays as it is.

    \b
    Example:
      tilewright study explain runs/wafer_matvec 14
    """
    from tilewright.dse.query.explanation import explain_trial
    from tilewright.dse.query.open_run import open_run

    explanation = explain_trial(open_run(run), trial, say)
    emit(explanation.document()) if as_json else click.echo(explanation.text())


@click.command("diff", short_help="Say why one trial is better than another.")
@RUN
@click.argument("first", type=click.IntRange(min=0))
@click.argument("second", type=click.IntRange(min=0))
@json_option()
def diff_command(run: Path, first: int, second: int, as_json: bool) -> None:
    """Say why one trial is better than another: knobs, and which part of each cost they move.

    \b
    Example:
      tilewright study diff runs/wafer_matvec 0 14
    """
    from tilewright.dse.query.comparison import diff_trials
    from tilewright.dse.query.open_run import open_run

    difference = diff_trials(open_run(run), first, second, say)
    emit(difference.document()) if as_json else click.echo(difference.text())


@click.command("compare", short_help="Compare two runs: fronts, hypervolume, best of each metric.")
@click.argument("first", type=click.Path(path_type=Path))
@click.argument("second", type=click.Path(path_type=Path))
@json_option()
def compare_command(first: Path, second: Path, as_json: bool) -> None:
    """Compare two runs with the same objectives: fronts, hypervolume, best of each metric.

    \b
    Example:
      tilewright study compare runs/fused runs/unfused
    """
    from tilewright.dse.query.comparison import compare_runs
    from tilewright.dse.query.open_run import open_run

    comparison = compare_runs(open_run(first), open_run(second))
    emit(comparison.document()) if as_json else click.echo(comparison.text())


@click.command("export", short_help="Write all trials of a run as CSV, JSON or Parquet.")
@RUN
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--json", "json_file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--parquet", "parquet_file", type=click.Path(path_type=Path), metavar="FILE")
def export_command(
    run: Path, csv_file: Path | None, json_file: Path | None, parquet_file: Path | None
) -> None:
    """Write all trials of a run as a table, a row per trial, with the column pareto_optimal.

    \b
    Example:
      tilewright study export runs/wafer_matvec --csv trials.csv --parquet trials.parquet
    """
    from tilewright.dse.query.export import export_csv, export_json, export_parquet
    from tilewright.dse.query.open_run import open_run

    if csv_file is json_file is parquet_file is None:
        raise click.UsageError("name a file: --csv FILE, --json FILE or --parquet FILE")
    opened = open_run(run)
    for write, path in (
        (export_parquet, parquet_file),  # first, for it alone needs more packages
        (export_csv, csv_file),
        (export_json, json_file),
    ):
        if path is not None:
            write(opened, path)
            say(f"wrote {path}")
