"""Why a program, or a part of it, has no certificate: an exception inside the fast engine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class NotCovered(Exception):  # noqa: N818 - it is an outcome, and never leaves the fast engine
    """Say why the times of a program, or of parts of it, cannot be proved.

    It never leaves the fast engine: the reference engine then runs these parts. `reason`: in words.
    `elements`, `fifos`: numbers of those whose parts are not covered; neither: the whole program.
    `contending`: FIFOs that may want a link in the same cycle, on which an arbiter could decide.
    """

    def __init__(
        self,
        reason: str,
        *,
        elements: Ints | None = None,
        fifos: Ints | None = None,
        contending: Ints | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.elements = elements
        self.fifos = fifos
        self.contending = contending
        """FIFOs that may want a link in the same cycle."""


class TooManySteps(NotCovered):
    """Say that a code executes more instructions than the fast engine follows."""

    def __init__(self) -> None:
        super().__init__("a code runs too many instructions")
