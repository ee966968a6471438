"""The kernel decorator of the fast engine; see `tilewright.simulator.engine.jit`.

Its kernels call those of the reference engine, so their on-disk cache is stale when either
folder has changed.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.simulator.engine.jit import kernel

__all__ = ["kernel", "whole"]

whole: Any = np.int64
"""Makes a literal an ordinary number: numba compiles a kernel anew for every literal argument."""


def _drop_stale_cache(folder: Path) -> None:
    sources = sorted([*folder.glob("*.py"), *(folder.parent / "engine").glob("*.py")])
    sources.append(folder.parent / "operations.py")
    digest = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    stamp = folder / "__pycache__" / "kernels.sha256"
    try:
        if stamp.is_file() and stamp.read_text() == digest:
            return
        for path in sorted(stamp.parent.glob("*.nb[ic]")):
            path.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(digest)
    except OSError:
        return


_drop_stale_cache(Path(__file__).parent)
