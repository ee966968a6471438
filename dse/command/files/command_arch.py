"""The commands `tilewright arch list` and `arch show`."""

from __future__ import annotations

import click

from tilewright.dse.command.console import json_option, parse_settings, settings_option
from tilewright.dse.command.design_options import Names, completes, load_machine


@click.group("arch", short_help="Show the architectures that ship, or one of yours.")
def arch_group() -> None:
    """Show architectures: those that ship with Tilewright, or files of yours."""


@arch_group.command("list", short_help="List the architectures that ship.")
@json_option()
def list_archs(as_json: bool) -> None:
    """List the architectures that ship with Tilewright; `--arch NAME` takes each of them.

    \b
    Examples:
      tilewright arch list
      tilewright arch list --json
    """
    from tilewright.arch.flattening.arch_facts import arch_facts, in_one_line
    from tilewright.dse.command.files.about import print_shipped

    def summary(name: str) -> str:
        return in_one_line(arch_facts(load_machine((name,), {})))

    print_shipped("hardware", summary, as_json=as_json)


@arch_group.command("show", short_help="Show one: its memories with sizes, energies and rates.")
@click.argument("files", nargs=-1, required=True, metavar="NAME_OR_FILE...",
                shell_complete=completes("hardware"))  # fmt: skip
@settings_option()
@json_option()
def show_arch(files: Names, settings: Names, as_json: bool) -> None:
    """Show an architecture: its tree of memories, with sizes, energies, rates, area.

    Several files are read as one. Numbers that depend on the Einsum are said to do so.

    \b
    Examples:
      tilewright arch show edge_npu
      tilewright arch show edge_npu --set GlbKiB=512 --json
      tilewright arch show chip.yaml variables.yaml
    """
    from tilewright.dse.command.files.about import print_shown

    machine = load_machine(files, parse_settings(settings))
    print_shown(files, "hardware", str(machine), machine.to_dict(), as_json=as_json)
