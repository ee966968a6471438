"""Answers about the last few frozen objects, told apart by identity."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any


class Memo:
    """Keeps answers about at most `most` objects, which it keeps alive; the oldest goes first.

    Only for objects that never change: another object, equal or not, has answers of its own.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[int, tuple[object, dict[Hashable, Any]]] = {}

    def of(self, owner: object, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the answer to `key` about an object; what `make` raises is not kept."""
        kept = self._kept.get(id(owner))
        if kept is None:
            if len(self._kept) >= self._most:
                del self._kept[next(iter(self._kept))]
            kept = self._kept[id(owner)] = owner, {}
        answers = kept[1]
        if key not in answers:
            answers[key] = make()
        return answers[key]
