"""Names given with --set must mean something: a misspelt variable would answer another question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tilewright.arch.errors import SpecError
from tilewright.arch.names import did_you_mean
from tilewright.arch.source import load_document, read_text

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def check_used(settings: Mapping[str, object], files: Sequence[Path]) -> None:
    """Raise SpecError for a name that stands in none of the files, nor in what they include."""
    if not settings:
        return
    words = set(_words(files, settings))
    for name in settings:
        if name not in words:
            capital = sorted(word for word in words if word[0].isupper())
            raise SpecError(
                f"no file here has a variable {name}",
                value=", ".join(path.name for path in files),
                instead=did_you_mean(name, capital) or did_you_mean(name, sorted(words)) or None,
            )


def _words(files: Sequence[Path], settings: Mapping[str, object]) -> Iterable[str]:
    for path in files:
        for read in load_document(path, variables=settings).files:
            yield from _WORD.findall(read_text(Path(read)))
