"""Old home of `flatten`; import it from `tilewright.arch` or `tilewright.arch.flattening`.

A submodule and a function of the same name hide each other behind the package's lazy names.
"""

from __future__ import annotations

from tilewright.arch.flat import FlatArch
from tilewright.arch.flattening import flatten

__all__ = ["FlatArch", "flatten"]
