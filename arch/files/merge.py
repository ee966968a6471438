"""Merge keys: `<<` takes missing keys, `<<<` goes deep and joins lists (inputs.md §5.2)."""

from __future__ import annotations

from tilewright.arch.errors import SpecError
from tilewright.arch.files.document import Marks, Tagged, untag
from tilewright.arch.files.marks import Mark

_SHALLOW = "<<"
_DEEP = "<<<"
_NO_MERGE = "nomerge"


def is_merge_key(key: str) -> bool:
    """Return whether a key of a mapping is `<<` or `<<<`, which merge other mappings into it."""
    return key in (_SHALLOW, _DEEP)


class Merger:
    """Merges mappings of a YAML file and keeps the places of what is merged; own keys win."""

    def __init__(self, marks: Marks) -> None:
        self.marks = marks

    def merge(self, target: dict[str, object], source: object, key: str, mark: Mark) -> None:
        """Merge `source`, a mapping or a list of them (the first wins), into the mapping `target`.

        `key`: `<<` adds missing keys only; `<<<` also merges nested mappings and joins lists.
        Raises SpecError, at `mark`, if `source` is something else.
        """
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
        source_marks = self.marks.get(id(source), {})
        for key, value in source.items():
            if key not in target:
                target[key] = value
                if key in source_marks:
                    places[key] = source_marks[key]
            elif deep:
                target[key] = self._joined(target[key], value)

    def _joined(self, existing: object, merged: object) -> object:
        if isinstance(existing, Tagged):
            return existing  # !nomerge, or a typed node: taken whole
        if isinstance(existing, dict) and isinstance(merged, dict):
            return self._joined_mappings(existing, merged)
        if isinstance(existing, list) and isinstance(merged, list):
            return self._joined_lists(existing, merged)
        return existing

    def _joined_mappings(self, existing: dict[str, object], merged: dict[str, object]) -> object:
        copy = dict(existing)
        self.marks[id(copy)] = dict(self.marks.get(id(existing), {}))
        self._into(copy, merged, deep=True)
        return copy

    def _joined_lists(self, existing: list[object], merged: list[object]) -> object:
        joined = existing + merged
        places = dict(self.marks.get(id(existing), {}))
        for index, place in self.marks.get(id(merged), {}).items():
            assert isinstance(index, int)
            places[len(existing) + index] = place
        self.marks[id(joined)] = places
        return joined


def _without_nomerge(value: object) -> object:
    if isinstance(value, Tagged) and value.tag == _NO_MERGE:
        return value.value
    return value
