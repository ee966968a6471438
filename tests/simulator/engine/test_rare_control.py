"""Rare instructions on a store made by hand: registers, paused microthreads, bound queues."""

import numba
import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.engine.rare.rare_control import bind_queue, load_register, pause

ELEMENT, ROW, OPERAND, PC, LISTS = 3000, 3100, 3200, 3300, 3500
REGISTERS, THREADS, QUEUES, BOUND = 4000, 4200, 4600, 4900


@numba.njit
def load(store, row):
    load_register(store, ELEMENT, row)


@numba.njit
def change(store, now):
    store[at.S_CYCLE] = now
    return pause(store, ELEMENT, PC)


@numba.njit
def bind(store, now):
    store[at.S_CYCLE] = now
    return bind_queue(store, ELEMENT, PC)


def prepared() -> np.ndarray:  # type: ignore[type-arg]
    store = np.zeros(6000, dtype=np.int64)
    store[at.S_LISTS], store[at.S_LISTS + 1] = LISTS, LISTS + 100
    store[at.WHEEL_AT : at.WHEEL_AT + at.WHEEL] = -1
    store[ELEMENT + at.A_WHEN] = -1
    store[ELEMENT + at.E_REGISTERS], store[ELEMENT + at.E_THREADS] = REGISTERS, THREADS
    store[ELEMENT + at.E_BOUND] = BOUND
    store[at.K_CONTROL] = 7
    return store


def test_a_load_gives_a_register_its_descriptor_and_settings() -> None:
    store = prepared()
    store[ELEMENT + at.E_MEMORY] = 1000
    store[OPERAND + at.D_KIND], store[OPERAND + at.D_BASE] = at.MEMORY, 12
    store[OPERAND + at.D_LAST] = 99
    store[ROW + at.L_REGISTER], store[ROW + at.L_ROW] = 2, OPERAND
    settings = np.arange(1, at.R_WIDTH - at.R_ASYNC + 1)
    settings[at.R_EXTRAS - at.R_ASYNC :] = 0
    settings[at.R_EXTRAS - at.R_ASYNC] = 5 + 1  # it uses extended register 5
    store[ROW + at.L_SETTINGS : ROW + at.L_SETTINGS + settings.size] = settings
    load(store, ROW)
    register = REGISTERS + 2 * at.R_WIDTH
    assert store[register + at.R_ROW] == OPERAND
    assert store[register + at.R_POSITION] == 1012
    loaded = store[register + at.R_ASYNC : register + at.R_WIDTH]
    assert loaded.tolist() == settings.tolist()
    assert store[REGISTERS + 5 * at.R_WIDTH + at.R_ROW] == 2 + 1  # who loaded it last


def test_a_load_beyond_the_buffer_is_an_error() -> None:
    store = prepared()
    store[OPERAND + at.D_KIND], store[OPERAND + at.D_BASE] = at.MEMORY, 12
    store[OPERAND + at.D_LAST] = 11
    store[ROW + at.L_ROW] = OPERAND
    load(store, ROW)
    assert store[at.S_ERROR] == at.ERROR_BOUNDS
    assert store[REGISTERS + at.R_ROW] == 0


def test_a_running_microthread_pauses_and_goes_on_in_the_next_cycle() -> None:
    store = prepared()
    thread = THREADS + 3 * at.T_WIDTH
    store[thread + at.T_STATE] = at.RUNNING
    store[PC + 1], store[PC + 2] = 3, 1
    assert change(store, 20) == 7
    assert (store[thread + at.T_STATE], store[thread + at.T_BLOCKED]) == (at.PAUSED, 1)
    store[PC + 2] = 0
    change(store, 30)
    assert (store[thread + at.T_STATE], store[thread + at.T_BLOCKED]) == (at.RUNNING, 0)
    assert store[ELEMENT + at.A_WHEN] == 31
    store[thread + at.T_STATE] = at.FREE
    store[PC + 2] = 1
    change(store, 40)
    assert (store[thread + at.T_STATE], store[thread + at.T_BLOCKED]) == (at.FREE, 1)


def test_a_queue_with_words_is_not_bound_to_another_color() -> None:
    store = prepared()
    before, after = QUEUES, QUEUES + at.F_WIDTH
    store[ELEMENT + at.E_QUEUES + 2] = before
    store[before + at.F_CAP], store[before + at.F_COUNT] = 4, 1
    store[BOUND + at.B_FIFO], store[BOUND + at.B_CAP] = after, 6
    store[after + at.F_WAITER] = -1
    store[PC + 1], store[PC + 2] = 2, 0
    bind(store, 10)
    assert store[at.S_ERROR] == at.ERROR_BIND
    assert store[ELEMENT + at.E_QUEUES + 2] == before
    store[at.S_ERROR], store[before + at.F_COUNT] = at.OK, 0
    assert bind(store, 10) == 7
    assert store[at.S_ERROR] == at.OK
    assert store[ELEMENT + at.E_QUEUES + 2] == after
    assert (store[before + at.F_CAP], store[after + at.F_CAP]) == (0, 6)
