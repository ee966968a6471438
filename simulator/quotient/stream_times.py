"""When the words of passing streams come to each column of a grid, and which ones it takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tilewright.simulator.quotient.line_blocks import Ints, text_digests
from tilewright.simulator.quotient.passing_streams import PassingStream, PassingStreams
from tilewright.simulator.quotient.pieces.column_pieces import Crossings


class TakenWords(NamedTuple):
    """The words of passing streams that a column takes, by stream, row and number.

    `row`: of the element, those of the streams behind each other. `comes`: cycle in which the
    router sends each to the element. `before`: cycle in which it sent the word before it in its
    stream; the same as `comes` where that does not matter: for the first word of a stream, and
    where no others go to the element.
    """

    row: Ints
    comes: Ints
    before: Ints

    def sorted(self, order: Ints) -> TakenWords:
        """Return the words in another order."""
        return TakenWords(*(values[order] for values in self))


@dataclass(frozen=True, slots=True)
class StreamTimes:
    """Cycles in which the words of passing streams come to the routers of their first column.

    `times`: of each stream (rows, words). `hop`: cycles from a router to the next one. `outermost`:
    the streams on a few rows, with the times of these, which stand for all.
    """

    streams: PassingStreams
    times: tuple[Ints, ...]
    hop: int
    outermost: tuple[tuple[PassingStream, Ints], ...]

    @staticmethod
    def of(streams: PassingStreams, times: tuple[Ints, ...], hop: int) -> StreamTimes:
        """Return the times of the streams; times: of each (rows, words)."""
        pairs = zip(streams.streams, times, strict=True)
        return StreamTimes(streams, times, hop, tuple(_outermost(*pair) for pair in pairs))

    @property
    def kinds(self) -> Ints:
        """(columns,) a number, equal for columns that take the same words."""
        columns = range(self.streams.program.width)
        digests = text_digests(
            b"".join(
                stream.filters[:, column].tobytes() + stream.alone[:, column].tobytes()
                for stream, _ in self.outermost
            )
            for column in columns
        )
        return np.unique(digests, axis=0, return_inverse=True)[1].ravel()

    def taken(self, column: int, behind: int) -> TakenWords:
        """Return what a column takes, if it stands `behind` columns behind the first one.

        Of rows that do the same at other times, it has the earliest and the latest one.
        """
        parts = [np.zeros((3, 0), dtype=np.int64)]
        for number, (stream, times) in enumerate(self.outermost):
            first_row = number * self.streams.program.height
            parts.extend(_words_of(stream, times, column, first_row))
        row, comes, before = np.concatenate(parts, axis=1)
        later = self.hop * (behind + 1)
        words = TakenWords(row, comes + later, before + later)
        if (row[1:] >= row[:-1]).all():
            return words
        return words.sorted(np.argsort(row, kind="stable"))

    def enters(self, column: int) -> Crossings:
        """Return the cycles in which words leave the columns before one of the whole grid."""
        later = self.hop * (column - self.streams.first)
        return {
            (stream.color, row): cycles + later
            for stream, times in zip(self.streams.streams, self.times, strict=True)
            for row, cycles in zip(stream.rows.tolist(), times, strict=True)
        }


def _outermost(stream: PassingStream, times: Ints) -> tuple[PassingStream, Ints]:
    """Return a stream on fewer rows, and their times: of rows alike, the first and the last one.

    Rows are alike if their words come equally far apart, and all columns take the same ones of
    them. What a column takes of them is then equally late in all, so the outermost ones say where
    it must rest.
    """
    first = times[:, 0] if times.size else np.zeros(len(times), dtype=np.int64)
    texts = zip(times, first, stream.filters, stream.alone, strict=True)
    digests = text_digests(
        (row - since).tobytes() + filters.tobytes() + alone.tobytes()
        for row, since, filters, alone in texts
    )
    kind = np.unique(digests, axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort((first, kind))
    starts = np.flatnonzero(np.diff(kind[order], prepend=-1))
    kept = np.unique(order[np.concatenate([starts, starts[1:] - 1, [order.size - 1]])])
    rows, filters, alone = stream.rows[kept], stream.filters[kept], stream.alone[kept]
    return replace(stream, rows=rows, filters=filters, alone=alone), times[kept]


def _words_of(stream: PassingStream, times: Ints, column: int, first_row: int) -> Iterator[Ints]:
    """Yield (3, words) of what a column takes of a stream, by rows with the same filter.

    The first router sends them in the cycles `times` (rows, words). Columns: the row plus
    `first_row`, and two cycles as of `TakenWords`.
    """
    for rows, words in stream.taken(column, times.shape[1]):
        comes = times[np.ix_(rows, words)]
        earlier = times[np.ix_(rows, np.maximum(words - 1, 0))]
        alone = stream.alone[rows, column, None] == 1
        row = np.broadcast_to(first_row + stream.rows[rows, None], comes.shape)
        yield np.stack([row.ravel(), comes.ravel(), np.where(alone, comes, earlier).ravel()])
