"""A folder of small answers by key, which processes and runs share; it never grows without end.

Each answer is a file of its own, written as a whole by a rename, so that no reader sees a part of
it and writers need no lock. A damaged file counts as missing. Of each part of the folder the
answers that were not asked for longest go first.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import get_ident
from typing import Any, Final

FOLDER_VARIABLE: Final = "TILEWRIGHT_KNOWN"
"""Environment variable: the folder of the store, or `off`."""
MOST_BYTES: Final = 256 * 1024 * 1024
_PARTS: Final = 256
_BLOCK: Final = 4096  # bytes that a file takes at least
_LARGEST: Final = MOST_BYTES // _PARTS // 4  # bytes of one answer


@dataclass(frozen=True, slots=True)
class ContentStore:
    """Answers by key in a folder, None: nothing is kept.

    A key is hex digits, at least four. `most_bytes`: that the folder takes on the disk; parts of it
    are made smaller one by one as they are written to.
    """

    folder: Path | None
    most_bytes: int = MOST_BYTES

    @property
    def keeps(self) -> bool:
        """Whether answers are kept at all."""
        return self.folder is not None

    def shared(self, key: str) -> dict[Any, Any]:  # noqa: ARG002 (for a search, see SearchAnswers)
        """Return the values that grow under a key while a search goes on, none so far."""
        return {}

    def get(self, key: str) -> Any:
        """Return the answer of a key, plain JSON data; None if there is none, or a damaged one."""
        if self.folder is None:
            return None
        path = self._file(self.folder, key)
        try:
            digest, _, body = path.read_bytes().partition(b"\n")
            if sha256(body).hexdigest().encode() != digest:
                return None
            answer = json.loads(body)
        except (OSError, ValueError, RecursionError):
            return None
        with suppress(OSError):
            os.utime(path)
        return answer

    def put(self, key: str, answer: Mapping[str, object]) -> None:
        """Keep an answer, plain JSON data; a refused write, and a very long answer, are ignored."""
        if self.folder is None:
            return
        body = json.dumps(answer, separators=(",", ":")).encode()
        if len(body) > _LARGEST:
            return
        path = self._file(self.folder, key)
        draft = path.with_suffix(f".{os.getpid()}.{get_ident()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(sha256(body).hexdigest().encode() + b"\n" + body)
            draft.replace(path)
        except OSError:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            return
        self._make_room(path.parent)

    def _file(self, folder: Path, key: str) -> Path:
        return folder / key[:2] / f"{key[2:]}.json"

    def _make_room(self, part: Path) -> None:
        """Remove the answers of a part that were not asked for longest, until the others fit."""
        found: list[tuple[float, str, int]] = []
        with suppress(OSError), os.scandir(part) as entries:
            for entry in entries:
                with suppress(OSError):
                    about = entry.stat(follow_symlinks=False)
                    size = -(-about.st_size // _BLOCK) * _BLOCK
                    found.append((about.st_mtime, entry.path, size))
        left = sum(size for _, _, size in found)
        for _, path, size in sorted(found):
            if left <= self.most_bytes // _PARTS:
                return
            with suppress(OSError):
                Path(path).unlink()
            left -= size


NOTHING_KEPT: Final = ContentStore(None)


def known_answers() -> ContentStore:
    """Return this user's store: in `~/.cache/tilewright/known`, or where TILEWRIGHT_KNOWN says."""
    return _store(os.environ.get(FOLDER_VARIABLE, ""))


@cache
def _store(folder: str) -> ContentStore:
    if folder == "off":
        return NOTHING_KEPT
    if folder:
        return ContentStore(Path(folder))
    try:
        return ContentStore(Path.home() / ".cache" / "tilewright" / "known")
    except RuntimeError:  # this user has no home
        return NOTHING_KEPT
