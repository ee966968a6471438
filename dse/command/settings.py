"""Check that each name given with --set is a variable or a field of some file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path
from typing import cast

from tilewright.arch.errors import SpecError
from tilewright.arch.files.reading import read_text
from tilewright.arch.files.source import load_document
from tilewright.arch.names import close_names

_MOST = 20  # names that a message lists
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def check_used(
    settings: Mapping[str, object],
    files: Sequence[Path],
    components: AbstractSet[str] = frozenset(),
    tensors: AbstractSet[str] = frozenset(),
) -> None:
    """Check that each name given by --set is a variable of some file, or stands in one.

    `files`: looked through, with those they include; `components`: names that are no variables
    unless a file declares them so; `tensors`: likewise. Raises SpecError, with close names, for
    another name, which would silently change nothing.
    """
    if not settings:
        return
    ranks = set(ranks_of(files, settings))
    words = set(_words(files, settings)) - tensors - ranks
    unclear = [name for name in settings if name not in words or name in components]
    variable_names = sorted(set(_variables(files, settings)))
    name = next((name for name in unclear if name not in variable_names), None)
    if name is None:
        return
    if name in components:
        raise SpecError(
            f"{name} is a component, not a variable",
            value=f"{name}={settings[name]}",
            instead=f"--set {name}.FIELD={settings[name]}, for example {name}.size",
        )
    if name in ranks:
        raise SpecError(
            f"{name} is a rank, not a variable",
            value=f"{name}={settings[name]}",
            instead=f"rank_sizes: {{{name}: '{{{{ {name} }}}}'}} makes it a variable of the file",
        )
    reserved = (components | tensors) - set(variable_names)
    raise _unknown_variable(name, files, variable_names, words - reserved)


def _unknown_variable(
    name: str, files: Sequence[Path], variable_names: Sequence[str], words: AbstractSet[str]
) -> SpecError:
    """Return the error, with close variables or else close capitalized words of the files."""
    capitalized = {word for word in words if word[0].isupper()}
    close = close_names(name, variable_names) or close_names(name, capitalized)
    return SpecError(
        f"no file here has a variable {name}",
        value=", ".join(path.name for path in files),
        instead=f"did you mean {' or '.join(close)}?" if close else _listed(variable_names),
    )


def ranks_of(files: Iterable[Path], settings: Mapping[str, object]) -> Iterator[str]:
    """Yield the names of the ranks that the files give sizes (`rank_sizes` of a workload).

    Such a name is no variable of a template. `settings`: variables to read the files with.
    """
    for path in files:
        document = load_document(path, variables=settings)
        top = document.data.get("workload") if isinstance(document.data, dict) else None
        sizes = top.get("rank_sizes") if isinstance(top, dict) else None
        yield from sizes if isinstance(sizes, dict) else ()


def _words(files: Sequence[Path], settings: Mapping[str, object]) -> Iterable[str]:
    for path in files:
        for read in load_document(path, variables=settings).files:
            yield from _WORD.findall(read_text(Path(read)))


def _variables(files: Sequence[Path], settings: Mapping[str, object]) -> Iterator[str]:
    """Yield what the templates of the files read, and what stands under their `variables:`."""
    for path in files:
        document = load_document(path, variables=settings)
        if isinstance(document.data, dict):
            declared = document.data.get("variables")
            yield from declared if isinstance(declared, dict) else ()
        for read in document.files:
            yield from _read_by(read_text(Path(read)))


def _read_by(text: str) -> set[str]:
    """Return the names that a template reads before it sets them; the functions it calls not."""
    from jinja2 import Environment, meta, nodes

    from tilewright.arch.files.sandbox import AssertExtension

    environment = Environment(autoescape=False, extensions=[AssertExtension])  # noqa: S701
    tree = environment.parse(text)  # never rendered
    called = {
        call.node.name for call in tree.find_all(nodes.Call) if isinstance(call.node, nodes.Name)
    }
    return meta.find_undeclared_variables(tree) - called


def default_of(path: Path, name: str) -> object | None:
    """Return the default of a variable of a file's template: 8 of `BITS | default(8)`.

    None if it has none, or none that is written as a value.
    """
    from jinja2 import Environment, nodes

    from tilewright.arch.files.sandbox import AssertExtension

    environment = Environment(autoescape=False, extensions=[AssertExtension])  # noqa: S701
    for part in environment.parse(read_text(path)).find_all(nodes.Filter):  # never rendered
        of = part.node.name if isinstance(part.node, nodes.Name) else None
        if part.name in ("default", "d") and of == name and part.args:
            with suppress(nodes.Impossible):
                return cast(object, part.args[0].as_const())
    return None


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "no template variable is in them: leave it out"
    ellipsis = ", …" if len(names) > _MOST else ""
    return f"one of: {', '.join(names[:_MOST])}{ellipsis}"
