"""The streams by which the tiles of an input come over the border, for a family of mappings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.check.route_check import MAX_FILTER_COUNT, MAX_STREAM
from tilewright.simulator.lowering.lower_bound.cycle_bound import AXES
from tilewright.simulator.search.bounds.elementwise import Numbers, chosen, most
from tilewright.simulator.search.bounds.family_energy import BorderWords
from tilewright.simulator.search.bounds.family_tiles import FamilyTiles


class InputLines(NamedTuple):
    """The border streams of an input, as they follow from the division of the work.

    `parts`: into how many the input is divided; `serves_columns`, `serves_all`: whether a stream
    serves a column, or the whole grid. `number`: of streams; `parts_of_line`: different parts on
    the line of one. `links`: that a word crosses; `links_to_last`: from the border to the last
    element, `links_to_group`: to the first one of its group.
    """

    parts: Numbers
    serves_columns: Numbers
    serves_all: Numbers
    number: Numbers
    parts_of_line: Numbers
    links: Numbers
    links_to_last: Numbers
    links_to_group: Numbers

    @staticmethod
    def of(tiles: FamilyTiles, access: TensorAccess, ring: Axis | None) -> InputLines:
        """Return the lines of an input, whose tiles may go round rings along an axis.

        They are those of `line_streams`, of one division or of many.
        """
        columns, rows = tiles.elements
        along_x, along_y = (
            elements if axis == ring else tiles.parts(access, axis)
            for axis, elements in zip(AXES, tiles.elements, strict=True)
        )
        has_columns = (along_x == columns) & ((along_y != rows) | (columns > rows))
        has_all = (along_x != columns) & (along_y != rows)
        parts = along_x * along_y

        def chosen_lines(of_rows: Numbers, of_columns: Numbers, of_all: Numbers) -> Numbers:
            return chosen(has_all, of_all, chosen(has_columns, of_columns, of_rows))

        def to_end(wide: Numbers, tall: Numbers) -> Numbers:
            return chosen_lines(wide - 1, tall - 1, wide - 1 + tall - 1)

        to_last = to_end(columns, rows)
        return InputLines(
            parts,
            has_columns,
            has_all,
            number=chosen_lines(rows, columns, 1),
            parts_of_line=chosen_lines(along_x, along_y, parts),
            links=chosen_lines(columns - 1, rows - 1, columns * rows - 1),
            links_to_last=to_last,
            links_to_group=to_last - to_end(*tiles.groups),
        )

    def crosses(self, axis: Axis) -> Numbers:
        """Return whether a stream crosses the link to the last element along an axis."""
        return self.serves_columns == (axis == "Y")

    @property
    def goes_down(self) -> Numbers:
        """Whether a stream goes down the first column."""
        return self.serves_columns | self.serves_all


@dataclass(frozen=True, slots=True)
class BorderStream:
    """The longest border stream of an input.

    `access`: of the input. `lines`: where it goes. `tile_words`: of a tile; `words`: of all streams
    of the input; `crossing`: what crosses the border and links. `interval`: cycles in which a word
    of each stream enters.
    """

    access: TensorAccess
    lines: InputLines
    tile_words: Numbers
    words: Numbers
    crossing: BorderWords
    interval: Numbers = 1

    @property
    def words_of_period(self) -> Numbers:
        """Words of one stream until each element of its line has had a tile."""
        return self.lines.parts_of_line * self.tile_words

    @property
    def entered(self) -> Numbers:
        """The cycle behind which the last word of a stream has entered."""
        return (self.length - 1) * self.interval + 1

    @property
    def length(self) -> Numbers:
        """Words of one stream, a mean if they differ."""
        return self.words / self.lines.number

    @property
    def full_length(self) -> Numbers:
        """Words of one stream, a whole number."""
        return self.words // self.lines.number

    @property
    def enters_too_much(self) -> Numbers:
        """Whether more words enter over a border than a port takes."""
        return self.words > MAX_STREAM

    @property
    def is_filtered_too_long(self) -> Numbers:
        """Whether elements of a line take more words in turn than the filter of a router counts."""
        together = self.lines.parts_of_line * self.tile_words
        return (self.lines.parts_of_line > 1) & (together > MAX_FILTER_COUNT)

    def check(self) -> None:
        """Raise InfeasibleMapping for a stream of one family that is too long."""
        if self.enters_too_much:
            raise InfeasibleMapping(
                f"more than {MAX_STREAM:,} words of {self.access.tensor} enter over a border "
                "(persistent_tensors of a workload are in the elements)"
            )
        if self.is_filtered_too_long:
            raise InfeasibleMapping(
                f"elements of a line take more than {MAX_FILTER_COUNT:,} words of "
                f"{self.access.tensor} in turn, more than the filter of a router counts"
            )


def border_streams(
    space: GridMapspace, tiles: FamilyTiles, channels: int
) -> Sequence[BorderStream]:
    """Return the streams of the inputs that come over the border, which may be too long.

    channels: words that pass a side of the grid in a cycle.
    """
    inputs = zip(space.einsum.inputs, tiles.inputs, tiles.input_words, strict=True)
    streams = [
        _stream(access, tiles, values, words)
        for access, values, words in inputs
        if access.tensor not in tiles.family.resident
    ]
    if max(space.grid.columns, space.grid.rows) <= channels:
        return streams
    return [replace(stream, interval=_interval(stream, streams, channels)) for stream in streams]


def _interval(stream: BorderStream, streams: Sequence[BorderStream], channels: int) -> Numbers:
    """Return the cycles in which a word of a stream enters, as `word_intervals` of a plan does."""
    places, words = 0, 0
    for other in streams:
        beside = other.lines.goes_down == stream.lines.goes_down
        places = most(places, chosen(beside, other.lines.number, 0))
        words = words + chosen(beside, other.lines.number * other.words_of_period, 0)
    shared = -(-words // (channels * stream.words_of_period))
    return chosen(places > channels, shared, 1)


@dataclass(frozen=True)
class ResultExit:
    """How results leave the grid: words by each place of a side, and how slowly.

    `passed`: elements whose tiles leave by one place, one after the other. `interval`: cycles
    between two words there.
    """

    passed: Numbers
    interval: Numbers

    @staticmethod
    def of(tiles: FamilyTiles, channels: int) -> ResultExit:
        """Return the exits of results that do not stay; channels: words of a side in a cycle."""
        (columns, rows), (wide, tall) = tiles.elements, tiles.groups
        is_east = (wide == columns) & (tall != rows)
        passed = chosen((wide != columns) & (tall != rows), rows // tall, 1)
        places = chosen(is_east, rows // tall, columns // wide)
        return ResultExit(passed, -(-places // channels))

    def end(self, words: Numbers, turns: Numbers, begun: Numbers) -> Numbers:
        """Return the least cycle at which the last result has left; 0 where a word leaves a cycle.

        words: of a tile, of which each element has one in each of `turns`; begun: when the first
        word of the last tile may leave that does not wait for other elements' tiles.
        """
        every = (words * turns * self.passed - 1) * self.interval
        last = begun + (words - 1) * self.interval
        return chosen(self.interval > 1, most(every, chosen(self.passed == 1, last, 0)), 0)


def _stream(
    access: TensorAccess, tiles: FamilyTiles, values: Numbers, words: Numbers
) -> BorderStream:
    """Return the streams of an input whose tiles have so many `values`, in so many `words`."""
    ring = dict(tiles.family.shifts).get(access.tensor)
    lines = InputLines.of(tiles, access, ring)
    visits = tiles.turns(access) if ring is None else 1
    columns, rows = tiles.elements
    read, written = (n * values * visits for n in (lines.parts, columns * rows))
    entered = lines.parts * words * visits
    crossing = BorderWords(read, written, entered * lines.links)
    return BorderStream(access, lines, words, entered, crossing)
