"""The command `tilewright new`: a file of yours to start from."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from tilewright.arch.errors import SpecError
from tilewright.dse.command.console import emit, json_option
from tilewright.dse.command.design_options import completes, load_machine
from tilewright.dse.store.safe_files import write_atomically

if TYPE_CHECKING:
    from tilewright.arch.spec.architecture import Arch

F = TypeVar("F", bound=Callable[..., object])

_NAME = click.argument("name", metavar="NAME")
_MOST_KNOBS = 4


@click.group("new", short_help="Begin an architecture, a workload or a study: a file to change.")
def new_group() -> None:
    """Write a commented file that is valid as it stands, to change into one of yours.

    NAME may have a folder and an ending: `new arch hw/chip.yaml`. A file that exists stays.

    \b
    Examples:
      tilewright new arch my_chip
      tilewright new workload my_layers
      tilewright map --arch my_chip.yaml --workload my_layers.yaml
      tilewright new study my_study --arch my_chip.yaml --workload my_layers.yaml
    """


@new_group.command("arch", short_help="A small machine that works, its fields explained.")
@_NAME
@json_option()
def new_arch(name: str, as_json: bool) -> None:
    """Write NAME.yaml: a small machine that works, with its fields explained.

    \b
    Examples:
      tilewright new arch my_chip
      tilewright map --arch my_chip.yaml --workload mlp4
    """
    _write("arch", _path(name), {}, as_json)


@new_group.command("workload", short_help="Two Einsums that exchange a tensor, explained.")
@_NAME
@json_option()
def new_workload(name: str, as_json: bool) -> None:
    """Write NAME.yaml: two Einsums that exchange a tensor, with their fields explained.

    \b
    Examples:
      tilewright new workload my_layers
      tilewright map --arch edge_npu --workload my_layers.yaml
    """
    _write("workload", _path(name), {}, as_json)


@new_group.command("study", short_help="A study of the variables of an architecture.")
@_NAME
@click.option("--arch", default="edge_npu", show_default=True, metavar="FILE",
              help="Architecture file, or the name of a shipped one.",
              shell_complete=completes("hardware"))  # fmt: skip
@click.option("--workload", default="mlp4", show_default=True, metavar="FILE",
              help="Workload file, or the name of a shipped one.",
              shell_complete=completes("workloads"))  # fmt: skip
@json_option()
def new_study(name: str, arch: str, workload: str, as_json: bool) -> None:
    """Write NAME.yaml: a study whose knobs are variables of the architecture, or memory sizes.

    \b
    Examples:
      tilewright new study my_study
      tilewright new study my_study --arch my_chip.yaml --workload my_layers.yaml
      tilewright study run my_study.yaml
    """
    from tilewright.dse.command.shipped import find_file

    path = _path(name)
    machine = load_machine((arch,), {})
    find_file(workload, "workloads", Path.cwd())
    words = {
        "ARCH": _from(path, arch),
        "WORKLOAD": _from(path, workload),
        "KNOBS": "\n".join(_knobs(machine)),
    }
    _write("study", path, words, as_json)


def _path(name: str) -> Path:
    """Return the path of the new file; SpecError if something is there."""
    path = Path(name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    if path.exists():
        raise SpecError("a file of that name exists", value=str(path), instead="another name")
    return path


def _write(kind: str, path: Path, words: dict[str, str], as_json: bool) -> None:
    """Write the skeleton of a kind of file, with its words put in, and say what comes next."""
    template = Path(__file__).parent / "templates" / f"{kind}.yaml"
    text = template.read_text(encoding="utf-8")
    for word, value in {"NAME": _plain(path.stem), **words}.items():
        text = _with_word(text, word, value)
    write_atomically(path, text)
    if as_json:
        emit({"kind": kind, "file": str(path)})
        return
    file = shlex.quote(str(path))
    following = {
        "arch": f"tilewright map --arch {file} --workload mlp4",
        "workload": f"tilewright map --arch edge_npu --workload {file}",
        "study": f"tilewright study run {file}",
    }
    click.echo(f"{path}: change it, check it with `tilewright validate {file}`, then")
    click.echo(f"  {following[kind]}")


def _with_word(text: str, word: str, value: str) -> str:
    """Replace a word of a skeleton by a value, where it stands for a name, a file, or the knobs.

    `word`: NAME, ARCH, WORKLOAD or KNOBS.
    """
    places = {
        "NAME": ("# NAME:", "name: NAME"),
        "ARCH": ("{file: ARCH}",),
        "WORKLOAD": ("{file: WORKLOAD}",),
        "KNOBS": ("\nKNOBS\n",),
    }
    for place in places[word]:
        text = text.replace(place, place.replace(word, value), 1)
    return text


def _plain(stem: str) -> str:
    """Return the name of a file as the name of a study: letters, digits, - and _."""
    letters = "".join(c if c.isascii() and (c.isalnum() or c in "_-.") else "_" for c in stem)
    return letters.lstrip(".") or "study"


def _from(study: Path, name: str) -> str:
    """Return how a study names a file: a path from its own folder, or the name of a shipped one."""
    import json

    if not Path(name).is_file():
        return name
    return json.dumps(os.path.relpath(name, study.parent), ensure_ascii=False)


def _knobs(machine: Arch) -> list[str]:
    """Return knobs for the variables of an architecture that are counts, or else its sizes."""
    knobs = [
        f"  arch.variables.{name}: {{values: {[max(1, value // 2), value, 2 * value]}}}"
        for name, value in machine.variables.items()
        if isinstance(value, int) and not isinstance(value, bool) and value > 1
    ]
    return (knobs or _sizes(machine))[:_MOST_KNOBS]


def _sizes(machine: Arch) -> list[str]:
    """Return knobs for the sizes of memories, in bits; SpecError if none is finite and known."""
    import math

    from tilewright.arch.flattening.arch_facts import arch_facts

    sizes = [(each.row.label, each.size) for each in arch_facts(machine)]
    finite = [(name, int(size)) for name, size in sizes if size and math.isfinite(size)]
    if not finite:
        raise SpecError(
            "this architecture has neither a variable nor a memory of a finite size to change",
            instead="give one a name under `variables:`",
        )
    return [
        f"  arch.{name}.size: {{values: {[size // 2, size, 2 * size]}}}   # bits"
        for name, size in finite
    ]
