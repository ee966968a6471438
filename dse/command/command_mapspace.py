"""The command `tilewright mapspace`: how many mappings there are, and what takes them away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from tilewright.arch.errors import TilewrightError
from tilewright.dse.command.console import emit, json_option, parse_settings, settings_option
from tilewright.dse.command.design_options import (
    ARCH_OPTION,
    WORKLOAD_OPTION,
    Names,
    conventions_option,
    load_both,
)


@click.command("mapspace", short_help="Count mappings; say what each constraint takes away.")
@ARCH_OPTION
@WORKLOAD_OPTION
@click.option("--einsum", default=None, metavar="NAME", help="Count this Einsum only.")
@click.option("--no-fusion", is_flag=True,
              help="Keep tensors that Einsums share in the outermost memory.")  # fmt: skip
@conventions_option()
@settings_option()
@json_option()
def mapspace_command(  # noqa: PLR0913, PLR0917 (one per option)
    arch: Names,
    workload: Names,
    einsum: str | None,
    no_fusion: bool,
    conventions: str,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Count the mappings of each Einsum, without searching them: a dry run of `tilewright map`.

    One row per constraint of the architecture, with its place in the file: the size of the mapspace
    under this constraint and all those above it in the table, and its size without this one alone.
    `points` are counted before the sizes of the memories, `that fit` after; >= is what
    has been counted where there are too many.

    \b
    Examples:
      tilewright mapspace --arch tpu_v4i --workload matmul.yaml
      tilewright mapspace --arch a.yaml --workload w.yaml --einsum Q --json
    """
    from tilewright.mapper.explain.mapspace_report import mapspace_report
    from tilewright.mapper.searches.unfused import shared_tensors

    machine, work = load_both(arch, workload, parse_settings(settings))
    chosen = [work.einsum(einsum)] if einsum is not None else list(work.einsums)
    backed = shared_tensors(work) if no_fusion else frozenset()
    reports = [
        mapspace_report(
            machine, work, chosen_einsum.name, conventions, backed & set(chosen_einsum.tensors)
        )
        for chosen_einsum in chosen
    ]
    if as_json:
        emit({"conventions": conventions, "einsums": [report.to_dict() for report in reports]})
    else:
        click.echo("\n\n".join(str(report) for report in reports))


def answer_why_not(
    arch: Any, workload: Any, target: str, options: Mapping[str, Any], as_json: bool
) -> None:
    """Print why the best mapping does not keep a tensor in a memory.

    `target`: TENSOR@MEMORY; `options`: keywords of the search; `as_json`: print a JSON document.
    Raises TilewrightError if `target` has another form or names something unknown.
    """
    from tilewright.mapper.explain.kept import why_not_kept

    tensor, separator, memory = target.partition("@")
    if not separator or not tensor or not memory:
        raise TilewrightError(
            "--why-not takes TENSOR@MEMORY", value=target, instead="--why-not weight@Buffer"
        )
    answer = why_not_kept(arch, workload, tensor, memory, **options)
    if as_json:
        emit(answer.to_dict())
    else:
        click.echo(str(answer))
