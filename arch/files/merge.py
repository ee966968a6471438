"""Merge keys: `<<` takes missing keys, `<<<` goes deep and joins lists (inputs.md §5.2)."""

from __future__ import annotations

from tilewright.arch.errors import SpecError
from tilewright.arch.files.document import Marks, Tagged, untag
from tilewright.arch.files.marks import Mark

_SHALLOW = "<<"
_DEEP = "<<<"
_NO_MERGE = "nomerge"


def is_merge_key(key: str) -> bool:
    """Say whether `key` is one of the merge keys."""
    return key in (_SHALLOW, _DEEP)


class Merger:
    """Merge mappings and keep the places of what was merged. Own keys win over merged ones."""

    def __init__(self, marks: Marks) -> None:
        self.marks = marks

    def merge(self, target: dict[str, object], source: object, key: str, mark: Mark) -> None:
        """Merge `source` (a mapping, or a list of them, the first wins) into `target`."""
        inner = untag(source)
        for part in inner if isinstance(inner, list) else [inner]:
            mapping = untag(part)
            if not isinstance(mapping, dict):
                raise SpecError(
                    f"{key} takes a mapping or a list of mappings",
                    where=mark.where(key),
                    value=mapping,
                )
            self._into(target, mapping, deep=key == _DEEP)
        for name, value in target.items():
            target[name] = _without_nomerge(value)

    def _into(self, target: dict[str, object], source: dict[str, object], *, deep: bool) -> None:
        places = self.marks[id(target)]
        theirs = self.marks.get(id(source), {})
        for key, value in source.items():
            if key not in target:
                target[key] = value
                if key in theirs:
                    places[key] = theirs[key]
            elif deep:
                target[key] = self._joined(target[key], value)

    def _joined(self, own: object, other: object) -> object:
        if isinstance(own, Tagged):
            return own  # !nomerge, or a typed node: taken whole
        if isinstance(own, dict) and isinstance(other, dict):
            return self._joined_mappings(own, other)
        if isinstance(own, list) and isinstance(other, list):
            return self._joined_lists(own, other)
        return own

    def _joined_mappings(self, own: dict[str, object], other: dict[str, object]) -> object:
        copy = dict(own)
        self.marks[id(copy)] = dict(self.marks.get(id(own), {}))
        self._into(copy, other, deep=True)
        return copy

    def _joined_lists(self, own: list[object], other: list[object]) -> object:
        joined = own + other
        places = dict(self.marks.get(id(own), {}))
        for index, place in self.marks.get(id(other), {}).items():
            assert isinstance(index, int)
            places[len(own) + index] = place
        self.marks[id(joined)] = places
        return joined


def _without_nomerge(value: object) -> object:
    if isinstance(value, Tagged) and value.tag == _NO_MERGE:
        return value.value
    return value
