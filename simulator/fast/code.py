"""Compiled code as plain Python numbers, which are read faster than those of an array."""

from __future__ import annotations

from functools import cached_property

from tilewright.simulator.engine import layout as at
from tilewright.simulator.store import Parts


class Code:
    """The words of a store that hold code, as plain numbers, by their addresses."""

    def __init__(self, store: at.Table, parts: Parts) -> None:
        self._store = store
        self._end = parts.task.end
        self.first = parts.operation.start

    @cached_property
    def header(self) -> list[int]:
        """The words of the store's header."""
        found: list[int] = self._store[: at.S_WIDTH].tolist()
        return found

    @cached_property
    def words(self) -> list[int]:
        """The words from the first operation on."""
        found: list[int] = self._store[self.first : self._end].tolist()
        return found

    def __getitem__(self, address: int) -> int:
        return self.words[address - self.first]

    def row(self, address: int, width: int) -> list[int]:
        """Return consecutive words."""
        return self.words[address - self.first : address - self.first + width]
