"""What commands on one design share: its options, and how its two files are loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tilewright.dse.command.console import files_option
from tilewright.dse.command.shipped import Kind

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

F = TypeVar("F", bound=Callable[..., object])

Names = tuple[str, ...]


def completes(kind: Kind) -> Completion:
    """Return what a shell offers for an argument: shipped files of a kind, and files at hand."""

    def offered(
        context: click.Context, parameter: click.Parameter, begun: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from tilewright.dse.command.files.about import shipped_files

        del context, parameter
        names = [name for name in shipped_files(kind) if name.startswith(begun)]
        return [*map(CompletionItem, names), CompletionItem(begun, type="file")]

    return offered


ARCH_OPTION = files_option("arch", "Architecture", shell_complete=completes("hardware"))
WORKLOAD_OPTION = files_option("workload", "Workload", shell_complete=completes("workloads"))


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
    from tilewright.dse.command.settings import check_used

    fields, variables = _divided(settings)
    machines, machine = _arch(arch, variables)
    works, work = _workload(workload, variables)
    components = {node.name for node in machine.leaves()}
    tensors = {tensor for einsum in work.einsums for tensor in einsum.tensors}
    check_used(variables, (*machines, *works, *other_files), components, tensors)
    return machine.with_values(fields) if fields else machine, work


def load_machine(names: Names, settings: Mapping[str, Any]) -> Any:
    """Return the architecture that a command line names; files and errors as of `load_both`."""
    from tilewright.dse.command.settings import check_used

    fields, variables = _divided(settings)
    files, machine = _arch(names, variables)
    check_used(variables, files, {node.name for node in machine.leaves()})
    return machine.with_values(fields) if fields else machine


def load_work(names: Names, settings: Mapping[str, Any]) -> Any:
    """Return the workload that a command line names; files and errors as of `load_both`."""
    from tilewright.dse.command.settings import check_used

    files, work = _workload(names, settings)
    tensors = {tensor for einsum in work.einsums for tensor in einsum.tensors}
    check_used(settings, files, tensors=tensors)
    return work


def _divided(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of fields of components, and those of variables."""
    fields = {name: value for name, value in settings.items() if "." in name}
    return fields, {name: value for name, value in settings.items() if name not in fields}


def _arch(names: Names, variables: Mapping[str, Any]) -> tuple[list[Path], Any]:
    from tilewright.arch.files.several import load_documents
    from tilewright.arch.spec.load import load_arch
    from tilewright.dse.command.shipped import find_files

    files = find_files(names, "hardware")
    return files, load_arch(load_documents(files, variables=variables), variables=variables)


def _workload(names: Names, variables: Mapping[str, Any]) -> tuple[list[Path], Any]:
    from tilewright.arch.files.several import load_documents
    from tilewright.dse.command.shipped import find_files
    from tilewright.mapper.workload.workload_loading import load_workload

    files = find_files(names, "workloads")
    return files, load_workload(load_documents(files, variables=variables), variables=variables)
