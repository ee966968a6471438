"""Machine code on disk: used where source, signature, processor and compiler are still the same."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple


class ObjectCode(NamedTuple):
    """An object file with one kernel and all that it calls.

    `symbol`: the kernel's name in it; `body`: its bytes, empty if the machine code would need numba
    at run time.
    """

    symbol: str
    body: bytes


class CodeFile(NamedTuple):
    """The file in which the code of the kernel `name` of the module `home` is kept.

    `signature`: its types, in numba's notation. The code is valid for the contents of the module's
    file and of `sources`, files that the module imports; a path that is not absolute begins in the
    module's folder.
    """

    home: str
    name: str
    signature: str
    sources: tuple[str, ...]

    @property
    def path(self) -> Path:
        """Its path: in numba's cache folder, one per kind of processor."""
        home = _home(self.home)
        processor = sha256(_host().encode()).hexdigest()[:12]
        name = f"{home.stem}.{self.name}-{processor}.code"
        cache_dir = os.environ.get("NUMBA_CACHE_DIR")
        if cache_dir:
            return Path(cache_dir) / self.home / name
        beside = home.parent / "__pycache__"
        if os.access(beside if beside.exists() else home.parent, os.W_OK):
            return beside / name
        return Path.home() / ".cache" / "tilewright" / name

    def is_writable(self) -> bool:
        """Return whether code can be written to disk."""
        folder = self.path.parent
        while not folder.exists():
            folder = folder.parent
        return folder.is_dir() and os.access(folder, os.W_OK)

    def read(self) -> ObjectCode | None:
        """Return the stored code if its digest and checksum hold; else None."""
        try:
            header, _, body = self.path.read_bytes().partition(b"\n")
            digest, checksum, symbol = header.decode().split(" ")
        except (OSError, ValueError):
            return None
        if digest != self._digest() or checksum != sha256(body).hexdigest():
            return None
        return ObjectCode(symbol, body)

    def write(self, code: ObjectCode) -> None:
        """Write the code to disk by a rename, so that no reader sees a part of it.

        A refused write is ignored.
        """
        header = f"{self._digest()} {sha256(code.body).hexdigest()} {code.symbol}\n"
        draft = self.path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            draft.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(header.encode() + code.body)
            draft.replace(self.path)

    @contextmanager
    def locked(self, *, waits: bool = True) -> Iterator[bool]:
        """Hold the lock of a kernel's compilation across processes; yield whether it is held.

        `waits`: for another process that holds it. Where no lock file can be made it counts as
        held. The lock of a process that ends is free.
        """
        path = self.path.with_suffix(".lock")
        with ExitStack() as held:
            got = True
            with suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                lock = held.enter_context(path.open("w"))
                with suppress(ImportError):  # no locks on this system
                    import fcntl

                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
                    except BlockingIOError:
                        got = False
            yield got

    def _digest(self) -> str:
        """Return a digest of host, compiler, signature and the sources of the kernel."""
        home = _home(self.home)
        digest = sha256(f"{_host()} {self.home} {self.name} {self.signature}".encode())
        for path in [home, *(home.parent / source for source in self.sources)]:
            digest.update(_bytes(path))
        return digest.hexdigest()


@cache
def _home(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)


@cache
def _bytes(path: Path) -> bytes:
    return path.read_bytes()


@cache
def _host() -> str:
    """Describe the processor, its features, and the versions of llvmlite and numba."""
    import llvmlite
    from llvmlite import binding

    numba = _home("numba").with_name("_version.py").stat()  # without importing numba
    features = binding.get_host_cpu_features().flatten()
    return (
        f"{binding.get_default_triple()} {binding.get_host_cpu_name()} {features}"
        f" {llvmlite.__version__} {numba.st_size} {numba.st_mtime_ns}"
    )
