"""Mapping search and design-space exploration for tensor accelerators.

The packages: `arch` (hardware), `mapper` (work, mappings, the search), `simulator` (the machine),
`dse` (studies, the command line), `studies` (content). Each is imported when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright import arch, dse, mapper, simulator, studies

    __version__: str

__all__ = ["__version__", "arch", "dse", "mapper", "simulator", "studies"]


def __getattr__(name: str) -> object:
    """Return a package, or the version that is installed; AttributeError for another name."""
    if name == "__version__":
        from importlib.metadata import version

        return version("tilewright")
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, for completion in a shell or notebook."""
    return sorted(__all__)
