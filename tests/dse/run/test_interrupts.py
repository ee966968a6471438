"""The first Ctrl-C asks searches to stop, the second ends the program."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from tilewright.dse.run.interrupts import stopping_searches
from tilewright.mapper.searches.budget import STOP_REQUESTED


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_first_interrupt_asks_and_the_second_ends(capfd: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGINT)
    with stopping_searches():
        interrupt()
        assert STOP_REQUESTED.is_set()
        assert "stopping: the best mapping so far follows" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            interrupt()
    assert not STOP_REQUESTED.is_set()
    assert signal.getsignal(signal.SIGINT) == before


def test_other_threads_handle_no_signals() -> None:
    before = signal.getsignal(signal.SIGINT)
    handlers: list[object] = []

    def work() -> None:
        with stopping_searches():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [before]
