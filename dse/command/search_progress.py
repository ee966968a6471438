"""Show how a search of mappings goes: the best value so far, the lower bound, and their gap."""

from __future__ import annotations

import sys
import threading
import time
from math import inf, isfinite
from typing import TYPE_CHECKING, Self

from tilewright.arch.quantities import quantity
from tilewright.dse.command.console import say

if TYPE_CHECKING:
    from rich.status import Status

    from tilewright.mapper.searches.result import Progress

PATIENCE = 0.5  # seconds: a search that is faster shows nothing
PERIOD = 5.0  # seconds between lines where standard error is no terminal
ROUNDING = 1e-9  # relative: a value so near its bound is equal to it


class SearchDisplay:
    """Shows on standard error how a search for a mapping goes.

    On a terminal it is one line that changes, elsewhere a line every five seconds. Use it as a
    context manager and call it with each Progress. A search of half a second shows nothing.
    """

    def __init__(self, metric: str) -> None:
        self._metric = metric
        self._began = time.monotonic()
        self._status: Status | None = None
        self._is_terminal = sys.stderr.isatty()
        self._latest: Progress | None = None
        self._ended = threading.Event()
        self._lines = threading.Thread(target=self._print_lines, daemon=True)

    def __enter__(self) -> Self:
        if not self._is_terminal:
            self._lines.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._status is not None:
            self._status.stop()

    def __call__(self, progress: Progress) -> None:
        """Show a state of the search."""
        self._latest = progress
        if not self._is_terminal or time.monotonic() - self._began < PATIENCE:
            return
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status("")
            self._status.start()
        self._status.update(self.line(progress))

    def _print_lines(self) -> None:
        """Print the latest state every few seconds until the search has ended."""
        while not self._ended.wait(PERIOD):
            seconds = time.monotonic() - self._began
            state = "searching" if self._latest is None else self.line(self._latest)
            say(f"{seconds:.0f} s: {state}")

    def line(self, progress: Progress) -> str:
        """Return the state of a search in words: the best value, a lower bound, and their gap."""
        from tilewright.mapper.searches.result import gap_text

        parts = [progress.doing]
        if progress.value < inf:
            parts.append(f"best {quantity(progress.value, self._metric)}")
        if 0 < progress.lower_bound < inf:
            parts.append(f"at least {quantity(progress.lower_bound, self._metric)}")
            gap = progress.value / progress.lower_bound - 1
            if isfinite(gap):
                parts.append(f"gap {gap_text(gap if gap > ROUNDING else 0.0)}")
        return ", ".join(parts)
