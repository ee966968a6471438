"""Places in a file, and the way back from a rendered template to the file that was written."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.arch.errors import Where


@dataclass(frozen=True, slots=True)
class SourceMap:
    """For each line of a rendered text, the line of the user's file that it comes from.

    `file`: the user's file; `lines[i]`: (file, 1-based line, is the text unchanged?) of line i;
    empty if the text is the file itself.
    """

    file: str
    lines: tuple[tuple[str, int, bool], ...] = ()

    def where(self, line: int, column: int, path: str = "") -> Where:
        """Return the place in the user's file of a 0-based line and column of the text.

        `path`: of the field there. The column is unknown (None) where a template changed the line.
        """
        if not self.lines:
            return Where(self.file, line + 1, column + 1, path)
        file, number, unchanged = self.lines[min(line, len(self.lines) - 1)]
        return Where(file, number, column + 1 if unchanged else None, path)


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in a YAML text that is traced back to the user's file.

    `lines`: for each line, where it comes from; `line`, `column`: from 0.
    """

    lines: SourceMap
    line: int
    column: int

    def where(self, path: str = "") -> Where:
        """Return the place in the user's file; `path`: of the field that stands there."""
        return self.lines.where(self.line, self.column, path)
