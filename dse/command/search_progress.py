"""Show how a search of mappings goes: the best value and the bound closing in on each other."""

from __future__ import annotations

import sys
import time
from math import inf, isfinite
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tilewright.dse.report.units import quantity

if TYPE_CHECKING:
    from rich.status import Status

    from tilewright.mapper.searches.result import Progress

PATIENCE = 0.5  # seconds: a search that is faster shows nothing


class SearchDisplay:
    """One line on the terminal (standard error) that shows how a search for a mapping goes.

    Use it as a context manager and call it with each Progress. It shows nothing if standard error
    is no terminal or in the first half second.
    """

    def __init__(self, metric: str) -> None:
        self._metric = metric
        self._began = time.monotonic()
        self._status: Status | None = None
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, progress: Progress) -> None:
        """Show a state of the search."""
        if not self._shown or time.monotonic() - self._began < PATIENCE:
            return
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status("")
            self._status.start()
        self._status.update(self.line(progress))

    def line(self, progress: Progress) -> str:
        """Return the state of a search in words: the best value, a lower bound, and their gap."""
        from tilewright.mapper.searches.result import gap_text

        parts = [progress.doing]
        if progress.value < inf:
            parts.append(f"best {quantity(progress.value, self._metric)}")
        if 0 < progress.lower_bound < inf:
            parts.append(f"at least {quantity(progress.lower_bound, self._metric)}")
            gap = progress.value / progress.lower_bound - 1
            parts += [f"gap {gap_text(gap)}"] if isfinite(gap) else []
        return ", ".join(parts)
