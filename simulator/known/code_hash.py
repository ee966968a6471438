"""A hash of the code, on which every result depends."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from pathlib import Path

_OURS = ("arch", "mapper", "simulator", "dse")


@cache
def code_hash() -> str:
    """Return the first 16 hex digits of a SHA-256 over all Python sources of Tilewright."""
    digest = hashlib.sha256()
    for package in _OURS:
        root = Path(str(resources.files(f"tilewright.{package}")))
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{package}/{path.relative_to(root).as_posix()}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
