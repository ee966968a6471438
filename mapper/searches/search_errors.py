"""Errors of a search itself: it ran out of memory, or disagrees with the model."""

from tilewright.arch.errors import TilewrightError


class MemoryUsedUp(TilewrightError):  # noqa: N818 - a limit of the machine, not a fault
    """The system gave a search no more memory."""


class InternalError(RuntimeError):
    """The search and the model disagree about a mapping: a defect, never a result."""
