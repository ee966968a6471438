"""Commands that run the machine: execute a mapping of a workload, run the text of a program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.arch.errors import TilewrightError
from tilewright.dse.command.console import (
    check_writable,
    emit,
    json_option,
    parse_settings,
    settings_option,
)
from tilewright.dse.command.design_options import ARCH_OPTION, WORKLOAD_OPTION, Names, load_both

if TYPE_CHECKING:
    from tilewright.simulator.run.trace import RunResult

_MACHINE = click.option(
    "--machine", default="wse2-sdk-sim", show_default=True, metavar="PROFILE",
    help="Machine profile: one that ships (wse2-sdk-sim, wse3-sdk-sim, …) or a YAML file.",
)  # fmt: skip
_HTML = click.option(
    "--html", type=click.Path(path_type=Path), default=None, metavar="FILE",
    help="Write a page with energy, heat maps and a timeline.",
)  # fmt: skip


@click.command("execute", short_help="Run a mapping on the machine, on numbers.")
@ARCH_OPTION
@WORKLOAD_OPTION
@click.option("--mapping", required=True, metavar="FILE", help="Mapping file.")
@_MACHINE
@click.option("--operands", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Input tensors by name, .npz or JSON; the others are drawn.")  # fmt: skip
@click.option("--results", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Write all tensors, operands and results, as .npz.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Of the operands that are drawn.")  # fmt: skip
@_HTML
@settings_option()
@json_option()
def execute_command(
    arch: Names, workload: Names, mapping: str, as_json: bool, **options: Any
) -> None:
    """Run a mapping on a grid of elements, compare its results with numpy, and show what it cost.

    Each Einsum is lowered to programs of the elements and simulated; its result must equal numpy
    within the rounding of its number type, and the machine's counts must equal the model's.

    \b
    Examples:
      tilewright map --arch wafer_grid --workload W.yaml --machine wse2-sdk-sim --save M.yaml
      tilewright execute --arch wafer_grid --workload W.yaml --mapping M.yaml --html run.html
    """
    import numpy as np

    from tilewright.dse.report.details import MAX_LANES
    from tilewright.dse.report.execution_page import (
        execution_lines,
        page_of,
        whole_document,
        write_execution_page,
    )
    from tilewright.mapper.mapping.mapping_file import load_mapping
    from tilewright.simulator.execution.einsum_execution import ExecutionSettings
    from tilewright.simulator.execution.execution import execute

    variables = parse_settings(options["settings"])
    hardware, work = load_both(arch, workload, variables, (Path(mapping),))
    nest = load_mapping(Path(mapping), variables=variables)
    for out in (options["html"], options["results"]):
        if out is not None:
            check_writable(out)
    settings = ExecutionSettings(
        machine=options["machine"],
        seed=options["seed"],
        shown_elements=MAX_LANES if options["html"] else 0,
    )
    given = None if options["operands"] is None else operands_of(options["operands"])
    execution = execute(hardware, work, nest, settings=settings, operands=given)
    if options["html"] is not None:
        write_execution_page(options["html"], page_of(execution, subject_of(arch, workload)))
    if options["results"] is not None:
        np.savez_compressed(options["results"], **execution.values)  # type: ignore[arg-type]
    if as_json:
        emit(whole_document(execution))
    else:
        click.echo("\n".join(execution_lines(execution)))


def subject_of(arch: Names, workload: Names) -> str:
    """Return the title of a page: the names of the files, without folder and ending."""
    hardware, work = (" + ".join(Path(name).stem for name in names) for names in (arch, workload))
    return f"{work} on {hardware}"


def operands_of(path: Path) -> dict[str, Any]:
    """Return the arrays of an `.npz` or JSON file by tensor.

    Raises TilewrightError for a file that holds none.
    """
    import numpy as np

    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        document = json.loads(path.read_text(encoding="utf-8"))
        return {name: np.asarray(values, dtype=np.float64) for name, values in document.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise TilewrightError(
            f"{path} holds no arrays by tensor: {error}",
            instead='an .npz file, or JSON such as {"A": [[1, 2], [3, 4]]}',
        ) from None


@click.command("run", short_help="Run the text of a program on the machine.")
@click.argument("program", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@_MACHINE
@click.option("--data", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Start values by buffer and border port, .npz or JSON.")  # fmt: skip
@_HTML
@json_option()
def run_command(
    program: Path, machine: str, data: Path | None, html: Path | None, as_json: bool
) -> None:
    """Run a program text (docs/programs.md) and show its cycles, counts and results.

    Of a page in Markdown the first block of code is the program, as in docs/examples.

    \b
    Examples:
      tilewright run docs/examples/a_switch_in_a_ring_deals_words_out.md --html run.html
      tilewright run my_program.txt --machine wse3-sdk-sim --data values.json --json
    """
    from tilewright.dse.report.execution_details import program_section
    from tilewright.dse.report.execution_page import ExecutionPage, write_execution_page
    from tilewright.simulator.fast.fast_machine import run_fast
    from tilewright.simulator.profiles.profile import load_profile
    from tilewright.simulator.text.parsing import parse_program

    if html is not None:
        check_writable(html)
    text = _program_text(program)
    parsed = parse_program(text, str(program))
    given = {} if data is None else operands_of(data)
    ports = {port.name for port in parsed.edge_inputs}
    memory = {name: values for name, values in given.items() if name not in ports}
    edges = {name: values for name, values in given.items() if name in ports}
    run = run_fast(parsed, load_profile(machine), memory, edges, html is not None)
    result = run.result
    if html is not None:
        cards = (
            ("Cycles", f"{result.cycles:,}"),
            ("Elements", f"{parsed.width} × {parsed.height}"),
            ("Multiply-accumulates", f"{result.counts.macs:,}"),
            ("Wavelets × links", f"{result.counts.wavelet_hops:,}"),
        )
        page = ExecutionPage(
            eyebrow=f"Run · {program.name} on {machine}",
            title=f"{result.cycles:,} cycles",
            lead=f"Program {parsed.name}, by the engine: {run.engine}.",
            cards=cards,
            notes=result.assumed,
            sections=(program_section(parsed.name, text, result),),
        )
        write_execution_page(html, page)
    if as_json:
        emit(_run_document(parsed.name, result, run.engine))
    else:
        click.echo("\n".join(_run_lines(parsed.name, result, run.engine)))


def _program_text(path: Path) -> str:
    """Return the text of a program; of a page in Markdown, its first block of code."""
    text = path.read_text(encoding="utf-8")
    blocks = text.split("```\n") if path.suffix == ".md" else []
    return blocks[1] if len(blocks) > 1 else text


def _run_document(name: str, result: RunResult, engine: str) -> dict[str, Any]:
    counts = result.counts
    return {
        "program": name,
        "cycles": result.cycles,
        "engine": engine,
        "cycles_by_state": result.trace.cycles_by_reason(),
        "counts": {key: getattr(counts, key) for key in counts.__dataclass_fields__},
        "memory": {key: values.tolist() for key, values in result.memory.items()},
        "edges": {key: stream.values.tolist() for key, stream in result.edges.items()},
    }


def _run_lines(name: str, result: RunResult, engine: str) -> list[str]:
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
    return lines
