"""How much work on a run's designs was done once for several of them, in numbers and words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tilewright.arch.quantities import some
from tilewright.dse.models.evaluator import NOTHING_SHARED, Sharing


def sharing_of(times: Path) -> Sharing:
    """Return the sums of what the designs of a run shared, from its times.jsonl.

    Damaged lines are left out.
    """
    return total_of(_lines(times))


def _lines(times: Path) -> Iterable[Sharing]:
    for line in times.read_text(encoding="utf-8").splitlines() if times.is_file() else ():
        try:
            counts = json.loads(line)["shared"]
            yield Sharing(*(int(counts.get(name, 0)) for name in Sharing._fields))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue


def total_of(several: Iterable[Sharing]) -> Sharing:
    """Return the sums of what was shared in several batches."""
    return Sharing(*map(sum, zip(NOTHING_SHARED, *several, strict=True)))


def sharing_text(sharing: Sharing) -> str:
    """Return a text on the evaluations and compilations that the designs of a run did not need."""
    known = sharing.repeated + sharing.known
    words = [f"{some(known, 'result')} known already"]
    if sharing.structures:
        words.append(structures_text(sharing))
    return "; ".join(words)


def structures_text(sharing: Sharing) -> str:
    """Return a text on how many compiled templates searches found ready."""
    share = f"{100 * sharing.shared_structures / sharing.structures:.0f} %"
    return f"{share} of {sharing.structures} sets of templates left by earlier designs"
