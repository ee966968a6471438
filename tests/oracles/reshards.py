"""Random distributions of a tensor over a grid of elements, and what a reshard has to give."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.exchanges.least_traffic import least_traffic
from tilewright.mapper.grid.exchanges.reshard import Reshard, reshard
from tilewright.simulator.exchanges.buffers import HELD, NEEDED, ExchangeAddresses
from tilewright.simulator.exchanges.exchange_bound import (
    least_exchange_cycles,
    phases_bound,
    program_bound,
)
from tilewright.simulator.exchanges.reshard_program import limits_of, reshard_phases
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

MARGIN = 40
NUMBERS = {"f32": np.float32, "f16": np.float16}


def along_a_line(elements: int, rank: int | None, size: int) -> Distribution:
    """A square tensor over a row of elements: one rank is shared, None: all elements have all."""
    first = np.zeros((1, elements, 2), dtype=np.int64)
    extents = [size, size]
    if rank is not None:
        extents[rank] = -(-size // elements)
        first[0, :, rank] = np.arange(elements) * extents[rank]
    return Distribution(first, tuple(extents), np.ones((1, elements), bool), shape=(size, size))


def drawn_distribution(
    rng: np.random.Generator, shape: tuple[int, ...], grid: tuple[int, int], halo: bool
) -> Distribution:
    """Each rank over X, Y, both or neither, forwards or backwards, with or without a halo."""
    row, column = np.indices(grid)
    free, first, extents = 3, [], []
    for size in shape:
        axes = int(rng.integers(0, 4)) & free
        free &= ~axes
        place, count = np.zeros(grid, dtype=np.int64), 1
        for bit, number, length in ((1, column, grid[1]), (2, row, grid[0])):
            if axes & bit:
                place, count = place * length + number, count * length
        if rng.random() < 0.3:
            place = place.max() - place
        extent = -(-size // count)
        low, high = rng.integers(0, 2, 2) if halo and rng.random() < 0.4 else (0, 0)
        first.append(place * extent - low)
        extents.append(int(extent + low + high))
    has = np.ones(grid, dtype=bool)
    return Distribution(np.stack(first, axis=2), tuple(extents), has, shape=shape)


def drawn_reshard(seed: int) -> tuple[Reshard, np.random.Generator]:
    """A tensor of up to three ranks on up to 4 x 4 elements; it may be needed by other ones."""
    rng = np.random.default_rng(seed)
    held_grid, needed_grid = (tuple(rng.integers(1, 5, 2).tolist()) for _ in range(2))
    if rng.random() < 0.8:
        needed_grid = held_grid
    shape = tuple(rng.integers(1, 9, rng.integers(1, 4)).tolist())
    held = drawn_distribution(rng, shape, held_grid, halo=False)
    needed = drawn_distribution(rng, shape, needed_grid, halo=True)
    if rng.random() < 0.3:
        held = replace(held, has=drawn_holders(rng, held))
    result = reshard("T", held, needed)
    assert result is not None
    return result, rng


def drawn_holders(rng: np.random.Generator, place: Distribution) -> np.ndarray:
    """Some of the elements with each part, at least one of them."""
    some = rng.random(place.has.shape) < 0.3
    for number in range(place.parts):
        holders = np.argwhere(place.number == number)
        some[tuple(holders[rng.integers(len(holders))])] = True
    return some


@dataclass(frozen=True)
class ReshardRun:
    """Cycles of a reshard's programs and the bounds of them, from the closest to the first."""

    cycles: int
    bounds: tuple[float, float, float]


def checked_run(case: Reshard, rng: np.random.Generator, machine: str, dtype: str) -> ReshardRun:
    """Run a reshard on numbers; compare parts and counts with what they have to be."""
    profile = load_profile(machine)
    phases = reshard_phases(case, dtype, ExchangeAddresses(0, 4096), limits_of(profile))
    assert phases is not None
    assert case.held.shape is not None
    whole = np.zeros([size + 2 * MARGIN for size in case.held.shape], NUMBERS[dtype])
    inside = tuple(slice(MARGIN, MARGIN + size) for size in case.held.shape)
    whole[inside] = rng.integers(1, 1000, case.held.shape)

    def part(place: Distribution, row: int, column: int) -> np.ndarray:
        starts = (place.first[row, column] + MARGIN).tolist()
        return whole[tuple(slice(s, s + e) for s, e in zip(starts, place.extents, strict=True))]

    held = np.full((case.rows, case.columns, *case.held.extents), 7, NUMBERS[dtype])
    needed = np.zeros((case.rows, case.columns, *case.needed.extents), NUMBERS[dtype])
    for place in np.ndindex(*case.held.has.shape):  # beyond the tensor there are any values
        held[place] = np.where(part(case.held, *place) > 0, part(case.held, *place), 7)
    cycles, counted = 0, np.zeros(3, dtype=int)
    for phase in phases:
        result = Machine(phase.program, profile).run(memory={HELD: held, NEEDED: needed})
        needed = np.asarray(result.memory[NEEDED]).reshape(needed.shape)
        cycles += result.cycles
        counts = result.counts
        memory = counts.memory_reads, counts.memory_writes
        counted += [*(sum(by.values()) for by in memory), counts.wavelet_hops]
    for place in np.ndindex(*case.needed.has.shape):
        np.testing.assert_array_equal(needed[place], part(case.needed, *place))
    assert counted.tolist() == [case.reads, case.writes, case.hops(dtype)]
    traffic = least_traffic([case.held], case.needed)
    return ReshardRun(
        cycles,
        (
            sum(program_bound(p.program, profile, p.flows) for p in phases),
            phases_bound(case, [p.flows for p in phases], dtype, profile),
            float(least_exchange_cycles(traffic, dtype, profile)[0]),
        ),
    )
