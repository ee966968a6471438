"""The command validate: check any of our files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.arch.quantities import some
from tilewright.dse.command.console import (
    emit,
    files_option,
    json_option,
    parse_settings,
    say,
    settings_option,
)

if TYPE_CHECKING:
    from tilewright.arch.errors import SpecError
    from tilewright.arch.files.document import Document

Names = tuple[str, ...]

_KINDS = {  # any of these top-level keys
    "study": ("objectives", "space"),
    "architecture": ("arch",),
    "workload": ("workload",),
    "mapping": ("mapping",),
    "machine profile": ("clock_hz", "sram_bytes"),
    "machine for layouts": ("units", "memories"),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of checking one file.

    `file`: its name; `kind`: what it is (architecture, workload, ...), None if unclear; `summary`:
    what it holds; `error`: what is wrong with it, None if it is valid.
    """

    file: str
    kind: str | None
    summary: str
    error: str | None

    def document(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        return {
            "file": self.file,
            "kind": self.kind,
            "valid": self.error is None,
            "summary": self.summary,
            "error": self.error,
        }


@click.command("validate", short_help="Check architecture, workload, mapping or study files.")
@click.argument("files", nargs=-1, metavar="[FILE...]")
@files_option("arch", "Architecture", required=False)
@files_option("workload", "Workload", required=False)
@settings_option("Set a variable of the files, e.g. --set SCALE=8. May be repeated.")
@json_option()
def validate_command(
    files: Names, arch: Names, workload: Names, settings: Names, as_json: bool
) -> None:
    """Check files: architecture, workload, mapping, study, machine profile or machine for layouts.

    What a file is follows from its top-level keys; each FILE is checked by itself. The files of
    --arch are checked as one, and so are those of --workload. Exit code 2 if any of them does not
    hold.

    \b
    Examples:
      tilewright validate hardware/*.yaml workloads/*.yaml studies/mine.yaml
      tilewright validate --arch chip.yaml --arch variables.yaml
    """
    if not files + arch + workload:
        raise click.UsageError("name at least one file")
    variables = parse_settings(settings)
    verdicts = [_verdict((file,), variables) for file in files]
    verdicts += [_verdict_of("architecture", arch, variables)] if arch else []
    verdicts += [_verdict_of("workload", workload, variables)] if workload else []
    _print_verdicts(verdicts, as_json)
    click.get_current_context().exit(2 if any(v.error is not None for v in verdicts) else 0)


def _print_verdicts(verdicts: list[Verdict], as_json: bool) -> None:
    if as_json:
        emit([verdict.document() for verdict in verdicts])
    for verdict in verdicts:
        if verdict.error is not None:
            say(f"error: {verdict.error}")
        elif not as_json:
            click.echo(f"{verdict.file}: {verdict.kind}, {verdict.summary}")


def _verdict_of(kind: str, names: Names, variables: dict[str, Any]) -> Verdict:
    """Judge the files of an option, shipped ones among them."""
    from tilewright.arch.errors import TilewrightError
    from tilewright.dse.command.shipped import find_files

    try:
        folder: Any = {"architecture": "hardware", "workload": "workloads"}[kind]
        paths = find_files(names, folder)
    except TilewrightError as error:
        return Verdict(" + ".join(names), kind, "", str(error))
    return _verdict(tuple(str(path) for path in paths), variables, kind)


def _verdict(files: Names, variables: dict[str, Any], kind: str | None = None) -> Verdict:
    """Judge files that are read as one; what they are follows from their keys, or is `kind`."""
    from tilewright.arch.errors import TilewrightError

    kinds = [kind] if kind is not None else []
    shown = " + ".join(files)
    try:
        from tilewright.arch.files.several import load_documents

        document = load_documents([Path(file) for file in files], variables=variables)
        kinds = kinds or _kinds_of(document)
        summaries = [_check(file_kind, document, variables) for file_kind in kinds]
    except TilewrightError as error:
        return Verdict(shown, " and ".join(kinds) or None, "", str(error))
    return Verdict(shown, " and ".join(kinds), "; ".join(summaries), None)


def _kinds_of(document: Document) -> list[str]:
    keys = list(document.data) if isinstance(document.data, dict) else []
    kinds = [kind for kind, kind_keys in _KINDS.items() if any(key in keys for key in kind_keys)]
    if "study" in kinds:  # a study names an architecture and a workload under the same keys
        return ["study"]
    if not kinds:
        raise _unknown_kind(document, keys)
    return kinds


def _unknown_kind(document: Document, keys: list[object]) -> SpecError:
    from tilewright.arch.errors import SpecError
    from tilewright.arch.names import close_names

    known_keys = sorted({key for kind_keys in _KINDS.values() for key in kind_keys})
    close = [name for key in keys for name in close_names(str(key), known_keys, 1)]
    return SpecError(
        "this is no file of ours: it has none of the top-level keys " + ", ".join(known_keys),
        where=document.where(),
        value=[str(key) for key in keys],
        instead=f"did you mean {close[0]}?" if close else None,
    )


def _check(kind: str, document: Document, variables: dict[str, Any]) -> str:
    if kind == "architecture":
        from tilewright.arch.flattening.arch_facts import arch_facts
        from tilewright.arch.spec.load import load_arch

        arch = load_arch(document, variables=variables)
        arch_facts(arch)  # evaluates all numbers that no Einsum decides
        return some(len(arch.leaves()), "component")
    if kind == "workload":
        from tilewright.mapper.workload.workload_loading import load_workload

        work = load_workload(document, variables=variables)
        work.check_indices()
        return some(len(work.einsums), "Einsum")
    if kind == "mapping":
        from tilewright.mapper.mapping.mapping_file import load_mapping

        return some(len(load_mapping(document).nodes), "node")
    if kind == "study":
        return _check_study(Path(document.file), variables)
    if kind == "machine for layouts":
        from tilewright.mapper.layout.machines.layout_machine import load_machine

        machine = load_machine(str(Path(document.file).resolve()))
        return f"{some(machine.unit_count, 'unit')}, {some(len(machine.sources), 'number')}"
    from tilewright.simulator.profiles.profile import load_profile

    return f"profile {load_profile(Path(document.file)).name}"


def _check_study(path: Path, variables: dict[str, Any]) -> str:
    from tilewright.dse.study.preflight import preflight
    from tilewright.dse.study.study_loading import load_study

    spec = load_study(path, variables)
    preflight(spec)
    return f"{some(len(spec.space.dimensions), 'knob')}, {some(spec.space.size, 'design')}"
