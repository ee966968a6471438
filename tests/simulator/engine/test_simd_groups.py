"""Groups of SIMD values: how many wavelets a group needs, and whether a queue has them."""

import numba
import numpy as np
import pytest

from tilewright.simulator.compile import columns as at
from tilewright.simulator.engine.rare.simd_groups import queue_gives, wavelets_of
from tilewright.simulator.engine.values.places import QueuePlace
from tilewright.simulator.run.trace import BUSY, WAIT_INPUT, WAIT_OUTPUT

ELEMENT, ROW, THREAD, QUEUE, RING, LISTS = 3000, 3100, 3200, 3300, 3400, 3500
LATER = 9


@numba.njit
def needed(store, operand, width):
    return wavelets_of(store, THREAD, operand, width)


@numba.njit
def state(store, count, now):
    return queue_gives(store, QueuePlace(ELEMENT, ROW, QUEUE), count, now)


def store_of(kind: int, entries: list[int], capacity: int = 4) -> np.ndarray:  # type: ignore[type-arg]
    """Return a store whose queue has words that are ready at these cycles; free slots are old."""
    store = np.zeros(4000, dtype=np.int64)
    store[at.S_LISTS], store[at.S_LISTS + 1] = LISTS, LISTS + 100
    store[at.WHEEL_AT : at.WHEEL_AT + at.WHEEL] = -1
    store[ELEMENT + at.A_WHEN] = -1
    store[THREAD + at.T_ROWS : THREAD + at.T_ROWS + 3] = ROW
    store[ROW + at.D_KIND] = kind
    store[QUEUE + at.F_CAP], store[QUEUE + at.F_RING] = capacity, RING
    store[QUEUE + at.F_COUNT], store[QUEUE + at.F_CREDIT] = len(entries), 1
    store[QUEUE + at.F_WAITER] = -1
    store[RING : RING + 2 * capacity : 2] = -10
    store[RING : RING + 2 * len(entries) : 2] = entries
    return store


@pytest.mark.parametrize(
    ("pairs", "width", "half", "expected"),
    [
        (False, 1, 0, 1),
        (False, 4, 0, 4),
        (True, 2, 0, 1),
        (True, 4, 0, 2),
        (True, 1, 0, 1),  # a source without the other half takes a wavelet
        (True, 1, 1, 0),  # with it none
    ],
)
def test_wavelets_of_a_source(pairs: bool, width: int, half: int, expected: int) -> None:
    store = store_of(at.FABRIC_IN, [])
    store[ROW + at.D_FLAGS] = at.PAIRS if pairs else 0
    store[THREAD + at.T_HALF + 1] = half
    assert needed(store, 1, width) == expected


def test_a_destination_sends_with_the_second_half() -> None:
    store = store_of(at.FABRIC_OUT, [])
    store[ROW + at.D_FLAGS] = at.PAIRS
    assert needed(store, 0, 1) == 0
    store[THREAD + at.T_HALF] = 1
    assert needed(store, 0, 1) == 1


def test_an_input_queue_gives_a_group_when_its_last_word_is_ready() -> None:
    store = store_of(at.FABRIC_IN, [3, LATER])
    assert state(store, 1, 5) == BUSY
    assert state(store, 2, 5) == WAIT_INPUT
    assert store[ELEMENT + at.A_WHEN] == LATER  # the element is visited again then
    assert state(store, 2, LATER) == BUSY
    assert state(store, 3, 20) == WAIT_INPUT


def test_an_output_queue_takes_a_group_when_it_has_space_for_all() -> None:
    assert state(store_of(at.FABRIC_OUT, [1, 1]), 2, 5) == BUSY
    nearly_full = store_of(at.FABRIC_OUT, [1, 1, 1])
    assert state(nearly_full, 1, 5) == BUSY
    assert state(nearly_full, 2, 5) == WAIT_OUTPUT
    assert nearly_full[QUEUE + at.F_WAITER] == ELEMENT
    assert state(store_of(at.FABRIC_OUT, [1, 1, 1, 1]), 1, 5) == WAIT_OUTPUT
