"""Hardware: the architecture file, its tree, and the flattened graph that one Einsum sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arch.lazy import lazily

if TYPE_CHECKING:
    from tilewright.arch.components import Scope
    from tilewright.arch.errors import SpecError, TilewrightError
    from tilewright.arch.flat import FlatArch
    from tilewright.arch.flattening import flatten
    from tilewright.arch.load import load_arch
    from tilewright.arch.printing import dump_arch
    from tilewright.arch.tree import Arch

__all__ = [
    "Arch",
    "FlatArch",
    "Scope",
    "SpecError",
    "TilewrightError",
    "dump_arch",
    "flatten",
    "load_arch",
]

__getattr__ = lazily(
    __name__,
    {
        "Arch": "tilewright.arch.tree",
        "FlatArch": "tilewright.arch.flat",
        "Scope": "tilewright.arch.components",
        "SpecError": "tilewright.arch.errors",
        "TilewrightError": "tilewright.arch.errors",
        "dump_arch": "tilewright.arch.printing",
        "flatten": "tilewright.arch.flattening",
        "load_arch": "tilewright.arch.load",
    },
)
