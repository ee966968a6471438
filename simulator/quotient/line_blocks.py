"""Find rows or columns that repeat, and choose those that a smaller grid of the same pattern keeps.

A line is a row or a column. Two columns are equal if their elements run the same codes and their
routers and border ports do the same. A stretch in which every column equals the one `period` before
it is a block. A small grid keeps three periods of each block, and some columns at both of its ends.

Example: a chain of sums along a row uses two colors in turns, so columns 1 to 747 of 750 repeat
with period 2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import EdgeInput, EdgeOutput

Ints = npt.NDArray[np.int64]
Digests = npt.NDArray[np.uint64]
KEPT_PERIODS: Final = 3
"""Periods of a block in the small grid: one at each end, and one whose neighbours are equal."""
LONGEST_PERIOD: Final = 64
_LAST: Final = IdentityCache(1)


@dataclass(frozen=True, slots=True)
class LineBlock:
    """A stretch of rows or columns that repeats.

    `start`: its first line in the small grid. `period`: lines until it repeats. `times`: number of
    periods in the large grid; the small grid has three.
    """

    start: int
    period: int
    times: int


@dataclass(frozen=True, slots=True)
class LineCut:
    """The rows (or columns) that a small grid keeps of a large one.

    `numbers`: (lines of the small grid,) their numbers in the large grid, ascending. `blocks`: the
    stretches that repeat, in order; at least two other lines lie between two of them.
    """

    numbers: Ints
    blocks: tuple[LineBlock, ...]

    def lengthened(self, times: int) -> LineCut:
        """Return a cut that keeps four periods of each block with `times` periods.

        `times` counts periods in the large grid. All other blocks keep three periods.
        """
        added = [
            self.numbers[b.start + KEPT_PERIODS * b.period - 1] + 1 + np.arange(b.period)
            for b in self.blocks
            if b.times == times
        ]
        return LineCut(np.sort(np.concatenate([self.numbers, *added])), self.blocks)

    def copied(self, times: int) -> Ints:
        """Return for each line that `lengthened(times)` keeps the equal line that this cut keeps.

        The result has the numbers of lines in the small grid of this cut.
        """
        lines = np.arange(self.numbers.size)
        for block in reversed([b for b in self.blocks if b.times == times]):
            end = block.start + KEPT_PERIODS * block.period
            lines = np.insert(lines, end, lines[end - block.period : end])
        return lines


def cut_lines(digests: Digests, margin: int) -> LineCut:
    """Choose the lines that a small grid keeps: of each block three periods and its margins.

    digests: (lines, 2), equal where lines are equal; margin: periods kept at both ends of a block,
    beside its three. Of overlapping blocks the one that saves the most lines is taken first.
    """
    _, number = np.unique(digests, axis=0, return_inverse=True)
    stretches = sorted(_best_stretches(number.ravel(), 0, margin))
    removed = np.zeros(number.size, dtype=bool)
    blocks = []
    for start, end, period in stretches:
        first = start + margin * period
        times = (end - margin * period - first) // period
        blocks.append((first - int(removed.sum()), period, times))
        removed[first + KEPT_PERIODS * period : first + times * period] = True
    return LineCut(np.flatnonzero(~removed), tuple(LineBlock(*block) for block in blocks))


def _best_stretches(number: Ints, offset: int, margin: int) -> Iterator[tuple[int, int, int]]:
    """Yield (first line, end, period) of the blocks into which lines are best cut.

    number: by line, the same for equal lines; `offset`: of the first of them in the grid; margin:
    periods that are kept at both ends of a block.
    """
    saved, start, end, period = max(_stretches(number, margin), default=(0, 0, 0, 0))
    if not saved:
        return
    yield offset + start, offset + end, period
    yield from _best_stretches(number[:start], offset, margin)
    yield from _best_stretches(number[end:], offset + end, margin)


def _stretches(number: Ints, margin: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (lines saved, first, end, period) of every stretch that is worth cutting.

    It saves as many lines as it keeps: the times of short blocks rarely settle between their ends.
    """
    for period in range(1, min(LONGEST_PERIOD, number.size // (2 * margin + KEPT_PERIODS)) + 1):
        equal = np.concatenate([[False], number[period:] == number[:-period], [False]])
        changes = np.flatnonzero(equal[1:] != equal[:-1])
        for first, last in zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True):
            length = last - first + period
            remaining = (2 * margin + KEPT_PERIODS) * period + length % period
            if length >= 2 * remaining:
                yield length - remaining, first, last + period, period


def line_digests(program: Program) -> tuple[Digests, Digests]:
    """Return digests of all rows and of all columns of a program: (rows, 2) and (columns, 2).

    Equal digests mean the same codes, routes and border ports. Names of ports may differ. Those of
    the last program are remembered.
    """
    digests: tuple[Digests, Digests] = _LAST.of(program, "lines", partial(_line_digests, program))
    return digests


def _line_digests(program: Program) -> tuple[Digests, Digests]:
    placement = np.ascontiguousarray(program.placement)
    rows = text_digests(row.tobytes() for row in placement)
    columns = text_digests(column.tobytes() for column in np.ascontiguousarray(placement.T))
    row_marks, column_marks = _Marks(program.height), _Marks(program.width)
    for route in program.routes:
        area, rest = route.area, (route.color, route.rx, route.tx, route.switch, route.filter)
        what = (*rest, route.teardown, route.swap)
        row_marks.add(area.rows, ("route", area.columns, *what))
        column_marks.add(area.columns, ("route", area.rows, *what))
    ports: tuple[EdgeInput | EdgeOutput, ...] = (*program.edge_inputs, *program.edge_outputs)
    for port in ports:
        marks = column_marks if port.side in "NS" else row_marks
        marks.add(range(port.first, port.first + port.positions), _port_text(port))
    return rows + row_marks.sums(), columns + column_marks.sums()


def _port_text(port: EdgeInput | EdgeOutput) -> tuple[object, ...]:
    if isinstance(port, EdgeInput):
        rest = (port.interval, port.start, port.control)
        return "in", port.side, port.color, port.dtype, port.count, *rest
    return "out", port.side, port.color, port.dtype, port.count, port.interval


class _Marks:
    """Digests of each line of a grid: sums of the digests of the routes and ports on it."""

    def __init__(self, lines: int) -> None:
        self.places: list[range] = []
        self.texts: list[bytes] = []
        self.lines = lines

    def add(self, places: range, what: tuple[object, ...]) -> None:
        """Note a route or port with the properties `what` on some lines."""
        self.places.append(places)
        self.texts.append(repr(what).encode())

    def sums(self) -> Digests:
        """Return (lines, 2): sums, modulo 2^64, of the digests of the properties of each line."""
        sums = np.zeros((self.lines, 2), dtype=np.uint64)
        for places, digest in zip(self.places, text_digests(self.texts), strict=True):
            sums[places.start : places.stop : places.step] += digest
        return sums


def text_digests(texts: Iterable[bytes]) -> Digests:
    """Return a digest of each text: (texts, 2)."""
    joined = b"".join(hashlib.blake2b(text, digest_size=16).digest() for text in texts)
    return np.frombuffer(joined, dtype=np.uint64).reshape(-1, 2)
