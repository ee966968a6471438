"""What commands on one design share: its options, and how its two files are loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from tilewright.dse.command.console import files_option

F = TypeVar("F", bound=Callable[..., object])

Names = tuple[str, ...]

ARCH_OPTION = files_option("arch", "Architecture")
WORKLOAD_OPTION = files_option("workload", "Workload")


def conventions_option() -> Callable[[F], F]:
    """Return a click decorator that adds the option --conventions to a command.

    Its values are default and accelforge: whose rules of counting hold (docs/conventions.md).
    """
    return click.option(
        "--conventions",
        type=click.Choice(["default", "accelforge"]),
        default="default",
        show_default=True,
        help="Whose conventions count (docs/conventions.md lists the differences).",
    )


def load_both(
    arch: Names, workload: Names, settings: Mapping[str, Any], other_files: tuple[Path, ...] = ()
) -> tuple[Any, Any]:
    """Return the architecture and the workload that a command line names.

    `arch`, `workload`: files or names of shipped ones, several are read as one. `settings` (--set):
    a field of the architecture (`Buffer.size`), or a variable that must stand in one of their files
    or in one of `other_files`. Raises SpecError for an unknown name or a file that is wrong.
    """
    from tilewright.arch.files.several import load_documents
    from tilewright.arch.spec.load import load_arch
    from tilewright.dse.command.settings import check_used
    from tilewright.dse.command.shipped import find_files
    from tilewright.mapper.workload.workload_loading import load_workload

    fields = {name: value for name, value in settings.items() if "." in name}
    variables = {name: value for name, value in settings.items() if name not in fields}
    machines, works = find_files(arch, "hardware"), find_files(workload, "workloads")
    machine = load_arch(load_documents(machines, variables=variables), variables=variables)
    work = load_workload(load_documents(works, variables=variables), variables=variables)
    components = {node.name for node in machine.leaves()}
    tensors = {tensor for einsum in work.einsums for tensor in einsum.tensors}
    check_used(variables, (*machines, *works, *other_files), components, tensors)
    return machine.with_values(fields) if fields else machine, work
