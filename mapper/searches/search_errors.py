"""What a search can refuse."""

from tilewright.arch.errors import TilewrightError


class UnsupportedFeature(TilewrightError):  # noqa: N818 - a limit of the search, not a fault
    """A feature of the files that this search cannot handle exactly; the text names another."""


class MemoryUsedUp(TilewrightError):  # noqa: N818 - a limit of the machine, not a fault
    """The system gave a search no more memory."""


class InternalError(RuntimeError):
    """The search and the model disagree about a mapping: a defect, never a result."""
