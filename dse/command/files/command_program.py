"""The command `tilewright program`: execute a program of the machine from its text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.dse.command.console import check_writable, emit, json_option, say

if TYPE_CHECKING:
    from tilewright.simulator.program.program import Program

Arrays = dict[str, Any]


@click.command("program", short_help="Execute a program of the machine from its text.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--profile", default="wse3-sdk-sim", show_default=True, metavar="NAME",
              help="The machine: a shipped profile, or a YAML file.")  # fmt: skip
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="FILE.npz",
              help="Start values of buffers and words of edge inputs, by name.")  # fmt: skip
@click.option("--random", "seed", type=click.IntRange(min=0), default=None, metavar="SEED",
              help="Draw what --data does not give: small whole numbers.")  # fmt: skip
@click.option("--note", "notes", multiple=True, metavar="WHAT",
              help="Note this: races (else they end the run), unwritten (reads of memory that "
                   "nothing has written). May be repeated.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), default=None, metavar="FILE.npz",
              help="Write the final memory and what left the grid.")  # fmt: skip
@click.option("--timeline", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Write the timeline: .json for ui.perfetto.dev, else lines for the viewer of "
                   "the vendor's traces.")  # fmt: skip
@click.option("--report", type=click.Path(path_type=Path), default=None, metavar="FILE.html",
              help="Write a page: cycles by reason, bank conflicts, address maps.")  # fmt: skip
@json_option()
def program_command(  # noqa: PLR0913, PLR0917 (one per option)
    file: Path,
    profile: str,
    data: Path | None,
    seed: int | None,
    notes: tuple[str, ...],
    out: Path | None,
    timeline: Path | None,
    report: Path | None,
    as_json: bool,
) -> None:
    """Execute a program and say where its cycles went.

    The text form is that of docs/programs.md. Arrays have a row and a column of elements in front
    (buffers), or a position along the border (edge inputs); where both have one name, write
    memory.NAME and edge.NAME.

    \b
    Examples:
      tilewright program matvec.txt
      tilewright program matvec.txt --random 1 --report matvec.html --timeline matvec.json
      tilewright program matvec.txt --data tiles.npz --out result.npz --profile wse2-sdk-sim
    """
    from tilewright.simulator.profiles.profile import load_profile
    from tilewright.simulator.run.machine import Machine
    from tilewright.simulator.show.run_page import run_facts, run_page, run_text
    from tilewright.simulator.text.parsing import parse_program

    for path in (out, timeline, report):
        if path is not None:
            check_writable(path)
    program = parse_program(file.read_text(encoding="utf-8"), str(file))
    memory, edges = _inputs(program, data, seed)
    machine = Machine(program, load_profile(profile))
    result = machine.run(memory=memory, edges=edges, timeline=timeline is not None, notes=notes)
    facts = run_facts(machine, result)
    if out is not None:
        _save(out, dict(result.memory), {name: s.values for name, s in result.edges.items()})
    if timeline is not None:
        timeline.write_text(_timeline(machine, result, timeline), encoding="utf-8")
    if report is not None:
        report.write_text(run_page(machine, result), encoding="utf-8")
    if as_json:
        emit(facts)
        return
    click.echo(run_text(facts))
    for path in (out, timeline, report):
        if path is not None:
            say(f"written: {path}")


def _timeline(machine: Any, result: Any, path: Path) -> str:
    from tilewright.simulator.show.timeline import perfetto
    from tilewright.simulator.show.viewer_trace import viewer_trace

    if path.suffix == ".json":
        return json.dumps(perfetto(result, machine.profile.clock_hz))
    return viewer_trace(machine.program, machine.profile, result)


def _inputs(program: Program, data: Path | None, seed: int | None) -> tuple[Arrays, Arrays]:
    """Return the start values of buffers and the words of edge inputs, by name."""
    ports = {port.name: port for port in program.edge_inputs}
    memory: Arrays = {}
    edges: Arrays = {}
    for name, array in _loaded(data).items():
        kind, dot, rest = name.partition(".")
        is_edge = kind == "edge" if dot and kind in ("edge", "memory") else name in ports
        key = rest if dot and kind in ("edge", "memory") else name
        (edges if is_edge else memory)[key] = array
    if seed is None:
        return memory, edges
    import numpy as np

    rng = np.random.default_rng(seed)
    for name, port in sorted(ports.items()):
        if name not in edges:
            edges[name] = rng.integers(0, 8, (port.positions, port.count))
    codes = program.codes
    names = {b.name for code in codes for b in code.buffers if not b.view_of}
    for name in sorted(names - set(memory)):
        held = [code.buffer(name) for code in codes]  # codes may differ in the shape
        memory[name] = {
            place: rng.integers(0, 8, buffer.shape)
            for place, number in np.ndenumerate(program.placement)
            if (buffer := held[int(number)]) is not None
        }
    return memory, edges


def _loaded(data: Path | None) -> Arrays:
    if data is None:
        return {}
    import zipfile

    import numpy as np

    from tilewright.simulator.isa.machine_errors import InputDataError

    try:
        with np.load(data, allow_pickle=False) as arrays:
            return dict(arrays)
    except (ValueError, TypeError, zipfile.BadZipFile) as error:
        raise InputDataError(
            f"{data} is no file of named arrays: {error}",
            value=str(data),
            instead="a file of numpy.savez",
        ) from None


def _save(path: Path, memory: Arrays, edges: Arrays) -> None:
    import numpy as np

    named = {f"edge.{name}" if name in memory else name: array for name, array in edges.items()}
    with path.open("wb") as file:
        np.savez(file, **memory, **named)
