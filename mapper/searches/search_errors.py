"""Errors of a search itself: it ran out of memory, or disagrees with the model."""

from tilewright.arch.errors import TilewrightError


class MemoryUsedUp(TilewrightError):  # noqa: N818 - a limit of the machine, not a fault
    """The operating system gave a search no more memory.

    The text names the option max_memory, with which the search ends before that with a bound.
    """


class InternalError(RuntimeError):
    """The search and the model disagree about a mapping: a defect of Tilewright, never a result."""
