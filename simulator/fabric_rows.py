"""Rows of the instructions that change the fabric around an element while the program runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tilewright.simulator.engine import layout as at
from tilewright.simulator.program import EndTeardown, Reconfigure

Change = EndTeardown | Reconfigure
CHANGES: Final = (EndTeardown, Reconfigure)


class FabricRows:
    """Collect what one code does to routers and queues; give its instructions."""

    def __init__(self, colors: Mapping[str, int]) -> None:
        self._colors = colors
        self.changes: dict[str, list[Reconfigure]] = {}
        """By color, what its router may be changed to, in the order of the engine's rows."""

    def instruction(self, change: Change) -> tuple[int, ...]:
        """Return the code and arguments of an instruction."""
        color = self._colors[change.color]
        if isinstance(change, EndTeardown):
            return at.I_END_TEARDOWN, color, -1 if change.position is None else change.position
        known = self.changes.setdefault(change.color, [])
        if change not in known:
            known.append(change)
        return at.I_RECONFIGURE, color, known.index(change)
