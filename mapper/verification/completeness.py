"""Every read of an intermediate tensor finds a value that is complete and still held.

Writer W and reader R of tensor T share the loops l_1, l_2, … above the Sequential at which they
separate. A point of W runs in the turns (j_1, j_2, …) of these loops, a point of R in (i_1, i_2,
…). For each pair of points that touch the same value of T, take the first loop in which the turns
differ. The read is right iff one of these holds:

- no turn differs, and W's branch comes first;
- the loop is temporal, it stands below the outermost holder of T, and W's turn comes first.

If the loop is above T's outermost holder, the turn of the writer has filled a tile that is gone. If
it is spatial, another lane has the value, or writes it at the same time.

The pairs are not listed. A loop cuts the positions of its variable into tiles (tile_intervals.py),
and the tile number grows with the position. So for each tile of R's loop it is enough to look at
the least and the greatest position of W's variable that touches a value that R reads there: an
interval, because the indices are affine (indices_of_writer). Intervals may be larger than what is
touched where an index has several variables or factors; then a mapping may be refused that is
right, never the other way.

Example: `D[m] = X[m, n]`, then `A[m, n] = X[m, n] * D[m]`, below a loop over n with D held above
it. A value of D is touched by W in every turn of the loop (n is not in D's index), by R too: W's
last turn comes after R's first. The mapping does not compute A.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.mapper.verification.einsum_schedule import (
    EinsumSchedule,
    ScheduledHolder,
    ScheduledLoop,
    common_loops,
)
from tilewright.mapper.verification.tile_intervals import Positions, Tiles, cut_by
from tilewright.mapper.verification.violation import Violation
from tilewright.mapper.workload.einsum import Affine, TensorAccess
from tilewright.mapper.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A tensor that one Einsum writes and a later one reads, with the loops around both."""

    tensor: str
    writer: EinsumSchedule
    reader: EinsumSchedule
    written: TensorAccess
    read: TensorAccess
    holder: ScheduledHolder
    writer_bounds: Mapping[str, int]
    reader_bounds: Mapping[str, int]

    @property
    def loops_shared(self) -> int:
        return common_loops(self.writer, self.reader)


def completeness_violations(
    schedules: tuple[EinsumSchedule, ...], workload: Workload
) -> Iterator[Violation]:
    """Yield a violation for each tensor of which a reader may find a wrong or no value."""
    writers: dict[str, EinsumSchedule] = {}
    for schedule in schedules:
        einsum = workload.einsum(schedule.einsum)
        for read in einsum.inputs:
            if read.tensor in writers:
                yield from _exchange_violations(writers[read.tensor], schedule, read, workload)
        for written in einsum.outputs:
            writers[written.tensor] = schedule
            yield from _partial_sum_violations(schedule, written, einsum.bounds)


def _exchange_violations(
    writer: EinsumSchedule, reader: EinsumSchedule, read: TensorAccess, workload: Workload
) -> Iterator[Violation]:
    tensor = read.tensor
    source, destination = writer.outermost_holder(tensor), reader.outermost_holder(tensor)
    if source is None or destination is None or source.node != destination.node:
        yield Violation(
            "held until read",
            f"Einsum {reader.einsum} reads {tensor}, which {writer.einsum} has left in another "
            "Storage node",
            f"hold {tensor} in one Storage node above both",
            -1 if destination is None else destination.node,
        )
        return
    writing, reading = workload.einsum(writer.einsum), workload.einsum(reader.einsum)
    exchange = _Exchange(
        tensor,
        writer,
        reader,
        writing.access(tensor) if writing.access(tensor).output else _output(writing.outputs, tensor),
        read,
        source,
        writing.bounds,
        reading.bounds,
    )
    for depth in range(exchange.loops_shared):
        violation = _violation_at(exchange, depth)
        if violation is not None:
            yield violation
            return


def _output(outputs: tuple[TensorAccess, ...], tensor: str) -> TensorAccess:
    return next(access for access in outputs if access.tensor == tensor)


def _violation_at(exchange: _Exchange, depth: int) -> Violation | None:
    """Return what is wrong with pairs of points that differ first in the loop at `depth`."""
    writer_loop, reader_loop = exchange.writer.loops[depth], exchange.reader.loops[depth]
    level = _levels_of(exchange.reader, exchange.reader_bounds, depth)
    turns = _Turns(level, exchange.writer_bounds.get(writer_loop.variable, 1))
    positions = _positions_of_writer(exchange, writer_loop.variable, reader_loop.variable, level[-1])
    first, last = turns.of_writer(positions)
    here = np.arange(len(first))
    touched = first <= last
    if np.any(touched & (last > here)):
        return _too_early(exchange, writer_loop, reader_loop)
    above_holder = depth < exchange.holder.loops_above
    if (above_holder or writer_loop.is_spatial) and np.any(touched & (first < here)):
        return _lost(exchange, reader_loop)
    return None


def _levels_of(
    schedule: EinsumSchedule, bounds: Mapping[str, int], depth: int
) -> tuple[Tiles, Tiles]:
    """Return the tiles of a loop's variable above the loop at `depth`, and below it."""
    variable = schedule.loops[depth].variable
    loops = [loop for loop in schedule.loops[: depth + 1] if loop.variable == variable]
    bound = bounds.get(variable, 1)
    below = cut_by(bound, loops)
    above = cut_by(bound, loops[:-1])
    whole = np.zeros(1, dtype=np.int64)
    return (above[-1] if above else Tiles(whole, np.full(1, bound), whole)), below[-1]


@dataclass(frozen=True, slots=True)
class _Turns:
    """Which turns of a shared loop touch given positions of the writer's variable."""

    level: tuple[Tiles, Tiles]
    writer_bound: int

    def of_writer(self, positions: tuple[Positions, Positions]) -> tuple[Positions, Positions]:
        """Return the first and the last tile with a position in each interval.

        Only tiles of the same turn of all outer loops count: a pair that differs further out is
        judged there. Tiles before the first or after the last mean that there is none.
        """
        above, below = self.level
        lowest = np.maximum(positions[0], above.starts[below.outer])
        highest = np.minimum(positions[1], above.ends[below.outer] - 1)
        highest = np.minimum(highest, self.writer_bound - 1)
        empty = lowest > highest
        first = below.tile_at(np.maximum(lowest, 0))
        last = below.tile_at(np.maximum(highest, 0))
        return np.where(empty, 1, first), np.where(empty, 0, last)


def _positions_of_writer(
    exchange: _Exchange, writer_variable: str, reader_variable: str, tiles: Tiles
) -> tuple[Positions, Positions]:
    """Return, per tile of the reader's loop, the least and the greatest position of the writer's
    variable that touches a value that the reader touches in that tile."""
    bound = exchange.writer_bounds.get(writer_variable, 1)
    lowest = np.zeros(len(tiles.starts), dtype=np.int64)
    highest = np.full(len(tiles.starts), bound - 1, dtype=np.int64)
    for (_, written), (_, read) in zip(
        exchange.written.projection, exchange.read.projection, strict=True
    ):
        factor = dict(written.terms).get(writer_variable)
        if factor is None:
            continue
        values = _read_interval(read, reader_variable, tiles, exchange.reader_bounds)
        low, high = _solved(written, writer_variable, factor, values, exchange.writer_bounds)
        lowest, highest = np.maximum(lowest, low), np.minimum(highest, high)
    return lowest, highest


def _read_interval(
    form: Affine, variable: str, tiles: Tiles, bounds: Mapping[str, int]
) -> tuple[Positions, Positions]:
    """Return the least and the greatest index that a form takes in each tile of a variable."""
    low = np.full(len(tiles.starts), form.constant, dtype=np.int64)
    high = low.copy()
    for name, factor in form.terms:
        if name == variable:
            ends = factor * tiles.starts, factor * (tiles.ends - 1)
        else:
            zero = np.zeros_like(low)
            ends = zero, zero + factor * (bounds[name] - 1)
        low += np.minimum(*ends)
        high += np.maximum(*ends)
    return low, high


def _solved(
    form: Affine,
    variable: str,
    factor: int,
    values: tuple[Positions, Positions],
    bounds: Mapping[str, int],
) -> tuple[Positions, Positions]:
    """Return the positions of a variable at which a form can take a value of an interval."""
    others = [(name, other) for name, other in form.terms if name != variable]
    least = form.constant + sum(min(0, other * (bounds[name] - 1)) for name, other in others)
    most = form.constant + sum(max(0, other * (bounds[name] - 1)) for name, other in others)
    low, high = values[0] - most, values[1] - least  # factor * position lies in this interval
    if factor > 0:
        return -(-low // factor), high // factor
    return -(high // -factor), -low // -factor


def _partial_sum_violations(
    schedule: EinsumSchedule, written: TensorAccess, bounds: Mapping[str, int]
) -> Iterator[Violation]:
    """Yield a violation if a value of an output is summed up in several tiles that do not meet.

    A loop above the outermost holder whose variable is not in the output's index gives each turn a
    tile of its own, with a part of each sum. Neither is a tile of a temporal loop there when the
    next turn has begun: so the tensor is not whole anywhere at the end.
    """
    holder = schedule.outermost_holder(written.tensor)
    if holder is None:
        return
    for loop in schedule.loops[: holder.loops_above]:
        alone = any(
            form.is_single and form.terms[0][0] == loop.variable for _, form in written.projection
        )
        if not alone and loop.tile < bounds.get(loop.variable, 1):
            yield Violation(
                "held until read",
                f"{written.tensor} is held below a loop over {loop.variable}, so that no tile has "
                f"the whole sums of Einsum {schedule.einsum}",
                f"hold {written.tensor} above the loop over {loop.variable}",
                loop.node,
            )


def _too_early(
    exchange: _Exchange, writer_loop: ScheduledLoop, reader_loop: ScheduledLoop
) -> Violation:
    tensor, writer, reader = exchange.tensor, exchange.writer.einsum, exchange.reader.einsum
    variable = reader_loop.variable
    summed = writer_loop.variable not in exchange.written.rank_variables
    cause = (
        f", which {writer} sums over"
        if summed
        else f": a turn of {reader} reads values of {tensor} that {writer} writes in a later turn"
    )
    return Violation(
        "complete before read",
        f"Einsum {reader} reads {tensor} before Einsum {writer} has completed it: both stand "
        f"below a loop over {variable}{cause}",
        f"separate {writer} and {reader} above the loop over {variable}",
        reader_loop.node,
    )


def _lost(exchange: _Exchange, loop: ScheduledLoop) -> Violation:
    tensor, writer, reader = exchange.tensor, exchange.writer.einsum, exchange.reader.einsum
    where = (
        "another lane of the spatial loop"
        if loop.is_spatial
        else f"an earlier turn of the loop above [{exchange.holder.component}] {tensor}"
    )
    return Violation(
        "held until read",
        f"Einsum {reader} reads values of {tensor} that Einsum {writer} writes in {where} over "
        f"{loop.variable}: they are not in the tile of this turn",
        f"hold {tensor} above the loop over {loop.variable}",
        loop.node,
    )
