"""Hardware: the architecture file, its tree, and the flattened graph that one Einsum sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.arch.lazy import lazily

if TYPE_CHECKING:
    from tilewright.arch.components.einsum_scope import Scope
    from tilewright.arch.errors import SpecError, TilewrightError
    from tilewright.arch.flattening.flat import FlatArch
    from tilewright.arch.flattening.flattening import flatten
    from tilewright.arch.spec.architecture import Arch
    from tilewright.arch.spec.load import load_arch
    from tilewright.arch.spec.printing import dump_arch

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

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Arch": "tilewright.arch.spec.architecture",
        "FlatArch": "tilewright.arch.flattening.flat",
        "Scope": "tilewright.arch.components.einsum_scope",
        "SpecError": "tilewright.arch.errors",
        "TilewrightError": "tilewright.arch.errors",
        "dump_arch": "tilewright.arch.spec.printing",
        "flatten": "tilewright.arch.flattening.flattening",
        "load_arch": "tilewright.arch.spec.load",
    },
)
