"""Let Ctrl-C end a search with its best mapping so far instead of ending the program."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tilewright.dse.command.console import say


@contextmanager
def stopping_at_interrupt() -> Iterator[None]:
    """Let the first Ctrl-C ask the searches within to stop, and the second end the program.

    A search that stops returns its best mapping so far with a proven bound. Outside of the main
    thread, where no signal can be handled, nothing changes.
    """
    from tilewright.mapper.searches.budget import STOP_REQUESTED

    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        if STOP_REQUESTED.is_set():
            raise KeyboardInterrupt
        STOP_REQUESTED.set()
        say("stopping: the best mapping so far follows; Ctrl-C again ends at once")

    previous = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        STOP_REQUESTED.clear()
