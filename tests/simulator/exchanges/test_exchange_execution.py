"""An exchange timed without values takes what it takes on numbers."""

from __future__ import annotations

import numpy as np
import pytest
from cascades import cascade_arch, cascade_workload

from tilewright.mapper.grid.distribution import Distribution
from tilewright.simulator.exchanges.buffers import ExchangeAddresses
from tilewright.simulator.exchanges.exchange_execution import execute_exchange, time_exchange
from tilewright.simulator.lowering.number_operations import NUMPY
from tilewright.simulator.search.grid_mapping import GridRequest, cascade_of


def parts_of_numbers(held: Distribution) -> np.ndarray:
    """Parts of a tensor of the numbers from 1 on: (rows, columns, 1, values)."""
    start = held.first.min(axis=(0, 1))
    size = (held.first + np.array(held.extents, dtype=np.int64)).max(axis=(0, 1)) - start
    whole = np.arange(1, int(size.prod()) + 1).reshape(size)
    parts = np.zeros((*held.has.shape, 1, held.values))
    for place in np.ndindex(*held.has.shape):
        first = (held.first[place] - start).tolist()
        box = tuple(slice(f, f + e) for f, e in zip(first, held.extents, strict=True))
        parts[place] = whole[box].ravel()
    return parts


@pytest.mark.parametrize("cascade", ["two products", "smoothing"])
def test_time_and_energy_are_those_of_a_run_on_numbers(cascade: str) -> None:
    paths = cascade_of(cascade_arch(4, 2), cascade_workload(cascade), GridRequest())
    option = next(option for option in paths.options[1] if option.reads)
    name, needed = option.reads[0]
    compared = 0
    for place in paths.moves.places[name]:
        move = paths._move(name, place, needed, option)
        if not move.find() or move.exchange is None:
            continue
        profile, offset = move.candidates.quick.profile, 2
        timed = time_exchange(move.exchange, move.read, profile, offset)
        assert timed is not None
        held = parts_of_numbers(move.held).astype(NUMPY[move.dtype])
        addresses = ExchangeAddresses(offset, offset + 4096)
        run = execute_exchange(move.exchange, move.read, profile, addresses, held)
        assert run is not None
        assert timed == (run.latency, run.energy)
        assert run.cycles >= run.lower_bound_cycles
        compared += 1
    assert compared >= 3
