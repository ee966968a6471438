"""Compiled code as plain Python numbers, which are read faster than those of an array."""

from __future__ import annotations

from tilewright.simulator.engine import layout as at
from tilewright.simulator.store import Parts


class Code:
    """The words of a store that hold code, as plain numbers, by their addresses."""

    def __init__(self, store: at.Table, parts: Parts) -> None:
        self.header: list[int] = store[: at.S_WIDTH].tolist()
        self.first = parts.operation.start
        self.words: list[int] = store[self.first : parts.task.end].tolist()

    def __getitem__(self, address: int) -> int:
        return self.words[address - self.first]

    def row(self, address: int, width: int) -> list[int]:
        """Return consecutive words."""
        return self.words[address - self.first : address - self.first + width]
