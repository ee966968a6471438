"""Suggest close names in errors about unknown names, and check the names of a file."""

from __future__ import annotations

from collections.abc import Iterable

_SHORT_LIST = 12
_RESERVED = frozenset({"All", "Nothing", "Total"})  # sets of names, and the sum of a breakdown
_CLOSE, _BEHIND = 0.6, 0.1


def close_names(name: str, candidates: Iterable[str], limit: int = 3) -> list[str]:
    """Return up to `limit` of the candidates that look like a misspelt `name`, best first.

    Empty if none is close; a candidate far behind the best is left out.
    """
    from difflib import SequenceMatcher  # only wrong names need it

    matcher = SequenceMatcher(b=name.lower(), autojunk=False)
    scored = []
    for candidate in sorted(set(candidates)):
        matcher.set_seq1(candidate.lower())
        if matcher.real_quick_ratio() >= _CLOSE and matcher.quick_ratio() >= _CLOSE:
            scored.append((-matcher.ratio(), candidate))
    scored.sort()
    best = -scored[0][0] if scored else 0.0
    return [name for score, name in scored[:limit] if -score >= max(_CLOSE, best - _BEHIND)]


def fault_of_name(name: str) -> str | None:
    """Return what is wrong with the name of a component, dimension, Einsum, tensor or rank.

    None for a good one. A `/` divides the keys of a breakdown, control characters would reach the
    terminal and the pages, and some names stand for sets.
    """
    if not name or name.isspace():
        return "a name must be text"
    if name in _RESERVED:
        return f"the name {name} is reserved"
    if "/" in name or not name.isprintable():
        return "a name must not have `/` or control characters"
    return None


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return a hint for an unknown name: close names, else all candidates if at most twelve.

    Otherwise the empty text.
    """
    names = sorted(set(candidates))
    close = close_names(name, names)
    if close:
        return f"did you mean {' or '.join(close)}?"
    if names and len(names) <= _SHORT_LIST:
        return f"one of: {', '.join(names)}"
    return ""
