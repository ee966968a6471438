"""Caches of results about frozen objects, found by identity or by value."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Final, TypeVar

A = TypeVar("A")
_NOTHING: Final = object()
_ONE_AT_A_TIME: Final = Lock()
"""Runs of a search that go on side by side share these caches."""


class IdentityCache:
    """A cache of results about immutable objects, told apart by identity (`is`), not by equality.

    It keeps the results about at most `capacity` objects, at most `per_object` about each, and the
    objects with them; when it is full, what came first goes first.
    """

    def __init__(self, capacity: int, per_object: int = sys.maxsize) -> None:
        self._most = capacity
        self._most_of_one = per_object
        self._kept: dict[int, tuple[object, dict[Hashable, Any]]] = {}

    def __contains__(self, owner: object) -> bool:
        """Return whether a result about an object is kept."""
        return id(owner) in self._kept

    def of(self, owner: object, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the cached result for (owner, key), or call `make()` and keep what it returns.

        `owner` is compared by identity, `key` by equality. An exception of `make` is passed on and
        not kept.
        """
        entry = self._kept.get(id(owner))
        if entry is None:
            entry = owner, {}
            _keep(self._kept, id(owner), entry, self._most)
        answer = entry[1].get(key, _NOTHING)
        if answer is _NOTHING:
            answer = make()
            _keep(entry[1], key, answer, self._most_of_one)
        return answer


class ValueCache:
    """A cache of results by immutable values; equal values share one result.

    It keeps at most `capacity` results; the oldest goes first. Values that differ in behaviour must
    not compare equal (so 0.0 and -0.0 must be wrapped, see `dsd.Immediate`). The result for a value
    that cannot be hashed is computed each time.
    """

    def __init__(self, capacity: int) -> None:
        self._most = capacity
        self._kept: dict[Hashable, Any] = {}

    def first(self, value: A) -> A:
        """Return the first of all values seen that equal this one, so that equal ones share it."""
        return self.of(value, lambda: value)

    def of(self, value: Hashable, make: Callable[[], A]) -> A:
        """Return the cached result for `value`, or call `make()` and keep what it returns.

        An exception of `make` is passed on and not kept.
        """
        try:
            answer = self._kept.get(value, _NOTHING)
        except (TypeError, RecursionError):  # made by hand: with a list in it, or too deep
            return make()
        if answer is _NOTHING:
            answer = make()
            _keep(self._kept, value, answer, self._most)
        return answer  # type: ignore[no-any-return]


def _keep(results: dict[A, Any], key: A, result: object, most: int) -> None:
    """Keep a result; if there are `most` already, the oldest makes room for it."""
    with _ONE_AT_A_TIME:
        if len(results) >= most:
            del results[next(iter(results))]
        results[key] = result
