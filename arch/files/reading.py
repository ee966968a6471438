"""Read the text of a user's file, within limits."""

from __future__ import annotations

from pathlib import Path

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.names import close_names, did_you_mean

MAX_BYTES = 8 * 1024 * 1024
_SHIPPED = (
    "a path; tilewright.studies.path_of('hardware', NAME), or 'workloads', is that of a shipped one"
)


def read_text(path: Path, where: Where | None = None) -> str:
    """Return the text of a user's file (UTF-8).

    Raises SpecError if it is missing, larger than 8 MiB or not UTF-8; `where` is the place in
    another file that asked for it.
    """
    try:
        if not path.is_file():
            raise SpecError(_no_such(path), where=where, value=str(path), instead=_hint(path))
        if path.stat().st_size > MAX_BYTES:
            raise too_large(str(path))
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError(f"cannot read the file: {reason}", where=where, value=str(path)) from None
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SpecError(
            "the file is not UTF-8 text", where=Where(str(path), line), instead="save it as UTF-8"
        ) from None


def _no_such(path: Path) -> str:
    return "this is a folder, not a file" if path.is_dir() else "there is no such file"


def _hint(path: Path) -> str | None:
    if path.is_dir():
        return "the name of a file in it"
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist either"
    names = sorted(entry.name for entry in path.parent.iterdir())
    if not path.suffix and not close_names(path.name, names):
        return _SHIPPED
    return did_you_mean(path.name, names) or None


def too_large(name: str) -> SpecError:
    """Return the error of a file or text of more than 8 MiB."""
    return SpecError(
        f"the file is larger than {MAX_BYTES // 2**20} MiB",
        where=Where(name),
        instead="split it, or write repeated parts with a template loop",
    )
