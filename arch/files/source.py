"""Files to plain data: YAML with the place of every value, within limits.

`load_document` reads YAML through libyaml's event stream. Every mapping and list remembers where
its keys and values stand, so that each later complaint can name file, line and column. Nothing in
a file can make it grow without bound: size, depth, and the nodes that aliases stand for are
limited.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.files.marks import Mark, SourceMap

MAX_BYTES = 8 * 1024 * 1024
_TEMPLATE_SIGNS = ("{%", "{{", "{#")

DocPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Tagged:
    """A value that carries a `!Tag` of its own, without the exclamation mark."""

    tag: str
    value: object


Marks = dict[int, dict[str | int, tuple[Mark, Mark]]]  # id of a container -> key -> its places


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data (dict, list, scalars, `Tagged`) and where each piece of it was written."""

    file: str
    data: object
    root: Mark
    marks: Marks = field(repr=False)
    files: tuple[str, ...] = field(default=(), compare=False)  # with those that it includes

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the places with their containers: an id means nothing in another process."""
        places = [
            (box, self.marks[id(box)]) for box in _containers(self.data) if id(box) in self.marks
        ]
        return _rebuild, (self.file, self.data, self.root, places)

    def where(self, path: DocPath = ()) -> Where:
        """Return the place of the value at `path`, or of the deepest part of it that exists."""
        return self._place(path, 1)

    def where_key(self, path: DocPath) -> Where:
        """Return the place of the key at `path` (of the item, for a list)."""
        return self._place(path, 0)

    def at(self, path: DocPath = ()) -> object:
        """Return the value at `path`, looking through tags; KeyError if there is none."""
        value = untag(self.data)
        for step in path:
            value = untag(_child(value, step))
        return value

    def _place(self, path: DocPath, which: int) -> Where:
        value, mark = untag(self.data), self.root
        for step in path:
            places = self.marks.get(id(value), {}).get(step)
            if places is None:
                break
            mark = places[which]
            value = untag(_child(value, step))
        return mark.where(format_path(path))


def format_path(path: Iterable[str | int]) -> str:
    """Write a path as people do: `arch.nodes[2].size`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def untag(value: object) -> object:
    """Return the value under a tag, or the value itself."""
    return value.value if isinstance(value, Tagged) else value


def load_document(
    source: Path | str,
    *,
    variables: Mapping[str, object] | None = None,
    text: str | None = None,
) -> Document:
    """Read a YAML file, or the text of one, into plain data with places.

    `source` is a path; a string with a line break in it is taken as YAML text itself. With `text`
    given, `source` only names it (and its folder is where includes start). `variables` feed the
    Jinja template, if the text is one. SpecError: missing or unreadable file, bad YAML, a
    duplicate key, a file over the limits, a failing template.
    """
    if text is None and isinstance(source, str) and "\n" in source:
        source, text = "<text>", source
    name = str(source)
    if text is None:
        text = read_text(Path(source))
    elif len(text) > MAX_BYTES:
        raise _too_large(name)
    if any(sign in text for sign in _TEMPLATE_SIGNS):
        from tilewright.arch.files.template import load_template

        return load_template(name, text, variables or {})
    return replace(build_document(text, SourceMap(name)), files=(name,))


def build_document(
    text: str, lines: SourceMap, included: Mapping[int, Document] | None = None
) -> Document:
    """Build the data of (rendered) YAML `text`; `included` are documents it refers to."""
    from tilewright.arch.files.compose import Composer

    return Composer(lines, included or {}).build(text)


def read_text(path: Path, where: Where | None = None) -> str:
    """Read a file of the user; SpecError if it is missing, too large or not UTF-8 text.

    `where` is the place that asked for it, if another file did.
    """
    try:
        if not path.is_file():
            raise SpecError(_no_such(path), where=where, value=str(path), instead=_hint(path))
        if path.stat().st_size > MAX_BYTES:
            raise _too_large(str(path))
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError(f"cannot read the file: {reason}", where=where, value=str(path)) from None
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SpecError(
            "the file is not UTF-8 text", where=Where(str(path), line), instead="save it as UTF-8"
        ) from None


def _no_such(path: Path) -> str:
    return "this is a folder, not a file" if path.is_dir() else "there is no such file"


def _hint(path: Path) -> str | None:
    from tilewright.arch.names import did_you_mean

    if path.is_dir():
        return "the name of a file in it"
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist either"
    names = sorted(entry.name for entry in path.parent.iterdir())
    return did_you_mean(path.name, names) or None


def _too_large(name: str) -> SpecError:
    return SpecError(
        f"the file is larger than {MAX_BYTES // 2**20} MiB",
        where=Where(name),
        instead="split it, or write repeated parts with a template loop",
    )


def _containers(data: object) -> list[object]:
    """All mappings and lists of `data`, each once."""
    found: dict[int, object] = {}
    queue = [untag(data)]
    while queue:
        box = queue.pop()
        if not isinstance(box, dict | list) or id(box) in found:
            continue
        found[id(box)] = box
        queue.extend(untag(inner) for inner in (box.values() if isinstance(box, dict) else box))
    return list(found.values())


def _rebuild(
    file: str,
    data: object,
    root: Mark,
    places: list[tuple[object, dict[str | int, tuple[Mark, Mark]]]],
) -> Document:
    return Document(file, data, root, {id(box): marks for box, marks in places})


def _child(value: object, step: str | int) -> object:
    if isinstance(value, dict):
        return value[step]
    if isinstance(value, list) and isinstance(step, int):
        return value[step]
    raise KeyError(step)
