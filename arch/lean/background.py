"""Work in a thread of its own, which an exception raised from outside does not cut in two.

A search is interrupted by an exception raised in its thread. numba would be left in a state of
which later compilations fail; so it compiles elsewhere, and goes on to the end.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, Thread
from threading import enumerate as threads
from time import sleep
from typing import TypeVar

T = TypeVar("T")

UNDISTURBED = Lock()
"""Held while a thread starts, and by whoever raises an exception in another thread.

Until a new thread runs, CPython 3.11 takes it for the one that made it: an exception for that one
would end the new thread before it says that it runs, which the other waits for without end.
"""
_NAME = "tilewright-background"
_LISTEN = 0.005  # seconds between two looks


def in_background(work: Callable[[], T]) -> T:
    """Return what `work` returns, or raise what it raises, having run it in a thread of its own.

    If the caller is interrupted, the thread goes on, and the process ends after it: LLVM may not be
    cut off either. Where the system has no thread left, the work is done here.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=run, name=_NAME, daemon=False)  # also below a thread that is one
    try:
        start_undisturbed(thread)
    except RuntimeError:  # cannot start a new thread
        return work()
    while not results and not errors:
        sleep(_LISTEN)  # an interrupted `join` takes the thread for ended (CPython 3.11)
    if errors:
        raise errors[0]
    return results[0]


def start_undisturbed(thread: Thread) -> None:
    """Start a thread; no interruption comes meanwhile. RuntimeError if the system has none left."""
    with UNDISTURBED:
        thread.start()


def is_busy() -> bool:
    """Return whether work of an interrupted caller goes on."""
    return any(thread.name == _NAME for thread in threads())
