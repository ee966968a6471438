"""What a special operation waits for: its FIFOs in memory."""

import numba
import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.engine.rare.special_waits import fifo_event

FIFO = 300


@numba.njit
def event(store, reads, needed, asynchronous):
    return fifo_event(store, FIFO, reads, needed, asynchronous)


def test_a_microthread_is_suspended_where_the_main_thread_tests() -> None:
    store = np.zeros(600, dtype=np.int64)
    store[FIFO + at.Q_EMPTY_ACTION] = at.TEST_OR_SUSPEND
    store[FIFO + at.Q_FULL_ACTION] = at.TERMINATE
    assert event(store, True, 1, 1) == at.SUSPEND
    assert event(store, True, 1, 0) == at.TEST_OR_SUSPEND
    assert event(store, False, 1, 1) == at.TERMINATE
    assert (store[FIFO + at.Q_EMPTY], store[FIFO + at.Q_FULL]) == (1, 1)
