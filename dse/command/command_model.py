"""The commands `tilewright evaluate` and `tilewright map`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tilewright.arch.errors import TilewrightError
from tilewright.dse.command.console import (
    check_writable,
    emit,
    json_option,
    parse_settings,
    settings_option,
)
from tilewright.dse.command.design_options import (
    ARCH_OPTION,
    WORKLOAD_OPTION,
    Names,
    conventions_option,
    load_both,
)
from tilewright.dse.command.line.quantity_option import BYTES, SECONDS, QuantityType

if TYPE_CHECKING:
    from tilewright.arch.spec.architecture import Arch
    from tilewright.dse.command.mapping_answer import MappingAnswer
    from tilewright.mapper.mapping.mapping import Mapping
    from tilewright.mapper.workload.workload import Workload

F = TypeVar("F", bound=Callable[..., object])


def html_option(text: str) -> Callable[[F], F]:
    """Return a click decorator that adds the option --html FILE, and --report as another name."""
    return click.option("--html", "--report", "html", type=click.Path(path_type=Path), default=None,
                        metavar="FILE", help=text)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions:
    """The options of `evaluate` besides architecture and workload.

    `mapping`: its file; `allow_incomplete`: score a mapping that does not compute its workload;
    `html`: page to write, None for none; `settings`: KEY=VALUE; `as_json`: print one JSON document;
    `machine`: the profile whose counts and least cycles are asked for, None for the model's costs.
    """

    mapping: str
    allow_incomplete: bool
    html: Path | None
    conventions: str
    settings: tuple[str, ...]
    as_json: bool
    machine: str | None


@click.command("evaluate", short_help="Say what a mapping costs.")
@ARCH_OPTION
@WORKLOAD_OPTION
@click.option("--mapping", required=True, metavar="FILE", help="Mapping file.")
@click.option("--allow-incomplete", is_flag=True,
              help="Score a mapping that does not compute its workload, with a note.")  # fmt: skip
@html_option("Write a page with the loop nest and the costs.")
@click.option("--machine", default=None, metavar="PROFILE",
              help="On a grid of elements: counts and energy of an execution on this machine"
              " (wse2-sdk-sim, …), and the least cycles, without running it.")  # fmt: skip
@conventions_option()
@settings_option()
@json_option()
def evaluate_command(arch: Names, workload: Names, **options: Any) -> None:
    """Say what a mapping costs: energy, latency, area, and where they come from.

    \b
    Examples:
      tilewright evaluate --arch tpu_v4i --workload matmul.yaml --mapping m.yaml
      tilewright evaluate --arch a.yaml --workload w.yaml --mapping m.yaml --set M=128 --json
      tilewright evaluate --arch a.yaml --arch vars.yaml --workload w.yaml --mapping m.yaml
      tilewright evaluate --arch a.yaml --workload w.yaml --mapping m.yaml --html m.html
      tilewright evaluate --arch wafer_grid --workload W.yaml --mapping M --machine wse2-sdk-sim
    """
    from tilewright.dse.command.machine.machine_note import NOT_RUN, machine_notes
    from tilewright.dse.command.mapping_answer import (
        details,
        nest_of,
        tables,
        totals,
        verified_text,
    )
    from tilewright.mapper.evaluation.verified_score import evaluate
    from tilewright.mapper.mapping.mapping_file import load_mapping

    asked = EvaluateOptions(**options)
    path, variables = Path(asked.mapping), parse_settings(asked.settings)
    machine, work = load_both(arch, workload, variables, (path,))
    nest = load_mapping(path, variables=variables)
    if asked.machine is not None:
        _predict(machine, work, nest, asked)
        return
    score = evaluate(machine, work, nest, asked.conventions, asked.allow_incomplete)
    if asked.html is not None:
        from tilewright.dse.report.mapping.mapping_page import PageSubject, render_score, write_page
        from tilewright.mapper.mapping.scored_mapping import ScoredMapping

        subject = PageSubject(f"{path.stem}: {_title(arch, workload)}", machine, work)
        write_page(asked.html, render_score(ScoredMapping(nest, score), subject))
    if asked.as_json:
        emit({**score.to_dict(), **details(work, nest, score)})
        return
    lines = [nest_of(work, nest, score), "", *totals(score), *tables(score), ""]
    lines += [verified_text(score), *(f"note: {note}" for note in score.notes)]
    click.echo("\n".join([*lines, *machine_notes(machine, work, NOT_RUN)]))


def _predict(arch: Arch, work: Workload, nest: Mapping, asked: EvaluateOptions) -> None:
    """Print what a mapping costs on a machine, without a run."""
    from tilewright.dse.command.machine.prediction_answer import (
        check_no_model_options,
        prediction_document,
        prediction_lines,
    )
    from tilewright.mapper.evaluation.broken_rules import broken_rules
    from tilewright.mapper.model.conventions import conventions_called
    from tilewright.simulator.execution.einsum_execution import ExecutionSettings
    from tilewright.simulator.execution.prediction import predict_execution

    check_no_model_options(asdict(asked))
    assert asked.machine is not None
    prediction = predict_execution(arch, work, nest, ExecutionSettings(machine=asked.machine))
    notes = broken_rules(arch, work, nest, conventions_called("default"))
    if asked.as_json:
        emit({**prediction_document(prediction), "notes": list(notes)})
        return
    lines = prediction_lines(prediction)
    click.echo("\n".join([*lines, *(f"note: {note}" for note in notes)]))


def search_options() -> Callable[[F], F]:
    """Return a click decorator that adds the options that are passed on to the search."""
    options = (
        click.option("--objective", default="energy", show_default=True, metavar="FORMULA",
                     help="What to minimize: energy, latency, edp (energy × latency), or a formula"
                     " of these, e.g. 'energy * latency**2' or 'edp * usage.GlobalBuffer'."),
        click.option("--front", default="", metavar="METRICS", callback=_metrics,
                     help="Find the whole Pareto set over these: energy, latency, edp, usage (bits"
                     " used of every finite memory), usage.MEMORY; separated by commas. With"
                     " --machine: latency, energy, usage (of an element)."),
        click.option("--einsum", default=None, metavar="NAME", help="Map this Einsum only."),
        click.option("--no-fusion", "fusion", is_flag=True, flag_value=False, default=True,
                     help="Map every Einsum alone, shared tensors in the outermost memory."),
        click.option("--uneven", default="", metavar="NAMES", callback=_metrics,
                     help="Rank variables that may have a smaller last tile: m,k or all."),
        click.option("--budget", type=QuantityType(SECONDS, may_be_zero=True), default=None,
                     metavar="SECONDS",
                     help="Stop then, with the best mapping so far and a proven bound. What is"
                     " compiled once on a computer does not count."),
        click.option("--max-memory", type=QuantityType(BYTES, may_be_zero=False), default=None,
                     metavar="BYTES", help="A search stops before the process needs more: 4e9 or"
                     " '4 GB'."),
        click.option("--method", default="exact", show_default=True, metavar="NAME",
                     help="exact, exhaustive, random, annealing or optuna (Einsums alone)."),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
                     help="Where random, annealing and optuna start."),
        conventions_option(),
    )  # fmt: skip

    def added(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return added


def _metrics(context: click.Context, option: click.Parameter, text: str) -> tuple[str, ...]:
    del context, option
    return tuple(name.strip() for name in text.split(",") if name.strip())


@click.command("map", short_help="Find the best mapping of a workload.")
@ARCH_OPTION
@WORKLOAD_OPTION
@search_options()
@click.option("--save", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Write the mapping there, as a file that `evaluate` takes.")  # fmt: skip
@html_option("Write a page with the loop nest, the front and the costs.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True,
              help="Print so many points of a front: corners, the knee, others.")  # fmt: skip
@click.option("--point", type=click.IntRange(min=0), default=None, metavar="NUMBER",
              help="Show and save this point of the front, not the best mapping.")  # fmt: skip
@click.option("--what-if", multiple=True, metavar="MEMORY=SIZE",
              help="With a front over its usage: the best mapping if a memory were smaller, without"
              " a search. May be repeated.")  # fmt: skip
@click.option("--machine", default=None, metavar="PROFILE",
              help="On a grid of elements: execute candidates on this machine (wse2-sdk-sim, …)"
              " until none can be better.")  # fmt: skip
@click.option("--why-not", default=None, metavar="TENSOR@MEMORY",
              help="Say why the best mapping does not keep a tensor there.")  # fmt: skip
@settings_option()
@json_option()
def map_command(
    arch: Names,
    workload: Names,
    as_json: bool,
    **options: Any,
) -> None:
    """Find the best mapping of a workload on an architecture, with a certificate.

    Einsums may share loops and keep what they exchange on chip; --no-fusion maps each alone. The
    mapping is printed as a loop nest. --save writes it as a mapping file, which `tilewright
    evaluate` takes; --json prints one JSON document, in which `mapping` is the text of that file.

    \b
    Examples:
      tilewright map --arch tpu_v4i --workload matmul.yaml --save best.yaml
      tilewright map --arch tpu_v4i --workload gpt3_6_7b_projections --objective edp --json
      tilewright map --arch tpu_v4i --workload matmul.yaml --front energy,latency --html m.html
      tilewright map --arch tpu_v4i --workload matmul.yaml --front energy,usage --point 3
      tilewright map --arch a.yaml --workload w.yaml --front energy,usage --what-if Buffer=32KiB
      tilewright map --arch wafer_grid --workload W.yaml --machine wse2-sdk-sim --objective latency
    """
    from tilewright.dse.command.files.role_notes import role_notes
    from tilewright.dse.command.machine.machine_note import machine_notes
    from tilewright.dse.command.mapping_answer import find_mapping
    from tilewright.dse.command.search_progress import SearchDisplay
    from tilewright.dse.run.interrupts import stopping_searches

    save, html, why_not, machine_name = (
        options.pop(name) for name in ("save", "html", "why_not", "machine")
    )
    limit, point, sizes = (options.pop(name) for name in ("limit", "point", "what_if"))
    machine, work = load_both(arch, workload, parse_settings(options.pop("settings")))
    for out in (save, html):
        if out is not None:
            check_writable(out)
    if why_not is not None:
        from tilewright.dse.command.command_mapspace import answer_why_not

        if machine_name is not None:
            raise TilewrightError(
                "--why-not asks a search by the model", value="--machine", instead="no --machine"
            )
        answer_why_not(machine, work, why_not, options, as_json)
        return
    if machine_name is not None:
        output = _GridOutput(save, html, as_json, _title(arch, workload))
        chosen = {**options, "point": point, "limit": limit, "what_if": sizes}
        _on_machine(machine, work, machine_name, chosen, output)
        return
    with stopping_searches(), SearchDisplay(options["objective"]) as display:
        answer = find_mapping(machine, work, {**options, "progress": display})
    answer = _with_smaller_memories(answer.at(point), machine, sizes, options)
    try:
        _write_files(answer, machine, _title(arch, workload), save=save, html=html)
    finally:  # a full disk costs the file, not the answer
        if as_json:
            emit(answer.document())
        else:
            notes = (*role_notes(machine, work), *machine_notes(machine, work))
            click.echo("\n".join([answer.text(limit), *notes]))


def _with_smaller_memories(
    answer: MappingAnswer, machine: Arch, sizes: tuple[str, ...], options: dict[str, Any]
) -> MappingAnswer:
    """Add what the front says about memories of other sizes, `sizes`: MEMORY=SIZE each.

    Raises TilewrightError for a search of one Einsum.
    """
    if not sizes:
        return answer
    from tilewright.mapper.fronts.what_if import SmallerMemories, in_smaller_memories
    from tilewright.mapper.workload.errors import InfeasibleMapping

    def smaller(text: str) -> SmallerMemories | InfeasibleMapping:
        asked, conventions = parse_settings([text]), options["conventions"]
        try:
            return in_smaller_memories(answer.result, machine, answer.workload, asked, conventions)
        except InfeasibleMapping as error:
            return error

    if options["einsum"] is not None:
        raise TilewrightError(
            "--what-if is about the whole workload", value="--einsum", instead="no --einsum"
        )
    return replace(answer, smaller=tuple(map(smaller, sizes)))


def _write_files(
    answer: MappingAnswer, machine: Arch, title: str, *, save: Path | None, html: Path | None
) -> None:
    """Write the mapping file and the page that were asked for."""
    if save is not None:
        from tilewright.dse.store.safe_files import write_atomically

        write_atomically(save, answer.mapping_file())
    if html is not None:
        from tilewright.dse.report.mapping.mapping_page import (
            PageSubject,
            render_mapping,
            write_page,
        )

        write_page(html, render_mapping(answer, PageSubject(title, machine, answer.workload)))


@dataclass(frozen=True, slots=True)
class _GridOutput:
    """Where the answer of a search on the machine goes: files, JSON or text, title of the page."""

    save: Path | None
    html: Path | None
    as_json: bool
    subject: str


def _on_machine(
    arch: Arch, work: Workload, machine: str, options: dict[str, Any], output: _GridOutput
) -> None:
    """Search with the machine in the loop, and print the answer."""
    from tilewright.dse.command.machine.grid_answer import (
        check_options,
        check_workload,
        compile_engine,
        find_on_machine,
    )
    from tilewright.dse.command.machine.grid_front_answer import find_front_on_machine
    from tilewright.dse.command.search_progress import SearchDisplay
    from tilewright.dse.run.interrupts import stopping_searches
    from tilewright.dse.store.safe_files import write_atomically

    check_options(options)
    with stopping_searches(), SearchDisplay(options["objective"]) as display:
        if options["budget"] is not None:
            check_workload(arch, work, options)
            compile_engine(display)
        find = find_front_on_machine if options.get("front") else find_on_machine
        answer = find(arch, work, machine, {**options, "html": output.html is not None}, display)
    try:
        if output.save is not None:
            write_atomically(output.save, answer.mapping_file())
        if output.html is not None:
            answer.write_page(output.html, output.subject)
    finally:  # a full disk costs the file, not the answer
        if output.as_json:
            emit(answer.document())
        else:
            click.echo(answer.text())


def _title(arch: Names, workload: Names) -> str:
    """Return the title of a page: the names of the files, without folder and ending."""
    machine, work = (" + ".join(Path(name).stem for name in names) for names in (arch, workload))
    return f"{work} on {machine}"
