"""Several files read as one: their blocks are joined, and nothing may be said twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.files.document import DocPath, Document, Marks
from tilewright.arch.files.source import load_document


def load_documents(
    sources: Sequence[Path | str], *, variables: Mapping[str, object] | None = None
) -> Document:
    """Read several YAML files into one document.

    Mappings are joined key by key and lists are joined in the order of the files. `variables` feed
    their templates. Raises SpecError for no file, or if two files give different values to one key
    (the message names both places), or if one of them cannot be read.
    """
    if not sources:
        raise SpecError("no file is given", instead="name at least one file")
    joined = load_document(sources[0], variables=variables)
    for source in sources[1:]:
        joined = _FileJoin(joined, load_document(source, variables=variables)).document()
    return joined


class _FileJoin:
    """Joins two documents, keeping the places of every key."""

    def __init__(self, first: Document, second: Document) -> None:
        self.first = first
        self.second = second
        self.marks: Marks = {**first.marks, **second.marks}

    def document(self) -> Document:
        data = self._joined(self.first.data, self.second.data, ())
        files = (*self.first.files, *self.second.files)
        return Document(self.first.file, data, self.first.root, self.marks, files)

    def _joined(self, left: object, right: object, path: DocPath) -> object:
        if left is None:
            return right
        if right is None or (left == right and type(left) is type(right)):
            return left
        if isinstance(left, dict) and isinstance(right, dict):
            return self._mapping(left, right, path)
        if isinstance(left, list) and isinstance(right, list):
            return self._list(left, right)
        raise self._disagreement(right, path)

    def _disagreement(self, right: object, path: DocPath) -> SpecError:
        first_place = self._place(self.first, path)
        return SpecError(
            f"two files disagree about {path[-1] if path else 'their contents'}"
            f" (the first value is at {first_place.file}:{first_place.line})",
            where=self._place(self.second, path),
            value=right,
            instead="keep one of the two",
        )

    def _mapping(
        self, left: dict[str, object], right: dict[str, object], path: DocPath
    ) -> dict[str, object]:
        joined = dict(left)
        places = dict(self.marks.get(id(left), {}))
        for key, value in right.items():
            joined[key] = self._joined(left[key], value, (*path, key)) if key in left else value
            if key not in left:
                places[key] = self.marks[id(right)][key]
        self.marks[id(joined)] = places
        return joined

    def _list(self, left: list[object], right: list[object]) -> list[object]:
        joined = left + right
        places = dict(self.marks.get(id(left), {}))
        for index, place in self.marks.get(id(right), {}).items():
            assert isinstance(index, int)
            places[len(left) + index] = place
        self.marks[id(joined)] = places
        return joined

    def _place(self, document: Document, path: DocPath) -> Where:
        return document.where(path)
