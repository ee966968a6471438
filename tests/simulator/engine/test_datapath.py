"""Words in memory and the walk of an operand through its elements, on arrays made by hand."""

import numba
import numpy as np
import pytest

from tilewright.simulator.compile import columns as at
from tilewright.simulator.engine.values.datapath import start_walk, step_position
from tilewright.simulator.engine.values.memory_words import read_word, write_word

PLACE, ROW = 100, 200


@numba.njit
def read(memory, position, wide):
    return read_word(memory, position, wide)


@numba.njit
def write(memory, position, wide, bits):
    write_word(memory, position, wide, bits)


@numba.njit
def positions(store, first, count):
    start_walk(store, PLACE, first)
    found = np.zeros(count, np.int64)
    for i in range(count):
        found[i] = store[PLACE]
        step_position(store, PLACE, ROW)
    return found


def test_halves_and_doubles_of_a_word_pair() -> None:
    memory = np.array([0x1234_ABCD, 0], dtype=np.uint32)
    assert [read(memory, 0, 1), read(memory, 1, 1), read(memory, 0, 2)] == [
        0xABCD,
        0x1234,
        0x1234_ABCD,
    ]
    write(memory, 1, 1, 0xFFFF_5678)  # the upper bits do not matter
    assert memory.tolist() == [0x5678_ABCD, 0]
    write(memory, 2, 2, 0xDEAD_BEEF)
    assert memory.tolist() == [0x5678_ABCD, 0xDEAD_BEEF]


@pytest.mark.parametrize(
    ("extents", "strides"),
    [((5,), (2,)), ((3, 2), (1, 10)), ((2, 3, 2), (4, -1, 100))],
)
def test_an_operand_visits_its_elements_in_order(
    extents: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    """Innermost dimension first; the row's strides hold the jump back to the start of a line."""
    store = np.zeros(300, dtype=np.int64)
    store[ROW + at.D_DIMENSIONS] = len(extents)
    back = 0
    for d, (extent, stride) in enumerate(zip(extents, strides, strict=True)):
        store[ROW + at.D_EXTENT + d] = extent
        store[ROW + at.D_STRIDE + d] = stride - back
        back += (extent - 1) * stride
    expected = [
        1000 + sum(i * s for i, s in zip(index[::-1], strides, strict=True))
        for index in np.ndindex(extents[::-1])
    ]
    assert positions(store, 1000, len(expected)).tolist() == expected
