"""The proof that guessed times are those of the large grid (theory/engines.md §11).

The conditions of a unit are maxima of other units' times plus constants. On the large grid the
unit stands for all its copies, at every period of its blocks. At both ends of the blocks all
conditions are evaluated. Between them, seen from the unit, the times that it waits for move one way
only, so a condition that holds at both ends holds between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.fast.fast_entries import solve
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.proofs.certificate import (
    check_links,
    check_threads,
    intervals,
    link_pairs,
    units_of,
)
from tilewright.simulator.fast.proofs.main_spans import check_slots
from tilewright.simulator.fast.units import graph as at
from tilewright.simulator.fast.units.graph import FOREVER, SOLVED, Ints, Times, UnitGraph
from tilewright.simulator.fast.walk.script import COMPLETE, ORIGIN
from tilewright.simulator.quotient.affine_times import (
    CORNERS,
    NOT_AFFINE,
    READY,
    START,
    WORDS,
    AffineTimes,
    Corner,
    checked_lines,
)
from tilewright.simulator.quotient.line_blocks import KEPT_PERIODS

Bools = npt.NDArray[np.bool_]
LATE = FOREVER


def prove(guess: AffineTimes) -> tuple[Times, ...]:
    """Prove the guessed times of a large grid; return the small grid's times at its four corners.

    Raises NotCovered if a condition does not hold, or may not hold between the corners.
    """
    _check_between(guess)
    corners = tuple(_solved_at(guess, corner) for corner in CORNERS)
    timed = guess.small.timed
    for times in corners:
        check_threads(timed.layout, times, timed.scripts)
        check_slots(timed.graph, timed.layout, times, timed.scripts)
        check_links(timed.network, timed.graph, timed.layout, times, timed.division)
    _check_thread_order(guess, corners)
    _check_link_order(guess, corners)
    return corners


def _solved_at(guess: AffineTimes, corner: Corner) -> Times:
    """Return the times at a corner; raise NotCovered if a unit's conditions change one of them."""
    graph, places = guess.small.timed.graph, guess.small.places
    checked = np.ones(places.shape[0], dtype=bool)
    for axis, lines in enumerate(guess.cut.axes):
        whole = np.zeros(lines.numbers.size, dtype=bool)
        whole[list(checked_lines(lines, far=corner.far[axis]))] = True
        checked &= whole[places[:, axis]]
    units = np.flatnonzero(checked)
    times = guess.at(corner)
    header = times.header
    header[at.X_CHANGES], header[at.X_WINDOW] = 0, FOREVER
    header[at.X_LIMIT] = 2 * units.size + 2
    queue = np.zeros(places.shape[0] + 4, dtype=np.int64)
    queue[: units.size], queue[-1] = units, units.size
    # a unit that counts as queued is not evaluated again: those left out, and sources
    times = times._replace(queue=queue, queued=np.ones(places.shape[0], dtype=np.int64))
    last = times.last.copy()
    solve(graph, times)
    if header[at.X_OUTCOME] != SOLVED or header[at.X_CHANGES] != 0:
        raise NotCovered(NOT_AFFINE)
    assert np.array_equal(times.last, last)
    return times


# -- between the corners -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Ranges:
    """Least and greatest slope of the units that pass words through each port: (FIFOs, 2 axes)."""

    low: Ints
    high: Ints

    @staticmethod
    def of(graph: UnitGraph, slope: Ints) -> _Ranges:
        """Return the ranges of all ports; an empty one has a low above its high."""
        low = np.full((graph.port.shape[0], 2), LATE, dtype=np.int64)
        high = np.full((graph.port.shape[0], 2), -LATE, dtype=np.int64)
        count = graph.port[:, at.P_COUNT]
        ports = np.repeat(np.arange(count.size), count)
        first = np.repeat(graph.port[:, at.P_AT], count)
        place = np.arange(ports.size) - np.repeat(np.cumsum(count) - count, count)
        units = graph.entry[first + place, 0]
        np.minimum.at(low, ports, slope[units])
        np.maximum.at(high, ports, slope[units])
        return _Ranges(low, high)

    def joined(self, ports: Ints) -> tuple[Ints, Ints]:
        """Return low and high of some ports, (n, 2) each; a negative number is no port."""
        none = (ports < 0)[:, None]
        return (np.where(none, LATE, self.low[ports]), np.where(none, -LATE, self.high[ports]))


def _check_between(guess: AffineTimes) -> None:
    """Check that all times that a unit waits for change in one direction along its blocks.

    That is relative to the unit's own time. Then a condition that holds at both ends holds between
    them.
    """
    graph, slope = guess.small.timed.graph, guess.slope
    low, high = _awaited(graph, slope)
    _check_one_way(guess, low, high, slope[:, :, WORDS])
    _check_one_way(guess, *_awaited_by_starts(graph, slope), slope[:, :, START])
    if graph.span.size:
        _check_spans(guess, low, high)
    if graph.rival.size:
        _check_arbiters(guess, low, high)


def _middle(guess: AffineTimes) -> Bools:
    """Return (units, 2 axes): whether a unit stands for several periods of a block."""
    middle = np.zeros((guess.small.places.shape[0], 2), dtype=bool)
    for axis, lines in enumerate(guess.cut.axes):
        repeated = np.zeros(lines.numbers.size, dtype=bool)
        for block in lines.blocks:
            begin = block.start + block.period
            repeated[begin : begin + block.period] = block.times > KEPT_PERIODS
        middle[:, axis] = repeated[guess.small.places[:, axis]]
    return middle


def _check_one_way(guess: AffineTimes, low: Ints, high: Ints, slope: Ints) -> None:
    both = (low < slope) & (high > slope) & _middle(guess)
    if both.any():
        raise NotCovered("what an operation waits for moves both ways along the grid")


def _awaited(graph: UnitGraph, slope: Ints) -> tuple[Ints, Ints]:
    """Return the least and greatest slope of the times that each unit's words wait for.

    Two arrays (units, 2 axes): cycles per period of a block.
    """
    unit, words = graph.unit, slope[:, :, WORDS]
    ranges = _Ranges.of(graph, words)
    thread = (unit[:, at.U_KIND] == at.THREAD)[:, None]
    # a message's own dispatch is behind the message before, which its port has, or cycle 0
    low = np.where(thread, slope[:, :, START], LATE)
    high = np.where(thread, slope[:, :, START], -LATE)
    edge = unit[:, at.U_KIND] == at.EDGE
    low[edge], high[edge] = np.minimum(low[edge], 0), np.maximum(high[edge], 0)
    for column in (at.U_IN, at.U_IN2):
        port = unit[:, column]
        source = np.where(port >= 0, graph.port[port, at.P_SOURCE], -1)
        more = ranges.joined(source)
        low, high = np.minimum(low, more[0]), np.maximum(high, more[1])
    out = unit[:, at.U_OUT]
    children = np.where(out >= 0, graph.port[out, at.P_CHILDREN], 0)
    for rank in range(int(children.max(initial=0))):
        units = np.flatnonzero(children > rank)
        child = graph.child[graph.port[out[units], at.P_CHILD] + rank]
        more = ranges.joined(child)
        low[units], high[units] = np.minimum(low[units], more[0]), np.maximum(high[units], more[1])
    node = np.flatnonzero(~thread[:, 0] & (np.arange(unit.shape[0]) != unit[:, at.U_FIRST]))
    low[node] = np.minimum(low[node], words[node - 1])
    high[node] = np.maximum(high[node], words[node - 1])
    return low, high


def _awaited_by_starts(graph: UnitGraph, slope: Ints) -> tuple[Ints, Ints]:
    """Return the least and greatest slope of the times that each unit's dispatch waits for.

    Two arrays (units, 2 axes): cycles per period of a block.
    """
    unit = graph.unit
    low, high = slope[:, :, START].copy(), slope[:, :, START].copy()
    for op, units in _operations(graph):
        for kind, before, _ in graph.term[op[0] : op[0] + op[1]]:
            moves = _slope_of_term(graph, slope, unit[units, at.U_FIRST] + before, int(kind))
            low[units] = np.minimum(low[units], moves)
            high[units] = np.maximum(high[units], moves)
    return low, high


def _operations(graph: UnitGraph) -> Iterator[tuple[Ints, Ints]]:
    """Yield for each operation its row in `graph.op`, and the numbers of its units (runs)."""
    unit = graph.unit
    operation = np.where(unit[:, at.U_KIND] == at.THREAD, unit[:, at.U_OP], -1)
    for number, row in enumerate(graph.op):
        yield row, np.flatnonzero(operation == number)


def _slope_of_term(graph: UnitGraph, slope: Ints, before: Ints, kind: int) -> Ints:
    """Return by how many cycles per period the time moves that a term counts from: (units, 2 axes).

    `before`: units that the term names; `kind`: ORIGIN, AFTER or COMPLETE. `slope`: of all units.
    """
    if kind == ORIGIN:
        return np.zeros((before.size, 2), dtype=np.int64)
    if kind == COMPLETE:
        return slope[before, :, WORDS]
    issued = (graph.unit[before, at.U_ASYNC] == 1)[:, None]
    return np.where(issued, slope[before, :, START], slope[before, :, WORDS])


def _check_spans(guess: AffineTimes, low: Ints, high: Ints) -> None:
    """Check that words beside the main thread, and all that they wait for, have one slope.

    A word that waits for the main thread goes later if it comes earlier: its condition is no
    maximum.
    """
    graph, slope = guess.small.timed.graph, guess.slope
    words = slope[:, :, WORDS]
    apart = (low != words) | (high != words)
    beside = np.zeros(graph.unit.shape[0], dtype=bool)
    for op, units in _operations(graph):
        beside[units] = op[5] > 0
        for first, count, _ in graph.span[op[4] : op[4] + op[5]]:
            for kind, before, _ in graph.span_term[first : first + count]:
                earlier = graph.unit[units, at.U_FIRST] + before
                apart[units] |= _slope_of_term(graph, slope, earlier, int(kind)) != words[units]
    if (apart & _middle(guess) & beside[:, None]).any():
        raise NotCovered("words beside the main thread move otherwise than it along the grid")


def _check_arbiters(guess: AffineTimes, low: Ints, high: Ints) -> None:
    """Check that messages which an arbiter orders have the slope of all that decides their order.

    That are their rivals and the times that they wait for. The arbiter compares cycles, so it then
    decides the same at every period of a block.
    """
    graph, slope = guess.small.timed.graph, guess.slope
    ranges = _Ranges.of(graph, slope[:, :, WORDS])
    low, high = low.copy(), high.copy()
    out = np.maximum(graph.unit[:, at.U_OUT], 0)
    rivals = np.where(graph.unit[:, at.U_OUT] >= 0, graph.contest[out, at.C_RIVALS], 0)
    apart = slope[:, :, READY] != slope[:, :, WORDS]
    for rank in range(int(rivals.max(initial=0))):
        units = np.flatnonzero(rivals > rank)
        port = graph.rival[graph.contest[out[units], at.C_RIVAL] + rank]
        more = ranges.joined(port)
        low[units], high[units] = np.minimum(low[units], more[0]), np.maximum(high[units], more[1])
    apart |= (low != slope[:, :, WORDS]) | (high != slope[:, :, WORDS])
    if (apart & _middle(guess) & (rivals > 0)[:, None]).any():
        raise NotCovered("two colors want a link at once")


# -- who is first ------------------------------------------------------------------------------


def _check_thread_order(guess: AffineTimes, corners: Sequence[Times]) -> None:
    """Check pairs of operations of an element: they move together, or one is always first."""
    layout, slope = guess.small.timed.layout, guess.slope[:, :, WORDS]
    for number, script in enumerate(guess.small.timed.scripts):
        if not script.overlaps:
            continue
        pairs = script.tables.together
        units = units_of(layout, number, script, 0)[:, None]
        later, earlier = (units + pairs[:, 0]).ravel(), (units + pairs[:, 1]).ravel()
        together = (slope[later] == slope[earlier]).all(axis=1)
        orders = [
            _order(_Spans(t.first[later], t.last[later]), _Spans(t.first[earlier], t.last[earlier]))
            for t in corners
        ]
        if not (together | _settled(orders)).all():
            raise NotCovered("two threads of an element want the datapath at once")


def _check_link_order(guess: AffineTimes, corners: Sequence[Times]) -> None:
    """Check pairs of FIFOs on a link: they move together, or one is always first."""
    timed = guess.small.timed
    pairs = link_pairs(timed.network, timed.graph)
    pairs = pairs[:, ~timed.division.contended[pairs].all(axis=0)]
    ranges = _Ranges.of(timed.graph, guess.slope[:, :, WORDS])
    low = np.full((pairs.shape[1], 2), LATE, dtype=np.int64)
    high = np.full((pairs.shape[1], 2), -LATE, dtype=np.int64)
    for fifos in pairs.astype(np.int64):
        for ports in (fifos, timed.graph.port[fifos, at.P_SOURCE], timed.layout.down[fifos]):
            more = ranges.joined(ports)
            low, high = np.minimum(low, more[0]), np.maximum(high, more[1])
    orders = []
    for times in corners:
        first, last = intervals(timed.network, timed.graph, timed.layout, times, pairs)
        orders.append(_order(_Spans(first[0], last[0]), _Spans(first[1], last[1])))
    if not ((low == high).all(axis=1) | _settled(orders)).all():
        raise NotCovered("two colors want a link at once")


class _Spans(NamedTuple):
    """Ranges of cycles, both ends included: arrays of first and last cycles."""

    first: Ints
    last: Ints


def _order(spans: _Spans, others: _Spans) -> Ints:
    """Return -1 where a range ends before the other one begins, 1 for the reverse.

    0 where they overlap.
    """
    behind = np.where(others.last < spans.first, 1, 0)
    return np.where(spans.last < others.first, -1, behind)


def _settled(orders: Sequence[Ints]) -> Bools:
    """Return for each pair of ranges whether the same one is first at all corners.

    orders: by corner, 1 or -1 where a range of cycles is before the other, 0 where they overlap.
    """
    return np.asarray(np.abs(np.sum(orders, axis=0)) == len(orders))
