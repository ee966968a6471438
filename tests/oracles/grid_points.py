"""The points of an iteration space as the elements of a grid reach them, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np
from grid_mappings import random_space_time

from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.mapper.mapping.mapping import Spatial
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.isa.index_expression import Index
from tilewright.simulator.lowering.plan import Plan, plan_of

Place = tuple[int, int]


def random_plan(seed: int) -> Plan | None:
    """The plan of a random mapping; None if the mapping is not on the grid or does not fit."""
    try:
        return plan_of(random_space_time(seed)[1])
    except InfeasibleMapping:
        return None


@cache
def plans(first: int, number: int) -> tuple[tuple[int, Plan], ...]:
    """The first `number` random plans from a seed on, each with its seed."""
    result: list[tuple[int, Plan]] = []
    seed = first
    while len(result) < number:
        plan = random_plan(seed)
        if plan is not None:
            result.append((seed, plan))
        seed += 1
    return tuple(result)


def shares(read: SpaceTime) -> dict[Place, dict[str, int]]:
    """The first value of each rank variable in the share of each element (row, column).

    Read from the nodes of the mapping: along an axis the outermost loop moves slowest.
    """
    tile = dict(read.einsum.bounds)
    starts: dict[str, list[dict[str, int]]] = {axis: [dict.fromkeys(tile, 0)] for axis in "XY"}
    for node in read.mapping.nodes:
        if isinstance(node, Spatial):
            name, size = node.rank_variable, node.tile_shape
            starts[node.name] = [
                {**start, name: start[name] + number * size}
                for start in starts[node.name]
                for number in range(tile[name] // size)
            ]
            tile[name] = size
    return {
        (row, column): {name: y[name] + x[name] for name in tile}
        for row, y in enumerate(starts["Y"])
        for column, x in enumerate(starts["X"])
    }


def turns(read: SpaceTime) -> Iterator[tuple[int, ...]]:
    """The turns of all loops in time, in the order in which an element runs them."""
    yield from product(*(range(loop.count) for loop in read.time))


def point(read: SpaceTime, share: dict[str, int], turn: tuple[int, ...]) -> dict[str, int]:
    """The value of each rank variable at some turns of the loops, for an element's share."""
    values = dict(share)
    for loop, number in zip(read.time, turn, strict=True):
        values[loop.variable] += number * loop.tile
    return values


def index(tensor: HeldTensor, values: dict[str, int]) -> tuple[int, ...]:
    """The index of a tensor's value at a point."""
    return tuple(
        form.constant + sum(factor * values[name] for name, factor in form.terms)
        for _, form in tensor.access.projection
    )


def visit(read: SpaceTime, tensor: HeldTensor, turn: tuple[int, ...]) -> int:
    """The number of the tile of a tensor that an element works on, from 0 on."""
    number = 0
    for loop, digit in zip(read.time[: tensor.depth], turn, strict=False):
        number = number * loop.count + digit
    return number


def element(plan: Plan, tensor: str, turn: tuple[int, ...]) -> int:
    """The element of a tensor's tile that the loops of the work reach at some turns."""
    turned = {number: Index(digit) for number, digit in enumerate(turn)}
    offset = plan.layouts[tensor].element(turned)
    assert not offset.terms
    return offset.constant


def numbered(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """An array that has another value at each place (below 2048, so that f16 has them all)."""
    kind = np.float32 if dtype == "f32" else np.float16
    return (1 + np.arange(int(np.prod(shape)))).reshape(shape).astype(kind)
