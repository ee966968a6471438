"""Count the points of a template that fit its memories, with arrays over the lattice."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.mapper.mapspace.counting.count_fitting_walked import tight
from tilewright.mapper.mapspace.lattice_steps import chains_below
from tilewright.mapper.mapspace.points import EXACT, Points
from tilewright.mapper.templates.slots import Reservation

_Tables = dict[tuple[float, ...], Any]  # bits in use per memory -> chains to each state


def count_fitting(points: Points, limit: int) -> tuple[int | None, int]:
    """Count the points of a template that fit its memories, by arrays over all divisor tiles.

    A point gives a tile to each slot of the template. Result: (exact number or None, steps); None
    as soon as more than `limit` steps, each one entry of an array, were needed. Goes from the
    outermost slot down with one array per amount of bits in use; `walk_fitting` is the slow twin.
    A template is a mapping without its loops.
    """
    total, steps = 0, 0
    for fixed in points.with_chosen_lanes():
        count, work, exact = _counted(fixed, limit - steps, np.float64)
        if not exact:
            count, _, _ = _counted(fixed, limit - steps, object)
        steps += work
        if count is None:
            return None, steps
        total += count
    return total, steps


def _counted(points: Points, limit: int, kind: type) -> tuple[int | None, int, bool]:
    """Count the fitting points with numbers of one kind: float64 or Python integers.

    Return (number, steps, whether float64 holds all numbers exactly); the number is None beyond
    `limit` steps.
    """
    lasts, lattice = tight(points), points.lattice
    end = max(lasts.values(), default=-1) + 1
    start: Any = np.zeros(lattice.size, kind)
    start[-1] = 1
    tables: _Tables = {(0.0,) * len(points.memories): start}
    steps, largest = 0, 1
    for index, slot in enumerate(points.slots[:end]):
        admitted = points.admitted(index)
        if admitted is not None:
            tables = {used: np.where(admitted, table, 0) for used, table in tables.items()}
        if isinstance(slot, Reservation) and lasts.get(slot.component, -1) >= index:
            tables = _reserved(points, slot, tables, lasts[slot.component] == index)
        tables = {used: chains_below(lattice, slot, table) for used, table in tables.items()}
        largest = max([largest, *(int(table.max()) for table in tables.values())])
        steps += len(tables) * lattice.size
        if steps > limit:
            return None, steps, True
    ahead = points.completions_by_state(end)
    total = sum(int((table * ahead).sum()) for table in tables.values())
    return total, steps, max(largest, total) < EXACT


def _reserved(points: Points, slot: Reservation, tables: _Tables, last: bool) -> _Tables:
    """Return the counts below a reservation, as one array over states per amount of bits in use.

    States in which the tile does not fit become 0. `last`: no later reservation uses the memory, so
    that its bits need not be told apart.
    """
    memory, capacity = points.memories.index(slot.component), points.problem.capacity_bits(slot)
    access = points.problem.einsum.access(slot.tensor)
    bits = points.lattice.occupancy(access, dict(slot.lanes)) * points.problem.value_bits(slot)
    reserved: _Tables = {}
    for used, table in tables.items():
        needed = used[memory] + bits
        fits = (needed <= capacity) & (table > 0)
        for amount in (0.0,) if last else np.unique(needed[fits]).tolist():
            counts = np.where(fits if last else fits & (needed == amount), table, 0)
            key = (*used[:memory], amount, *used[memory + 1 :])
            reserved[key] = reserved[key] + counts if key in reserved else counts
    return reserved
