"""Places in a file, and the way back from a rendered template to the file that was written."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.arch.errors import Where


@dataclass(frozen=True, slots=True)
class SourceMap:
    """Where the lines of a text come from: `lines[i]` is (file, 1-based line, text unchanged?).

    Empty `lines`: the text is the file itself.
    """

    file: str
    lines: tuple[tuple[str, int, bool], ...] = ()

    def where(self, line: int, column: int, path: str = "") -> Where:
        """Return the place of 0-based `line` and `column` of the text."""
        if not self.lines:
            return Where(self.file, line + 1, column + 1, path)
        file, number, unchanged = self.lines[min(line, len(self.lines) - 1)]
        return Where(file, number, column + 1 if unchanged else None, path)


@dataclass(frozen=True, slots=True)
class Mark:
    """A 0-based position in a text."""

    lines: SourceMap
    line: int
    column: int

    def where(self, path: str = "") -> Where:
        return self.lines.where(self.line, self.column, path)
