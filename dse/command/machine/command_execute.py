"""The command `tilewright execute`: run a mapping of a workload on the machine, on numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
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
    from tilewright.simulator.execution.execution import Execution
    from tilewright.simulator.lowering.passes.plan_passes import PlanPass

    Passes = Mapping[str, tuple[PlanPass, ...]]

MACHINE = click.option(
    "--machine", default="wse2-sdk-sim", show_default=True, metavar="PROFILE",
    help="Machine profile: one that ships (wse2-sdk-sim, wse3-sdk-sim, …) or a YAML file.",
)  # fmt: skip
HTML = click.option(
    "--html", type=click.Path(path_type=Path), default=None, metavar="FILE",
    help="Write a page with energy, heat maps and a timeline.",
)  # fmt: skip


@click.command("execute", short_help="Run a mapping on the machine, on numbers.")
@ARCH_OPTION
@WORKLOAD_OPTION
@click.option("--mapping", required=True, metavar="FILE", help="Mapping file.")
@MACHINE
@click.option("--operands", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Input tensors by name, .npz or JSON; the others are drawn.")  # fmt: skip
@click.option("--results", type=click.Path(path_type=Path), default=None, metavar="FILE",
              help="Write all tensors, operands and results, as .npz.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Of the operands that are drawn.")  # fmt: skip
@HTML
@click.option("--passes", is_flag=True,
              help="Show what each pass of the lowering decided, and its check.")  # fmt: skip
@settings_option()
@json_option()
def execute_command(
    arch: Names, workload: Names, mapping: str, as_json: bool, **options: Any
) -> None:
    """Run a mapping on a grid of elements, compare its results with numpy, and show what it cost.

    Each Einsum is lowered to programs of the elements and simulated; its result must equal numpy
    within the rounding of its number type, and the machine's counts must equal the model's. A
    mapping that breaks a rule of the architecture runs, with a note.

    \b
    Examples:
      tilewright map --arch wafer_grid --workload W.yaml --machine wse2-sdk-sim --save M.yaml
      tilewright execute --arch wafer_grid --workload W.yaml --mapping M.yaml --html run.html
      tilewright execute --arch wafer_grid --workload W.yaml --mapping M.yaml --passes
    """
    import numpy as np

    from tilewright.dse.report.details import MAX_LANES
    from tilewright.dse.report.execution_page import page_of, write_execution_page
    from tilewright.mapper.evaluation.broken_rules import broken_rules
    from tilewright.mapper.mapping.mapping_file import load_mapping
    from tilewright.mapper.model.conventions import conventions_called
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
    notes = broken_rules(hardware, work, nest, conventions_called("default"))
    if options["html"] is not None:
        page = page_of(execution, subject_of(arch, workload))
        write_execution_page(options["html"], replace(page, notes=(*page.notes, *notes)))
    if options["results"] is not None:
        np.savez_compressed(options["results"], **execution.values)  # type: ignore[arg-type]
    passes = passes_of(execution) if options["passes"] else {}
    (_emit if as_json else _print)(execution, notes, passes)


def _emit(execution: Execution, notes: Sequence[str], passes: Passes) -> None:
    """Print an execution as JSON."""
    from tilewright.dse.report.execution_page import whole_document

    document = {**whole_document(execution), "notes": list(notes)}
    documents = {name: [asdict(step) for step in steps] for name, steps in passes.items()}
    emit({**document, **({"passes": documents} if passes else {})})


def _print(execution: Execution, notes: Sequence[str], passes: Passes) -> None:
    """Print an execution as text."""
    from tilewright.dse.report.execution_page import execution_lines

    click.echo("\n".join([*execution_lines(execution), *(f"note: {note}" for note in notes)]))
    for name, steps in passes.items():
        click.echo(f"\n{name}, pass by pass\n" + "\n".join(str(step) for step in steps))


def passes_of(execution: Execution) -> Passes:
    """Return the passes by which the mapping of each Einsum became a program, each checked.

    Raises PassError for a check that fails, which is a fault of Tilewright.
    """
    from tilewright.simulator.lowering.passes.plan_passes import plan_passes

    plans = [(run.plan, run.profile) for run in execution.einsums]
    plans += [(plan, run.profile) for run in execution.pipelines for plan in run.plan.plans]
    return {plan.read.einsum.name: plan_passes(plan, profile) for plan, profile in plans}


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
