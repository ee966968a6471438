"""The command `tilewright run`: run the text of a program on the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.arch.errors import Where
from tilewright.dse.command.console import check_writable, emit, json_option
from tilewright.dse.command.machine.command_execute import HTML, MACHINE, operands_of

if TYPE_CHECKING:
    from tilewright.simulator.fast.fast_machine import FastMachine, FastResult
    from tilewright.simulator.program.program import Program
    from tilewright.simulator.run.trace import RunResult

Arrays = dict[str, Any]


@click.command("run", short_help="Run the text of a program on the machine.")
@click.argument("program", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@MACHINE
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Start values by buffer and border port, .npz or JSON.")  # fmt: skip
@click.option("--random", "seed", type=click.IntRange(min=0), default=None, metavar="SEED",
              help="Draw what --data does not give: small whole numbers.")  # fmt: skip
@click.option("--note", "notes", multiple=True, metavar="WHAT",
              help="Note races (else they end the run) or unwritten (reads of memory that nothing "
                   "has written). May be repeated.")  # fmt: skip
@click.option("--refuse", multiple=True, metavar="WHAT",
              help="End the run with an error at what it would go on with: unwritten.")  # fmt: skip
@click.option("--results", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Write the final memory and what left the grid, as .npz.")  # fmt: skip
@click.option("--timeline", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Write the timeline: .json for ui.perfetto.dev, else lines for the viewer of "
                   "the vendor's traces.")  # fmt: skip
@HTML
@json_option()
def run_command(program: Path, machine: str, as_json: bool, **options: Any) -> None:
    """Run a program text (docs/programs.md): cycles by reason, bank conflicts, counts, results.

    Of a page in Markdown the first block of code is the program, as in docs/examples. Where a
    buffer and a border port have one name, --data has memory.NAME and edge.NAME.

    \b
    Examples:
      tilewright run docs/examples/a_switch_in_a_ring_deals_words_out.md --html run.html
      tilewright run my_program.txt --machine wse3-sdk-sim --data values.json --json
      tilewright run my_program.txt --random 1 --timeline run.json --note unwritten
    """
    from tilewright.simulator.fast.fast_machine import FastMachine
    from tilewright.simulator.profiles.profile import load_profile
    from tilewright.simulator.text.parsing import parse_program

    for path in (options["html"], options["results"], options["timeline"]):
        if path is not None:
            check_writable(path)
    text = _program_text(program)
    parsed = parse_program(text, str(program))
    fast = FastMachine(parsed, load_profile(machine), refuse=options["refuse"])
    memory, edges = _inputs(parsed, options["data"], options["seed"])
    shown = options["html"] is not None or options["timeline"] is not None
    run = fast.run(memory=memory, edges=edges, timeline=shown, notes=options["notes"])
    _write(fast, run.result, options["results"], options["timeline"])
    if options["html"] is not None:
        _write_page(options["html"], f"{program.name} on {machine}", text.lstrip("\n"), fast, run)
    if as_json:
        emit(_document(fast, run))
    else:
        click.echo("\n".join(_lines(fast, run)))


def _program_text(path: Path) -> str:
    """Return the text of a program; of a page in Markdown, its first block of plain code.

    The lines of a page above the block are empty, so that errors name the lines of the page.
    Raises InputDataError for a file that is no text, and a page without a block.
    """
    from tilewright.simulator.isa.machine_errors import InputDataError

    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputDataError(
            "the file is not UTF-8 text",
            where=Where(str(path)),
            value=f"byte {error.object[error.start]:#04x} at {error.start}",
            instead="save it as UTF-8",
        ) from None
    return _first_block(path, text.split("\n")) if path.suffix == ".md" else text


def _first_block(path: Path, lines: list[str]) -> str:
    """Return the first block of text of a page, with an empty line for each line above it.

    Raises InputDataError for a page without a block.
    """
    from tilewright.simulator.isa.machine_errors import InputDataError

    fences = [i for i, line in enumerate(lines) if line.startswith("```")]
    for start, end in zip(fences[::2], fences[1::2], strict=False):
        if lines[start].strip() in ("```", "```text"):
            return "\n" * (start + 1) + "\n".join(lines[start + 1 : end])
    raise InputDataError(
        "the page has no block with the text of a program",
        where=Where(str(path)),
        value=lines[fences[0]] if fences else "no block",
        instead="a block between lines of ``` (those in Python are no texts)",
    )


def _inputs(program: Program, data: Path | None, seed: int | None) -> tuple[Arrays, Arrays]:
    """Return the start values of buffers and the words of border ports, by name."""
    memory, edges = _given_inputs(program, {} if data is None else operands_of(data))
    if seed is not None:
        _draw_missing(program, memory, edges, seed)
    return memory, edges


def _given_inputs(program: Program, arrays: Arrays) -> tuple[Arrays, Arrays]:
    """Deal arrays to buffers and border ports: by `memory.` or `edge.` before a name, or by it."""
    ports = {port.name for port in program.edge_inputs}
    memory: Arrays = {}
    edges: Arrays = {}
    for name, array in arrays.items():
        kind, dot, rest = name.partition(".")
        is_chosen = bool(dot) and kind in ("edge", "memory")
        is_edge = kind == "edge" if is_chosen else name in ports
        (edges if is_edge else memory)[rest if is_chosen else name] = array
    return memory, edges


def _draw_missing(program: Program, memory: Arrays, edges: Arrays, seed: int) -> None:
    """Give random integers from 0 to 7 to the ports and buffers that have no values."""
    import numpy as np

    rng = np.random.default_rng(seed)
    for port in sorted(program.edge_inputs, key=lambda port: port.name):
        if port.name not in edges:
            edges[port.name] = rng.integers(0, 8, (port.positions, port.count))
    codes = program.codes
    names = {b.name for code in codes for b in code.buffers if not b.view_of}
    for name in sorted(names - set(memory)):
        held = [code.buffer(name) for code in codes]  # codes may differ in the shape
        memory[name] = {
            place: rng.integers(0, 8, buffer.shape)
            for place, number in np.ndenumerate(program.placement)
            if (buffer := held[int(number)]) is not None
        }


def _write(
    fast: FastMachine, result: RunResult, results: Path | None, timeline: Path | None
) -> None:
    """Write the arrays and the timeline of a run, where they are asked for."""
    from tilewright.simulator.show.timeline import perfetto
    from tilewright.simulator.show.viewer_trace import viewer_trace

    program, profile = fast.machine.program, fast.machine.profile
    if timeline is not None:
        is_json = timeline.suffix == ".json"
        text = (
            json.dumps(perfetto(result, profile.clock_hz))
            if is_json
            else viewer_trace(program, profile, result)
        )
        timeline.write_text(text, encoding="utf-8")
    if results is not None:
        import numpy as np

        arrays = dict(result.memory)
        for name, stream in result.edges.items():
            arrays[f"edge.{name}" if name in arrays else name] = stream.values
        with results.open("wb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def _write_page(path: Path, subject: str, text: str, fast: FastMachine, run: FastResult) -> None:
    """Write the page on a run."""
    from tilewright.dse.report.execution_details import program_section
    from tilewright.dse.report.execution_page import ExecutionPage, write_execution_page
    from tilewright.simulator.show.inspection import inspect_program

    result, program = run.result, fast.machine.program
    cards = (
        ("Cycles", f"{result.cycles:,}"),
        ("Elements, rows × columns", f"{program.height:,} × {program.width:,}"),
        ("Multiply-accumulates", f"{result.counts.macs:,}"),
        ("Wavelets × links", f"{result.counts.wavelet_hops:,}"),
    )
    resources = str(inspect_program(program, fast.machine.profile))
    facts = {"bank conflicts": "; ".join(_conflicts(fast, result)) or "none"}
    section = program_section(program.name, f"{text}\n\n{resources}", result)
    page = ExecutionPage(
        eyebrow=f"Run · {subject}",
        title=f"{result.cycles:,} cycles",
        lead=f"Program {program.name}, by the engine: {run.engine}.",
        cards=cards,
        notes=tuple(_notes(fast, result)),
        assumed=tuple(result.assumed),
        sections=({**section, "facts": {**section["facts"], **facts}},),
    )
    write_execution_page(path, page)


def _notes(fast: FastMachine, result: RunResult) -> list[str]:
    from tilewright.simulator.diagnose.unset_counters import unset_counter_notes

    return [*unset_counter_notes(fast.machine.compiled.layouts), *result.notes]


def _conflicts(fast: FastMachine, result: RunResult) -> list[str]:
    from tilewright.simulator.show.bank_report import bank_report

    return [str(row) for row in bank_report(fast.machine, result)]


def _document(fast: FastMachine, run: FastResult) -> dict[str, Any]:
    result, counts = run.result, run.result.counts
    return {
        "program": fast.machine.program.name,
        "cycles": result.cycles,
        "engine": run.engine,
        "cycles_by_state": result.trace.cycles_by_reason(),
        "bank_conflicts": _conflicts(fast, result),
        "notes": _notes(fast, result),
        "assumed": list(result.assumed),
        "counts": {key: getattr(counts, key) for key in counts.__dataclass_fields__},
        "memory": {key: values.tolist() for key, values in result.memory.items()},
        "edges": {key: stream.values.tolist() for key, stream in result.edges.items()},
    }


def _lines(fast: FastMachine, run: FastResult) -> list[str]:
    name, result, engine = fast.machine.program.name, run.result, run.engine
    counts, states = result.counts, result.trace.cycles_by_reason()
    total = max(1, sum(states.values()))
    shown = ", ".join(f"{key} {value / total:.0%}" for key, value in states.items() if value)
    operations = (
        f"{counts.macs:,} multiply-accumulates, {counts.multiplies:,} products, "
        f"{counts.adds:,} additions, {counts.moves:,} moves"
    )
    network = (
        f"{counts.wavelet_hops:,} wavelets times links, "
        f"{counts.edge_in_words:,} words in, {counts.edge_out_words:,} out"
    )
    lines = [
        f"{name}: {result.cycles:,} cycles ({engine})",
        f"elements: {shown}",
        f"operations: {operations}",
        f"memory: {counts.memory_read_words:,} words read, {counts.memory_write_words:,} written",
        f"network: {network}",
    ]
    for port, stream in result.edges.items():
        values = ", ".join(f"{value:g}" for value in stream.values.ravel()[:8].tolist())
        more = ", …" if stream.values.size > 8 else ""
        lines.append(f"{port}: {values}{more} (last at cycle {int(stream.cycles.max())})")
    lines += [f"bank conflict: {row}" for row in _conflicts(fast, result)]
    return [*lines, *(f"note: {note}" for note in _notes(fast, result))]
