"""Read and write the files of a run: whole or not at all, and never through a symbolic link.

A run directory may come from somebody else. A link in it could lead a write, or a deletion, to any
file of the user.
"""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any

from tilewright.arch.errors import SpecError, TilewrightError, Where

MAX_JSON = 256 * 1024 * 1024
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


class RunError(TilewrightError):
    """A run directory cannot be used as asked: missing, taken, damaged, or of another study."""

    category = "run folder"


def write_atomically(path: Path, text: str) -> None:
    """Write a text file as a whole or not at all, also if the process is killed.

    A device or a pipe is written to directly; a symbolic link is replaced, not followed. Raises
    OSError with the path.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
        draft.unlink(missing_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o666)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        error.filename, error.filename2 = str(path), None  # not that of the draft
        raise


def name_file(error: OSError, path: Path) -> None:
    """Put the path of a file into an error without one: a full device does not say which it is."""
    if error.filename is None:
        error.filename = str(path)


def check_no_links(directory: Path) -> None:
    """Raise RunError if something in a run directory is neither a file nor a folder.

    The directory itself may be reached through a link; what it holds may not be one.
    """
    folders = [directory]
    while folders:
        for entry in sorted(os.scandir(folders.pop()), key=lambda entry: entry.name):
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                folders.append(Path(entry.path))
            elif not stat.S_ISREG(mode):
                kind = "a symbolic link" if stat.S_ISLNK(mode) else "no regular file"
                raise RunError(
                    f"{entry.path} is {kind}: a run directory holds its files itself",
                    instead="put the file there in its place, or remove it",
                )


def pretty_json(value: object) -> str:
    """Return a value as indented JSON text with a newline at its end.

    Raises ValueError for NaN or infinity.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if any("\ud800" <= sign <= "\udfff" for sign in text):  # a name of a file that is no UTF-8
        text = json.dumps(value, indent=2, allow_nan=False) + "\n"
    return text


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file of a run holds.

    Raises SpecError, with the place, for a file that cannot be read or holds something else.
    """
    try:
        if path.stat().st_size > MAX_JSON:
            raise ValueError("it is too large")
        value = json.loads(
            path.read_text(encoding="utf-8"),
            parse_float=finite_number,
            parse_constant=finite_number,
        )
    except (OSError, ValueError, RecursionError) as error:
        raise SpecError(
            f"cannot read {path.name}: {error}",
            where=Where(str(path), getattr(error, "lineno", None), getattr(error, "colno", None)),
            instead="put back the file as the run wrote it",
        ) from error
    if not isinstance(value, dict):
        raise SpecError(
            f"{path.name} does not hold an object",
            where=Where(str(path), 1),
            instead="put back the file as the run wrote it",
        )
    return value


def finite_number(text: str) -> float:
    """Return the number that a text of a JSON file stands for; ValueError if it is not finite."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
