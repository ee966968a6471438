"""Whether a process of this machine runs a study, told without touching the run."""

from __future__ import annotations

import os
from pathlib import Path

from tilewright.dse.run.rundir import TRIALS
from tilewright.dse.store.known_outcomes import PENDING

_LOCKS = Path("/proc/locks")


def process_of(run: Path, locks: Path = _LOCKS) -> int | None:
    """Return the process that holds the record of a run; None if no process of this machine does.

    `locks`: the kernel's list of locks, `N: FLOCK ADVISORY WRITE PROCESS MAJOR:MINOR:INODE 0 EOF`
    (hexadecimal device). To try the lock would disturb a coordinator that starts just then.
    """
    try:
        place = (run / TRIALS).stat()
        lines = locks.read_text().splitlines()
    except OSError:
        return None
    device = f"{os.major(place.st_dev):02x}:{os.minor(place.st_dev):02x}:{place.st_ino}"
    held = [words for line in lines if len(words := line.split()) >= 6 and words[5] == device]
    return int(held[0][4]) if held else None


def can_tell() -> bool:
    """Return whether this machine lists locks at all."""
    return _LOCKS.is_file()


def evaluated_of_batch(run: Path) -> int:
    """Return how many designs of the batch that is being evaluated are done."""
    try:
        return (run / PENDING).read_bytes().count(b"\n")
    except OSError:
        return 0
