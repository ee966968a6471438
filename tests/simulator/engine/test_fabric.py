"""Queues and the time wheel on a store made by hand: latency, space, credit, waiters, order."""

import numba
import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.engine.fabric import (
    await_space,
    has_space,
    head_ready,
    leads,
    pop,
    push,
    schedule,
)

QUEUE, RING, LINK = 4096, 8192, 8300
AGENT = 6000
LISTS = 9000
CAPACITY, LATENCY, CREDIT = 2, 3, 1


@numba.njit
def push_at(store, queue, payload, now):
    store[at.S_CYCLE] = now
    push(store, queue, payload, now)


@numba.njit
def pop_at(store, queue, now):
    store[at.S_CYCLE] = now
    return pop(store, queue, now)


@numba.njit
def space_at(store, queue, now):
    return has_space(store, queue, now)


@numba.njit
def ready(store, queue):
    return head_ready(store, queue)


@numba.njit
def wait_at(store, queue, agent, now):
    store[at.S_CYCLE] = now
    await_space(store, queue, agent, now)


@numba.njit
def schedule_at(store, agent, when, now):
    store[at.S_CYCLE] = now
    schedule(store, agent, when)


@numba.njit
def best_on_link(store, queue, link, now):
    return leads(store, queue, link, now)


def store_of_one_queue() -> np.ndarray:  # type: ignore[type-arg]
    store = np.zeros(10_000, dtype=np.int64)
    store[at.S_LISTS], store[at.S_LISTS + 1] = LISTS, LISTS + 100
    store[at.WHEEL_AT : at.WHEEL_AT + at.WHEEL] = -1
    store[QUEUE + at.F_RING], store[QUEUE + at.F_CAP] = RING, CAPACITY
    store[QUEUE + at.F_LATENCY], store[QUEUE + at.F_CREDIT] = LATENCY, CREDIT
    store[QUEUE + at.F_USER], store[QUEUE + at.F_WAKE] = AGENT, 1
    store[QUEUE + at.F_WAITER] = -1
    store[RING : RING + 2 * CAPACITY : 2] = at.NEVER_USED
    for agent in (QUEUE, AGENT):
        store[agent + at.A_WHEN] = -1
    return store


def test_a_word_is_ready_after_the_latency_and_wakes_its_user() -> None:
    store = store_of_one_queue()
    push_at(store, QUEUE, 77, 10)
    assert store[QUEUE + at.F_COUNT] == 1
    assert ready(store, QUEUE) == 10 + LATENCY
    assert store[AGENT + at.A_WHEN] == 10 + LATENCY
    assert pop_at(store, QUEUE, 13) == 77
    assert store[QUEUE + at.F_COUNT] == 0
    assert (store[QUEUE + at.F_POPPED], store[QUEUE + at.F_POPS]) == (13, 1)


def test_a_slot_is_free_a_credit_after_its_word_left() -> None:
    store = store_of_one_queue()
    push_at(store, QUEUE, 1, 10)
    push_at(store, QUEUE, 2, 11)
    assert not space_at(store, QUEUE, 20)
    assert [pop_at(store, QUEUE, 20)] == [1]
    assert not space_at(store, QUEUE, 20)
    assert space_at(store, QUEUE, 21)


def test_the_waiter_for_space_is_woken_with_the_credit() -> None:
    store = store_of_one_queue()
    push_at(store, QUEUE, 1, 10)
    push_at(store, QUEUE, 2, 11)
    other = AGENT + 500
    store[other + at.A_WHEN] = -1
    wait_at(store, QUEUE, other, 12)
    assert store[QUEUE + at.F_WAITER] == other
    pop_at(store, QUEUE, 15)
    assert store[QUEUE + at.F_WAITER] == -1
    assert store[other + at.A_WHEN] == 15 + CREDIT


def test_agents_of_the_next_cycle_are_listed_and_the_others_are_in_the_wheel() -> None:
    store = store_of_one_queue()
    schedule_at(store, AGENT, 11, 10)
    assert store[at.S_LISTED + 1] == 1
    assert store[LISTS + 100] == AGENT
    later = AGENT + 500
    store[later + at.A_WHEN] = -1
    schedule_at(store, later, 40, 10)
    assert store[at.WHEEL_AT + 40] == later
    assert store[at.S_AGENTS] == 1
    schedule_at(store, later, 50, 10)  # due earlier already
    assert store[later + at.A_WHEN] == 40
    schedule_at(store, later, 20, 10)  # earlier: it moves
    assert (store[at.WHEEL_AT + 40], store[at.WHEEL_AT + 20]) == (-1, later)


def test_the_queue_served_longest_ago_leads_then_the_lower_color() -> None:
    store = store_of_one_queue()
    rival = QUEUE + 500
    assert best_on_link(store, QUEUE, LINK, 5)  # no bid in cycle 5 yet
    store[LINK], store[LINK + 1] = 5, rival
    store[QUEUE + at.F_POPPED], store[rival + at.F_POPPED] = 3, 4
    assert best_on_link(store, QUEUE, LINK, 5)
    store[QUEUE + at.F_POPPED] = 4
    store[QUEUE + at.F_COLOR], store[rival + at.F_COLOR] = 2, 1
    assert not best_on_link(store, QUEUE, LINK, 5)
    store[rival + at.F_COLOR] = 2
    assert best_on_link(store, QUEUE, LINK, 5)  # the lower address
