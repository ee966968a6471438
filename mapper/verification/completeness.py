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
interval, because the indices are affine (_positions_of_writer). Intervals may be larger than what
is touched where an index has several variables or factors; then a mapping may be refused that is
right, never the other way.

Example: `D[m] = X[m, n]`, then `A[m, n] = X[m, n] * D[m]`, below a loop over n with D held above
it. A value of D is touched by W in every turn of the loop (n is not in D's index), by R too: W's
last turn comes after R's first. The mapping does not compute A.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.mapper.verification.einsum_schedule import (
    EinsumSchedule,
    ScheduledHolder,
    ScheduledLoop,
    common_loops,
    turning_above,
)
from tilewright.mapper.verification.tile_intervals import Positions, Tiles, cut_by, whole_range
from tilewright.mapper.verification.violation import Violation
from tilewright.mapper.workload.einsum import Affine, Einsum, TensorAccess
from tilewright.mapper.workload.workload import Workload


class _Intervals(NamedTuple):
    """Intervals of positions, one per tile; empty where `lowest` exceeds `highest`."""

    lowest: Positions
    highest: Positions

    @property
    def empty(self) -> npt.NDArray[np.bool_]:
        """Whether each interval is empty."""
        return self.lowest > self.highest

    def first_and_last(self, tiles: Tiles) -> tuple[Positions, Positions]:
        """Return the first and the last tile with a position in each; 1 and 0 of an empty one."""
        first = tiles.tile_at(np.maximum(self.lowest, 0))
        last = tiles.tile_at(np.maximum(self.highest, 0))
        return np.where(self.empty, 1, first), np.where(self.empty, 0, last)


@dataclass(frozen=True, slots=True)
class _Handover:
    """A tensor that one Einsum writes and a later one reads, with the loops around both.

    `written`, `read`: its accesses; `holder`: the outermost one of the writer; the bounds are those
    of the rank variables of both.
    """

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
    einsums = [workload.einsum(schedule.einsum) for schedule in schedules]
    writer_of = {access.tensor: einsum.name for einsum in einsums for access in einsum.outputs}
    for schedule, einsum in zip(schedules, einsums, strict=True):
        for read in einsum.inputs:
            if read.tensor in writers:
                yield from _exchange_violations(writers[read.tensor], schedule, read, workload)
            elif read.tensor in writer_of:
                yield _never_written(schedule, read.tensor, writer_of[read.tensor])
        for written in einsum.outputs:
            writers[written.tensor] = schedule
            yield from _partial_sum_violations(schedule, written, einsum.bounds)
    yield from _unread_violations(einsums, writers)


def _unread_violations(
    einsums: Sequence[Einsum], writers: Mapping[str, EinsumSchedule]
) -> Iterator[Violation]:
    """Yield the violations of results: tensors that no Einsum reads."""
    tensors_read = {access.tensor for einsum in einsums for access in einsum.inputs}
    for einsum in einsums:
        for written in einsum.outputs:
            if written.tensor not in tensors_read:
                yield from _lost_result_violations(writers, written, einsum.bounds)


def _never_written(reader: EinsumSchedule, tensor: str, writer: str) -> Violation:
    return Violation(
        "complete before read",
        f"Einsum {reader.einsum} runs before Einsum {writer}, which writes {tensor}",
        f"the branch of {writer} before that of {reader}",
    )


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
    written = next(access for access in writing.outputs if access.tensor == tensor)
    bounds = writing.bounds, reading.bounds
    exchange = _Handover(tensor, writer, reader, written, read, source, *bounds)
    violations = (_violation_at(exchange, depth) for depth in range(exchange.loops_shared))
    yield from islice(filter(None, violations), 1)  # the first one


def _violation_at(exchange: _Handover, depth: int) -> Violation | None:
    """Return what is wrong with pairs of points that differ first in the loop at `depth`.

    None if nothing is.
    """
    writer_loop, reader_loop = exchange.writer.loops[depth], exchange.reader.loops[depth]
    reader_bound = exchange.reader_bounds.get(reader_loop.variable, 1)
    turns = _turns_at(exchange, depth)
    positions = _positions_of_writer(
        exchange, writer_loop.variable, reader_loop.variable, turns.reader_tiles
    )
    first, last = turns.of_writer(positions)
    touched = (first <= last) & (turns.reader_tiles.starts < reader_bound)
    if np.any(touched & (last > turns.of_reader)):
        return _too_early(exchange, writer_loop, reader_loop)
    above_holder = depth < exchange.holder.loops_above
    if (above_holder or writer_loop.is_spatial) and np.any(touched & (first < turns.of_reader)):
        return _lost(exchange, reader_loop)
    return None


def _loops_over_same(schedule: EinsumSchedule, depth: int) -> list[ScheduledLoop]:
    """Return the loops down to `depth` over the variable of the loop there."""
    variable = schedule.loops[depth].variable
    return [loop for loop in schedule.loops[: depth + 1] if loop.variable == variable]


def _turns_at(exchange: _Handover, depth: int) -> _SameLoops | _OtherLoops:
    """Return the turns of the loop at `depth`, as the reader and as the writer count them.

    Both have the same loops over the variable, unless a loop further out is over this variable
    for one of them and over another one for the other.
    """
    written = _loops_over_same(exchange.writer, depth)
    read = _loops_over_same(exchange.reader, depth)
    writer_bound = exchange.writer_bounds.get(written[-1].variable, 1)
    reader_bound = exchange.reader_bounds.get(read[-1].variable, 1)
    if [loop.node for loop in written] == [loop.node for loop in read]:
        bound = max(writer_bound, reader_bound)
        levels = [whole_range(bound), *cut_by(bound, read)]
        return _SameLoops(levels[-2], levels[-1], writer_bound)
    reader_tiles = cut_by(reader_bound, read)[-1]
    return _OtherLoops(reader_tiles, cut_by(writer_bound, written)[-1], writer_bound)


@dataclass(frozen=True, slots=True)
class _SameLoops:
    """Tiles of a shared loop, which both Einsums cut out of the same tiles `above`.

    `reader_tiles`: of the reader's variable; `writer_bound`: of the writer's.
    """

    above: Tiles
    reader_tiles: Tiles
    writer_bound: int

    @property
    def of_reader(self) -> Positions:
        """The number of each of the reader's tiles."""
        return np.arange(len(self.reader_tiles.starts))

    def of_writer(self, positions: _Intervals) -> tuple[Positions, Positions]:
        """Return the first and the last tile with a position in each interval.

        Only tiles of the same turn of all outer loops count: a pair that differs further out is
        judged there. If there is none, the first comes after the last.
        """
        tiles = self.reader_tiles
        lowest = np.maximum(positions.lowest, self.above.starts[tiles.outer])
        highest = np.minimum(positions.highest, self.above.ends[tiles.outer] - 1)
        inside = _Intervals(lowest, np.minimum(highest, self.writer_bound - 1))
        return inside.first_and_last(tiles)


@dataclass(frozen=True, slots=True)
class _OtherLoops:
    """Tiles of a shared loop that the two Einsums cut out of different tiles.

    `writer_bound`: of the writer's variable. Only turns since the outer loops began their turn are
    compared, and the writer is taken to be in any turn if outer loops cut its tiles.
    """

    reader_tiles: Tiles
    writer_tiles: Tiles
    writer_bound: int

    @property
    def of_reader(self) -> Positions:
        """The turn of each of the reader's tiles."""
        return self.reader_tiles.turns

    def of_writer(self, positions: _Intervals) -> tuple[Positions, Positions]:
        """Return the first and the last turn with a position in each interval.

        1 and 0 for an empty interval. All turns, from 0 on, if the loop starts anew in several
        outer tiles.
        """
        tiles = self.writer_tiles
        lowest = np.maximum(positions.lowest, 0)
        inside = _Intervals(lowest, np.minimum(positions.highest, self.writer_bound - 1))
        if tiles.outer[-1] == 0:
            return inside.first_and_last(tiles)
        return np.where(inside.empty, 1, 0), np.where(inside.empty, 0, np.max(tiles.turns))


def _positions_of_writer(
    exchange: _Handover, writer_variable: str, reader_variable: str, tiles: Tiles
) -> _Intervals:
    """Return, per tile of the reader's loop, an interval of positions of the writer's variable.

    It contains all positions at which the writer touches a value that the reader touches in that
    tile.
    """
    bound = exchange.writer_bounds.get(writer_variable, 1)
    lowest = np.zeros(len(tiles.starts), dtype=np.int64)
    highest = np.full(len(tiles.starts), bound - 1, dtype=np.int64)
    forms_read = dict(exchange.read.projection)
    for rank, written in exchange.written.projection:
        read = forms_read[rank]
        factor = dict(written.terms).get(writer_variable)
        if factor is None:
            continue
        values = _read_interval(read, reader_variable, tiles, exchange.reader_bounds)
        low, high = _solved(written, writer_variable, factor, values, exchange.writer_bounds)
        lowest, highest = np.maximum(lowest, low), np.minimum(highest, high)
    return _Intervals(lowest, highest)


def _read_interval(
    form: Affine, variable: str, tiles: Tiles, bounds: Mapping[str, int]
) -> _Intervals:
    """Return, per tile of a variable, the least and the greatest value of an index expression."""
    low = np.full(len(tiles.starts), form.constant, dtype=np.int64)
    high = low.copy()
    for name, factor in form.terms:
        if name == variable:
            last = np.minimum(tiles.ends, bounds[name]) - 1
            ends = factor * tiles.starts, factor * last
        else:
            zero = np.zeros_like(low)
            ends = zero, zero + factor * (bounds[name] - 1)
        low += np.minimum(*ends)
        high += np.maximum(*ends)
    return _Intervals(low, high)


def _solved(
    form: Affine, variable: str, factor: int, values: _Intervals, bounds: Mapping[str, int]
) -> _Intervals:
    """Return the positions of a variable at which an index may take a value of an interval.

    `factor`: of the variable in `form`; other variables have any value within `bounds`.
    """
    others = [(name, other) for name, other in form.terms if name != variable]
    least = form.constant + sum(min(0, other * (bounds[name] - 1)) for name, other in others)
    most = form.constant + sum(max(0, other * (bounds[name] - 1)) for name, other in others)
    low, high = values.lowest - most, values.highest - least  # factor * position lies between
    if factor > 0:
        return _Intervals(-(-low // factor), high // factor)
    return _Intervals(-(high // -factor), -low // -factor)


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
    loops = turning_above(holder, schedule, bounds)
    loop = next((loop for loop in loops if not _is_indexed(written, loop.variable)), None)
    if loop is not None:
        yield Violation(
            "sums joined" if loop.is_spatial else "held until read",
            f"{written.tensor} is held below a loop over {loop.variable}, so that no tile has "
            f"the whole sums of Einsum {schedule.einsum}",
            f"hold {written.tensor} above the loop over {loop.variable}",
            loop.node,
        )


def _is_indexed(access: TensorAccess, variable: str) -> bool:
    """Tell whether a rank of a tensor is indexed by this variable alone."""
    return any(form.is_single and form.terms[0][0] == variable for _, form in access.projection)


def _lost_result_violations(
    writers: Mapping[str, EinsumSchedule], written: TensorAccess, bounds: Mapping[str, int]
) -> Iterator[Violation]:
    """Yield a violation if a result of the workload is not whole in its outermost holder."""
    schedule = writers[written.tensor]
    holder = schedule.outermost_holder(written.tensor)
    if holder is None:
        yield Violation(
            "held until read",
            f"nothing holds {written.tensor}, the result of Einsum {schedule.einsum}",
            f"a Storage node for {written.tensor} above all loops",
        )
        return
    loops = turning_above(holder, schedule, bounds)
    loop = next((loop for loop in loops if not loop.is_spatial), None)
    if loop is not None:
        yield Violation(
            "held until read",
            f"{written.tensor}, a result of the workload, is held below a loop over "
            f"{loop.variable}: when the loop ends, only its last tile is there",
            f"hold {written.tensor} above the loop over {loop.variable}",
            loop.node,
        )


def _too_early(
    exchange: _Handover, writer_loop: ScheduledLoop, reader_loop: ScheduledLoop
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


def _lost(exchange: _Handover, loop: ScheduledLoop) -> Violation:
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
