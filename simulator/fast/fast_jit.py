"""The decorators of the fast engine's kernels; see `tilewright.simulator.engine.jit`.

They call kernels of the reference engine, so their cache on disk is stale when either folder has
changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tilewright.simulator.engine.jit import (
    drop_stale_cache,
    inline_kernel,
    inner_kernel,
    kernel,
    part_kernel,
)

__all__ = ["inline_kernel", "inner_kernel", "kernel", "part_kernel", "whole"]

whole: Any = np.int64
"""Make a literal an ordinary number: numba compiles a kernel again for every literal argument."""


drop_stale_cache(Path(__file__).parent, Path(__file__).parent.parent / "engine")
