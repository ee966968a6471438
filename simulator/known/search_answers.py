"""The answers of one search, on top of those that processes and runs share.

Equal Einsums of a workload share them while the search goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from tilewright.simulator.known.content_store import ContentStore


@dataclass(frozen=True, slots=True)
class SearchAnswers(ContentStore):
    """A store for one search: what grows under a key is there for the search in any case."""

    _shared: dict[str, dict[Any, Any]] = field(default_factory=dict, repr=False, compare=False)
    _lock: Any = field(default_factory=Lock, repr=False, compare=False)

    @property
    def keeps(self) -> bool:
        """Whether answers are kept at all."""
        return True

    def shared(self, key: str) -> dict[Any, Any]:
        """Return the values that grow under a key while a search goes on: one object for a key."""
        with self._lock:
            return self._shared.setdefault(key, {})
