"""The program of an exchange of halos, run on numbers on both machines."""

import numpy as np
import pytest
from explore import at_night

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.exchanges.halo import HaloExchange, halo_exchange
from tilewright.simulator.exchanges.buffers import HELD, NEEDED, ExchangeAddresses
from tilewright.simulator.exchanges.exchange_execution import parts_of
from tilewright.simulator.exchanges.halo_program import halo_program
from tilewright.simulator.fast.fast_machine import run_fast
from tilewright.simulator.profiles.profile import load_profile


def drawn(seed: int) -> HaloExchange:
    """A tensor of three ranks over the rows, over the columns and whole, with any halos."""
    rng = np.random.default_rng(seed)
    elements = tuple(rng.integers(1, 5, size=2).tolist())
    extents = (*rng.integers(1, 4, size=2).tolist(), int(rng.integers(1, 5)))
    low, high = rng.integers(0, 5, size=(2, 3))
    high[0] += not (low.any() or high.any())
    row, column = np.indices(elements)
    first = np.stack([row * extents[0], column * extents[1], 0 * row], axis=2)
    has = np.ones(elements, dtype=bool)
    whole = tuple((np.array(extents) + low + high).tolist())
    exchange = halo_exchange(
        "A", Distribution(first, extents, has), Distribution(first - low, whole, has)
    )
    assert exchange is not None
    return exchange


@pytest.mark.parametrize("seed", [*range(6), *at_night(*range(6, 12))])
def test_boxes_and_counts_are_those_of_the_exchange(seed: int) -> None:
    exchange, dtype = drawn(seed), ("f32", "f16")[seed % 2]
    numbers = {"f32": np.float32, "f16": np.float16}[dtype]
    shape = (exchange.rows, exchange.columns, *exchange.held.extents)
    values = np.random.default_rng(seed).standard_normal(shape).astype(numbers)
    program = halo_program(exchange, dtype, ExchangeAddresses(0, 2048))
    assert program is not None
    machine = ("wse2-sdk-sim", "wse3-sdk-sim")[seed // 2 % 2]
    result = run_fast(program, load_profile(machine), {HELD: values}).result
    boxes = np.asarray(result.memory[NEEDED]).reshape(*shape[:2], *exchange.needed.extents)
    np.testing.assert_array_equal(boxes, parts_of(exchange, values))
    counts = result.counts
    assert sum(counts.memory_reads.values()) == exchange.reads
    assert sum(counts.memory_writes.values()) == exchange.writes
    assert counts.wavelet_hops == exchange.hops(dtype)


def test_boxes_are_cut_from_the_whole_tensor() -> None:
    """Twin of the program: numbers 0 to 5 over 3 elements of a row, a halo of 1."""
    first = np.array([[[0], [2], [4]]])
    has = np.ones((1, 3), dtype=bool)
    exchange = halo_exchange(
        "A", Distribution(first, (2,), has), Distribution(first - 1, (4,), has)
    )
    assert exchange is not None
    boxes = parts_of(exchange, np.arange(1.0, 7.0).reshape(1, 3, 2))
    assert boxes[0].tolist() == [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 0]]
