"""Values of special operations: FIFOs in memory, carries of long numbers, control wavelets."""

from collections import deque

import numba
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.simulator.compile import columns as at
from tilewright.simulator.engine.rare.special_values import add_carry, fifo_pop, fifo_push, marked
from tilewright.simulator.engine.rare.special_waits import fifo_event

ELEMENT, FIFO, THREAD = 100, 300, 400
CAPACITY = 3


@numba.njit
def push_value(store, memory, bits):
    fifo_push(store, memory, ELEMENT, FIFO, bits)


@numba.njit
def pop_value(store, memory):
    return fifo_pop(store, memory, ELEMENT, FIFO)


@numba.njit
def event(store, reads, needed, asynchronous):
    return fifo_event(store, FIFO, reads, needed, asynchronous)


@numba.njit
def sum_with_carry(store, a, b):
    return add_carry(store, THREAD, a, b)


@numba.njit
def mark(payload):
    return marked(payload)


def empty(wide: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Return a store with a FIFO of three values and a memory."""
    store, memory = np.zeros(600, dtype=np.int64), np.zeros(32, dtype=np.uint32)
    store[FIFO + at.Q_CAP], store[FIFO + at.Q_WIDE] = CAPACITY, wide
    store[FIFO + at.Q_PUSH_TASK], store[FIFO + at.Q_POP_TASK] = 4, 5
    return store, memory


@settings(max_examples=25)
@given(st.lists(st.one_of(st.none(), st.integers(0, 0xFFFF)), max_size=30), st.sampled_from([1, 2]))
def test_a_fifo_is_a_queue(steps: list[int | None], wide: int) -> None:
    """A number is pushed, None pops; steps on a full or an empty FIFO are left out."""
    store, memory = empty(wide)
    twin: deque[int] = deque()
    for step in steps:
        if step is None and twin:
            assert pop_value(store, memory) == twin.popleft()
        elif step is not None and len(twin) < CAPACITY:
            push_value(store, memory, step)
            twin.append(step)
        assert store[FIFO + at.Q_COUNT] == len(twin)


def test_tasks_are_activated_when_the_awaited_number_is_there() -> None:
    store, memory = empty(1)
    event(store, True, 2, 0)  # a read lacks two values
    push_value(store, memory, 1)
    assert store[ELEMENT + at.E_ACTIVE] == 0
    push_value(store, memory, 2)
    assert store[ELEMENT + at.E_ACTIVE] == 1 << 4
    push_value(store, memory, 3)
    event(store, False, 1, 0)  # a write lacks space for one
    pop_value(store, memory)
    assert store[ELEMENT + at.E_ACTIVE] == 1 << 4 | 1 << 5
    store[ELEMENT + at.E_ACTIVE] = 0
    pop_value(store, memory)  # nobody waits any more
    assert store[ELEMENT + at.E_ACTIVE] == 0


@given(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1))
def test_carries_run_through_the_halves_of_long_numbers(a: int, b: int) -> None:
    store = np.zeros(600, dtype=np.int64)
    total = 0
    for i in range(4):
        half = sum_with_carry(store, a >> 16 * i & 0xFFFF, b >> 16 * i & 0xFFFF)
        total |= int(half) << 16 * i
    assert total | int(store[THREAD + at.T_CARRY]) << 64 == a + b


def test_the_two_top_bits_say_that_a_wavelet_is_a_control_wavelet() -> None:
    assert mark(5) == 5
    assert mark(5 | at.IS_CONTROL) == 5 | 0xC0000000
