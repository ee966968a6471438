"""The commands `tilewright workload list` and `workload show`."""

from __future__ import annotations

import click

from tilewright.dse.command.console import json_option, parse_settings, settings_option
from tilewright.dse.command.design_options import Names, completes, load_work


@click.group("workload", short_help="Show the workloads that ship, or one of yours.")
def workload_group() -> None:
    """Show workloads: those that ship with Tilewright, or files of yours."""


@workload_group.command("list", short_help="List the workloads that ship.")
@json_option()
def list_workloads(as_json: bool) -> None:
    """List the workloads that ship with Tilewright; `--workload NAME` takes each of them.

    \b
    Examples:
      tilewright workload list
      tilewright workload list --json
    """
    from tilewright.dse.command.files.about import print_shipped
    from tilewright.dse.command.files.workload_facts import in_one_line

    def summary(name: str) -> str:
        return in_one_line(load_work((name,), {}))

    print_shipped("workloads", summary, as_json=as_json)


@workload_group.command("show", short_help="Show one: its Einsums with sizes, and its tensors.")
@click.argument("files", nargs=-1, required=True, metavar="NAME_OR_FILE...",
                shell_complete=completes("workloads"))  # fmt: skip
@settings_option("Set a variable of the files (--set BATCH=8). May be repeated.")
@json_option()
def show_workload(files: Names, settings: Names, as_json: bool) -> None:
    """Show a workload: its Einsums with their sizes, its tensors and who writes and reads them.

    Several files are read as one.

    \b
    Examples:
      tilewright workload show resnet50_bottleneck
      tilewright workload show bert_base --set TOKENS=128 --json
    """
    from tilewright.dse.command.files.about import print_shown
    from tilewright.dse.command.files.workload_facts import workload_document, workload_text

    work = load_work(files, parse_settings(settings))
    print_shown(files, "workloads", workload_text(work), workload_document(work), as_json=as_json)
