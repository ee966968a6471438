"""Ctrl-C: the first asks for an orderly end, the second ends at once; workers do not hear it.

SIGTERM and SIGHUP (the terminal was closed) do the same.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

INTERRUPTED = 130
FINISHING = "finishing the batch; once more stops at once"
_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
_SHOW_CURSOR = "\x1b[?25h"


def resume_hint(directory: Path) -> str:
    """Return the message that says how to go on with the interrupted run in `directory`."""
    import shlex

    return f"interrupted; go on with: tilewright study resume {shlex.quote(str(directory))}"


@contextmanager
def stop_on_signals(
    at_once: Callable[[], object] | None = None,
    stop: threading.Event | None = None,
    message: str = FINISHING,
) -> Iterator[threading.Event]:
    """Context manager that turns the first Ctrl-C (or SIGTERM, SIGHUP) into an event.

    The event asks for an orderly stop; it is `stop`, or a new one, and is yielded. The first signal
    prints `message`, unless that is empty. The second calls `at_once`; if that is None or returns,
    KeyboardInterrupt is raised. A signal that the process ignores stays ignored (nohup). Outside of
    the main thread no signal is handled and the event stays unset.
    """
    stop = stop or threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(*_: object) -> None:
        if stop.is_set():
            if at_once is not None:
                at_once()
            raise KeyboardInterrupt
        stop.set()
        if message:
            _write_error(f"\n{message}\n")

    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    former_handlers = [signal.signal(number, handle) for number in heard]
    try:
        yield stop
    finally:
        for number, handler in zip(heard, former_handlers, strict=True):
            signal.signal(number, handler)


@contextmanager
def stopping_searches() -> Iterator[None]:
    """Context manager in which the first Ctrl-C asks every search of mappings to stop.

    A search that stops returns its best mapping so far with a proven bound.
    """
    from tilewright.mapper.searches.budget import STOP_REQUESTED

    message = "stopping: the best mapping so far follows; Ctrl-C again ends at once"
    try:
        with stop_on_signals(stop=STOP_REQUESTED, message=message):
            yield
    finally:
        STOP_REQUESTED.clear()


@contextmanager
def unheard() -> Iterator[None]:
    """Context manager that blocks Ctrl-C and SIGTERM in this thread.

    Processes and threads that are started inside keep the signals blocked for good, so that worker
    processes ignore them; in this thread they are only delayed.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not on this platform: workers ignore them later
        yield
        return
    former_mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former_mask)


def ignore_from_now_on() -> None:
    """Ignore Ctrl-C and SIGTERM in this process, also those that are pending."""
    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def leave_at_once(directory: Path, exists: Callable[[], bool]) -> NoReturn:
    """End this process and its workers with exit code 130, without raising an exception.

    Prints how to resume the run in `directory` if `exists()` is true. Whole batches in trials.jsonl
    are safe. An exception raised inside of joblib would end in tracebacks of its threads.
    """
    from multiprocessing import active_children

    for worker in active_children():
        if worker.pid is not None:
            _kill(worker.pid)
    words = resume_hint(directory) if exists() else "interrupted"
    cursor = _SHOW_CURSOR if sys.stderr.isatty() else ""
    _write_error(f"{cursor}\n{words}\n")
    os._exit(INTERRUPTED)


def _write_error(text: str) -> None:
    """Write to standard error without print(): a signal may come in the middle of one."""
    with suppress(OSError):  # the terminal is gone
        os.write(2, text.encode("utf-8", "backslashreplace"))


def _kill(pid: int) -> None:
    try:
        os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    except ProcessLookupError:  # it has ended meanwhile
        return
