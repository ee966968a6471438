"""The keys at the top of a file: the one that is asked for, and those of a larger spec."""

from __future__ import annotations

from tilewright.arch.errors import SpecError
from tilewright.arch.files.document import Document
from tilewright.arch.names import close_names

_HELD = {"space": "a study", "arch": "an architecture", "workload": "a workload",
         "mapping": "a mapping"}  # fmt: skip
"""What a file holds that has a key; a study has `arch` and `workload`, too."""
_KEYS = ("arch", "variables", "workload", "renames", "mapping", "mapper", "config", "model")


def check_top_level(document: Document, key: str, what: str) -> dict[str, object]:
    """Return the top level of a file, a mapping, after checking that it has the key `key`.

    `what`: the key in words, for messages. Other keys may belong to other parts of a specification.
    Raises SpecError if `key` is missing, or if a key looks like a misspelt one.
    """
    top = document.data
    if not isinstance(top, dict) or key not in top or "space" in top:
        raise _missing(document, key, what)
    for name in top:
        if name in _KEYS:
            continue
        close = close_names(name, _KEYS, 1) if isinstance(name, str) else []
        if close:
            raise SpecError(
                f"unknown field {name}",
                where=document.where_key((name,)),
                instead=f"did you mean {close[0]}?",
            )
    return top


def check_no_other_kind(document: Document, key: str, what: str) -> None:
    """Raise SpecError for a file, without what it should hold, that holds something else of ours.

    `key`, `what`: the key that a right file has, and what it holds then.
    """
    top = document.data
    held = next(
        (words for name, words in _HELD.items() if isinstance(top, dict) and name in top), None
    )
    if held is not None:
        raise SpecError(
            f"this file holds {held}, no {what}",
            where=document.where(),
            instead=f"a file with `{key}:`",
        )


def _missing(document: Document, key: str, what: str) -> SpecError:
    top = document.data
    check_no_other_kind(document, key, what)
    keys = [name for name in top if isinstance(name, str)] if isinstance(top, dict) else []
    close = close_names(key, keys)
    return SpecError(
        f"this file holds no {what}",
        where=document.where(),
        instead=f"write `{key}:` instead of `{close[0]}:`" if close else f"start it with `{key}:`",
    )
