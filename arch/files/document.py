"""Plain data read from a file, and the place of every key and value of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tilewright.arch.errors import Where
from tilewright.arch.files.marks import Mark

DocPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Tagged:
    """A value of a YAML file with a tag of its own; `tag` of `!Memory` is `Memory`."""

    tag: str
    value: object


Marks = dict[int, dict[str | int, tuple[Mark, Mark]]]  # id of a container -> key -> its places


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data read from a file (dict, list, scalars, `Tagged`) and where each piece was written.

    `file`: its name; `data`; `root`: place of the whole; `marks`: places of keys and values by the
    identity of their container; `files`: all files that were read, included ones too.
    """

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
        """Return the place of the value at `path`, or of the deepest part that exists."""
        return self._place(path, 1)

    def where_key(self, path: DocPath) -> Where:
        """Return the place of the key at `path` (for a list, of the item)."""
        return self._place(path, 0)

    def at(self, path: DocPath = ()) -> object:
        """Return the value at `path`, looking through tags.

        Raises KeyError, or IndexError in a list, if there is none.
        """
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
    """Return a path of keys and indices as text: `arch.nodes[2].size`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def untag(value: object) -> object:
    """Return the value under a tag, or the value itself if it has none."""
    return value.value if isinstance(value, Tagged) else value


def _containers(data: object) -> list[object]:
    """Return all mappings and lists in `data`, each once."""
    containers: dict[int, object] = {}
    queue = [untag(data)]
    while queue:
        box = queue.pop()
        if not isinstance(box, dict | list) or id(box) in containers:
            continue
        containers[id(box)] = box
        queue.extend(untag(inner) for inner in (box.values() if isinstance(box, dict) else box))
    return list(containers.values())


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
