"""The command simulate: execute a design of a run again."""

from __future__ import annotations

from pathlib import Path

import click

from tilewright.dse.command.console import emit, json_option, parse_settings, settings_option


@click.command("simulate", short_help="Execute the best design of a run again, with its timeline.")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--trial", type=click.IntRange(min=0), default=None,
              help="Number of a trial.  [default: the first design of the front]")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), default=None,
              help="Write the timeline there (open it in ui.perfetto.dev).")  # fmt: skip
@settings_option(
    "Change a knob of the design first, by its name in the trial's point "
    "(mapping.up.tile=4). May be repeated."
)
@json_option()
def simulate_command(
    directory: Path, trial: int | None, out: Path | None, settings: tuple[str, ...], as_json: bool
) -> None:
    """Execute a design of a simulated study again and show what it costs.

    \b
    Examples:
      tilewright simulate runs/wafer_matvec
      tilewright simulate runs/wafer_matvec --trial 17 --out timeline.json
      tilewright simulate runs/wafer_matvec --set arch.variables.GridX=16
    """
    from tilewright.dse.run.replay_design import replay_design

    answer = replay_design(directory, trial, out, parse_settings(settings))
    if as_json:
        emit(answer.document())
    else:
        click.echo(answer.text())
