"""The answers of one search, on top of those that processes and runs share.

Equal Einsums of a workload share them while the search goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from tilewright.simulator.known.content_store import ContentStore


@dataclass(frozen=True, slots=True)
class SearchAnswers(ContentStore):
    """A store for one search: what is put into it is there for the search in any case."""

    _answers: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _shared: dict[str, dict[Any, Any]] = field(default_factory=dict, repr=False, compare=False)
    _lock: Any = field(default_factory=Lock, repr=False, compare=False)

    @property
    def keeps(self) -> bool:
        """Whether answers are kept at all."""
        return True

    def get(self, key: str) -> Any:
        """Return the answer of a key, plain JSON data; None if there is none."""
        if key in self._answers:
            return self._answers[key]
        return super(SearchAnswers, self).get(key)

    def put(self, key: str, answer: Mapping[str, object]) -> None:
        """Keep an answer, plain JSON data."""
        self._answers[key] = answer
        super(SearchAnswers, self).put(key, answer)

    def shared(self, key: str) -> dict[Any, Any]:
        """Return the values that grow under a key while a search goes on: one object for a key."""
        with self._lock:
            return self._shared.setdefault(key, {})
