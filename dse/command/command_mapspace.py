"""The command `tilewright mapspace`: how many mappings there are, and what takes them away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class MapspaceOptions:
    """The options of `mapspace` besides architecture and workload.

    `einsum`: the only one to count, None for all; `no_fusion`: tensors that Einsums share are kept
    in the outermost memory; `settings`: KEY=VALUE; `as_json`: print one JSON document.
    """

    einsum: str | None
    no_fusion: bool
    conventions: str
    settings: tuple[str, ...]
    as_json: bool


@click.command("mapspace", short_help="Count mappings; say what each constraint takes away.")
@ARCH_OPTION
@WORKLOAD_OPTION
@click.option("--einsum", default=None, metavar="NAME", help="Count this Einsum only.")
@click.option("--no-fusion", is_flag=True,
              help="Keep tensors that Einsums share in the outermost memory.")  # fmt: skip
@conventions_option()
@settings_option()
@json_option()
def mapspace_command(arch: Names, workload: Names, **options: Any) -> None:
    """Count the mappings of each Einsum, without searching them: a dry run of `tilewright map`.

    One row per constraint of the architecture, with its place in the file: the size of the mapspace
    under this constraint and all those above it in the table, and its size without this one alone.
    `points` are counted before the sizes of the memories, `that fit` after; >= is what has been
    counted where there are too many, <= counts points that may be one mapping, and ? says that
    nothing was counted within a second.

    \b
    Examples:
      tilewright mapspace --arch tpu_v4i --workload matmul.yaml
      tilewright mapspace --arch a.yaml --workload w.yaml --einsum Q --json
    """
    from tilewright.mapper.explain.mapspace_report import mapspace_report
    from tilewright.mapper.searches.unfused import shared_tensors

    asked = MapspaceOptions(**options)
    machine, work = load_both(arch, workload, parse_settings(asked.settings))
    chosen = list(work.einsums) if asked.einsum is None else [work.einsum(asked.einsum)]
    backed = shared_tensors(work) if asked.no_fusion else frozenset()
    reports = [
        mapspace_report(machine, work, each.name, asked.conventions, backed & set(each.tensors))
        for each in chosen
    ]
    if asked.as_json:
        emit({"conventions": asked.conventions, "einsums": [each.to_dict() for each in reports]})
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
