"""Change fields of an architecture by name, for studies and `--set`."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.files.document import DocPath, Document, Tagged, untag
from tilewright.arch.names import did_you_mean
from tilewright.arch.spec.tree import Node


def override(
    document: Document, root: Node, variables: Mapping[str, object], values: Mapping[str, object]
) -> tuple[Document, dict[str, object]]:
    """Return (document, variables) of an architecture with some values written differently.

    `root`: the tree of its nodes; `variables`: as they are. `values`: by `Component.field`,
    `Component.spatial.Z.fanout`, `Component.actions.read.energy` or `variables.NAME`. Nothing is
    changed in place. Raises SpecError for a name that does not exist.
    """
    editor, changed = _Editor(document), dict(variables)
    nodes: dict[str, Node] = {}
    for key, value in values.items():
        head, *steps = key.split(".")
        if head == "variables":
            changed[_variable(document.file, variables, ".".join(steps), key)] = value
            continue
        if not head:
            raise SpecError("a key must be Component.field", value=key)
        if not nodes:
            nodes = {node.name: node for node in reversed([*root.walk()])}  # the first of a name
        node = nodes.get(head) or root.find(head, document.file)
        editor.set(node.path, _field_path(document, node, steps, key), value)
    return editor.document(), changed


def written(
    document: Document, root: Node, variables: Mapping[str, object], key: str
) -> object | None:
    """Return what an architecture has at a key of `override`, as written; None: nothing is there.

    Raises SpecError for a name that does not exist.
    """
    head, *steps = key.split(".")
    if head == "variables":
        return variables[_variable(document.file, variables, ".".join(steps), key)]
    node = root.find(head, document.file)
    spec: object = node.spec
    for step in _field_path(document, node, steps, key):
        if isinstance(spec, tuple):
            spec = spec[int(step)]
        else:
            spec = spec.get(step) if isinstance(spec, dict) else getattr(spec, str(step))
    return spec


def _variable(file: str, variables: Mapping[str, object], name: str, key: str) -> str:
    if name in variables:
        return name
    raise SpecError(
        f"the architecture has no variable {name}",
        where=Where(file),
        value=key,
        instead=did_you_mean(name, variables) or "declare it under `variables:` first",
    )


def _field_path(document: Document, node: Node, steps: list[str], key: str) -> DocPath:
    """Turn `spatial.Z.fanout` into ("spatial", 0, "fanout"), checking every step."""
    path: list[str | int] = []
    spec: object = node.spec
    for number, step in enumerate(steps):
        if isinstance(spec, tuple):
            index = _index(spec, step)
            if index is None:
                raise _unknown(document, node, key, step, _item_names(spec))
            path.append(index)
            spec = spec[index]
            continue
        field_names = _fields(spec)
        if step not in field_names and not (isinstance(spec, dict) and number == len(steps) - 1):
            raise _unknown(document, node, key, step, field_names)
        path.append(step)
        spec = spec.get(step) if isinstance(spec, dict) else getattr(spec, step)
    if not steps or steps[-1] in ("name", "nodes"):
        raise _unknown(document, node, key, ".".join(steps), _fields(node.spec))
    return tuple(path)


def _index(items: tuple[object, ...], step: str) -> int | None:
    for index, item in enumerate(items):
        if getattr(item, "name", None) == step or str(index) == step:
            return index
    return None


def _item_names(items: tuple[object, ...]) -> list[str]:
    return [str(getattr(item, "name", index)) for index, item in enumerate(items)]


def _fields(spec: object) -> list[str]:
    if isinstance(spec, dict):
        return list(spec)
    names = list(getattr(type(spec), "model_fields", ()))
    return [name for name in names if name not in ("name", "nodes")]


def _unknown(
    document: Document, node: Node, key: str, step: str, field_names: list[str]
) -> SpecError:
    """Return the error for the unknown `step` of `key`; `field_names`: the names that exist."""
    listed = (
        "one of: " + ", ".join(field_names[:20]) if field_names else "write it in the file first"
    )
    return SpecError(
        f"{node.name} has no field {step}" if step else f"{key} names no field",
        where=document.where(node.path),
        value=key,
        instead=did_you_mean(step, field_names) or listed,
    )


class _Editor:
    """Edits a document by copying only the containers on the way to a change, with their places."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._marks = dict(document.marks)
        self._data = document.data
        self._copied: dict[int, object] = {}

    def document(self) -> Document:
        old = self._document
        return Document(old.file, self._data, old.root, self._marks)

    def set(self, node: DocPath, field: DocPath, value: object) -> None:
        self._data = self._changed(self._data, (*node, *field), value)

    def _changed(self, container: object, path: DocPath, value: object) -> object:
        if not path:
            return value
        if isinstance(container, Tagged):
            return Tagged(container.tag, self._changed(container.value, path, value))
        step, remaining_path = path[0], path[1:]
        copy: dict[str, object] | list[object]
        if isinstance(container, list):
            assert isinstance(step, int)
            copy = list(container)
            copy[step] = self._changed(container[step], remaining_path, value)
        else:
            assert isinstance(container, dict | None)
            assert isinstance(step, str)
            copy = dict(container or {})
            copy[step] = self._changed(copy.get(step), remaining_path, value)
        self._marks[id(copy)] = self._marks.get(id(untag(container)), {})
        self._copied[id(copy)] = copy
        return copy
