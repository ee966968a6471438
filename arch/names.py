"""Close names, for errors about names that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_SHORT_LIST = 12


def close_names(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return the names of `known` that look like `name`, best first."""
    names = sorted(set(known))
    lowered = {candidate.lower(): candidate for candidate in reversed(names)}
    found = get_close_matches(name.lower(), list(lowered), n=limit, cutoff=0.6)
    return [lowered[match] for match in found]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest close names; with none close, list the known ones if they are few; else nothing."""
    names = sorted(set(known))
    close = close_names(name, names)
    if close:
        return f"did you mean {' or '.join(close)}?"
    if names and len(names) <= _SHORT_LIST:
        return f"one of: {', '.join(names)}"
    return ""
