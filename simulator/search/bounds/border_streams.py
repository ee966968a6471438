"""The streams by which the tiles of an input come over the border, for a family of mappings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.check.route_check import MAX_FILTER_COUNT, MAX_STREAM
from tilewright.simulator.lowering.cycle_bound import AXES
from tilewright.simulator.search.bounds.elementwise import Numbers, chosen
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
    of the input; `crossing`: what crosses the border and links.
    """

    access: TensorAccess
    lines: InputLines
    tile_words: Numbers
    words: Numbers
    crossing: BorderWords

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


def border_streams(space: GridMapspace, tiles: FamilyTiles) -> Sequence[BorderStream]:
    """Return the streams of the inputs that come over the border, which may be too long."""
    inputs = zip(space.einsum.inputs, tiles.inputs, tiles.input_words, strict=True)
    return [
        _stream(access, tiles, values, words)
        for access, values, words in inputs
        if access.tensor not in tiles.family.resident
    ]


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
