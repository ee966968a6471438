"""Why a program, or a part of it, has no certificate; internal to the fast engine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class NotCovered(Exception):  # noqa: N818 - it is an outcome, and never leaves the fast engine
    """The fast engine cannot vouch for these elements and FIFOs, nor for what they are joined to.

    Without any, it cannot vouch for the program; the reference engine has to run it.
    """

    def __init__(
        self,
        reason: str,
        *,
        elements: Ints | None = None,
        fifos: Ints | None = None,
        meeting: Ints | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.elements = elements
        self.fifos = fifos
        self.meeting = meeting
        """FIFOs that may want a link in the same cycle."""


class TooManySteps(NotCovered):
    """A code runs more instructions than are walked."""

    def __init__(self) -> None:
        super().__init__("a code runs too many instructions")
