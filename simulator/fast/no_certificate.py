"""Why a program, or a part of it, has no certificate: an exception inside the fast engine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class NotCovered(Exception):  # noqa: N818 - it is an outcome, and never leaves the fast engine
    """The fast engine gives no certificate to these elements and FIFOs, nor to their parts.

    Without elements and FIFOs it gives none to the whole program.
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
    """A code runs more instructions than are walked."""

    def __init__(self) -> None:
        super().__init__("a code runs too many instructions")
