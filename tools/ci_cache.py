"""Keep what CI's runs make besides their answers: `ci_cache.py name | load DIR | save DIR`.

`name` prints a digest of Python and of the versions of all that is installed. `load` and `save`
copy the machine code of kernels, which stands beside their modules, from and to DIR. The code names
a digest of its sources and is made anew where that does not fit (docs/decisions/0008). That digest
holds the time stamp of numba's version file, so `load` sets this to a fixed time: the version is in
DIR's name.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from hashlib import sha256
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("arch", "mapper", "simulator", "dse")
OLD = 30 * 24 * 3600  # seconds after which what no run has used is deleted


def name() -> str:
    """Return the digest."""
    versions = sorted(f"{one.name} {one.version}" for one in distributions())
    return sha256("\n".join([sys.version, *versions]).encode()).hexdigest()[:16]


def load(kept: Path) -> None:
    """Put kept machine code where kernels look for it; delete folders that no run uses."""
    found = find_spec("numba")
    assert found is not None
    assert found.origin is not None
    os.utime(Path(found.origin).with_name("_version.py"), (0, 0))
    for path in (kept / "kernels").rglob("*.code"):
        place = ROOT / path.relative_to(kept / "kernels")
        if place.parent.parent.is_dir():
            place.parent.mkdir(exist_ok=True)
            shutil.copyfile(path, place)
    kept.mkdir(parents=True, exist_ok=True)
    os.utime(kept)
    for other in kept.parent.iterdir():
        if other.stat().st_mtime < time.time() - OLD:
            shutil.rmtree(other)


def save(kept: Path) -> None:
    """Keep the machine code of this checkout's kernels, and no other."""
    fresh = kept / f"kernels.{os.getpid()}"
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.code"):
            place = fresh / path.relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
    shutil.rmtree(kept / "kernels", ignore_errors=True)
    if fresh.is_dir():
        fresh.rename(kept / "kernels")


def main(what: str, *where: str) -> None:
    if what == "name":
        print(name())
        return
    {"load": load, "save": save}[what](Path(*where))


if __name__ == "__main__":
    main(*sys.argv[1:])
