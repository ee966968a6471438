"""Answers about the last few frozen objects, told apart by identity or by value."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

A = TypeVar("A")
_NOTHING: Final = object()


class IdentityCache:
    """Keeps answers about at most `most` objects, which it keeps alive; the oldest goes first.

    Only for objects that never change: another object, equal or not, has answers of its own.
    """

    def __init__(self, capacity: int) -> None:
        self._most = capacity
        self._kept: dict[int, tuple[object, dict[Hashable, Any]]] = {}

    def of(self, owner: object, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the answer to `key` about an object; what `make` raises is not kept."""
        entry = self._kept.get(id(owner))
        if entry is None:
            if len(self._kept) >= self._most:
                del self._kept[next(iter(self._kept))]
            entry = self._kept[id(owner)] = owner, {}
        answers = entry[1]
        if key not in answers:
            answers[key] = make()
        return answers[key]


class ValueCache:
    """Keeps answers about at most `most` values; equal values have one, the oldest goes first.

    Only for values that never change, and that are equal only if nothing can tell them apart
    (0.0 and -0.0 are: see `dsd.Immediate`). A value without a hash is asked about anew.
    """

    def __init__(self, capacity: int) -> None:
        self._most = capacity
        self._kept: dict[Hashable, Any] = {}

    def first(self, value: A) -> A:
        """Return the first of all values that are equal to this one."""
        return self.of(value, lambda: value)

    def of(self, value: Hashable, make: Callable[[], A]) -> A:
        """Return the answer about a value; what `make` raises is not kept."""
        try:
            answer = self._kept.get(value, _NOTHING)
        except (TypeError, RecursionError):  # made by hand: with a list in it, or too deep
            return make()
        if answer is _NOTHING:
            answer = make()
            if len(self._kept) >= self._most:
                del self._kept[next(iter(self._kept))]
            self._kept[value] = answer
        return answer  # type: ignore[no-any-return]
