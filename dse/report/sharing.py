"""How much work on a run's designs was done once for several of them, in numbers and words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tilewright.arch.quantities import some
from tilewright.dse.models.evaluator import Sharing, total_of


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


def sharing_text(sharing: Sharing) -> str:
    """Return a text on the evaluations and compilations that the designs of a run did not need."""
    shared_results = sharing.repeated + sharing.known
    return "; ".join([f"{some(shared_results, 'result')} known already", *hit_rates(sharing)])


def hit_rates(sharing: Sharing) -> list[str]:
    """Return texts on how much of what designs asked for was there already."""
    whats = (
        "sets of templates left by earlier designs",
        "executions known from other designs",
        "Einsums with known bounds",
        "simulations known",
        "designs answered by the search of another one",
    )
    asked, there = sharing[2::2], sharing[3::2]
    return [
        f"{100 * hits / of:.0f} % of {of:,} {what}"
        for of, hits, what in zip(asked, there, whats, strict=True)
        if of
    ]
