"""The streams by which the tiles of an input come over the border, for a family of mappings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.grid_shares import Share
from tilewright.mapper.grid.host_streams import line_streams, links_to_last
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.workload.einsum import TensorAccess
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.check.route_check import MAX_FILTER_COUNT, MAX_STREAM
from tilewright.simulator.lowering.cycle_bound import AXES, way_in
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.search.bounds.elementwise import Numbers
from tilewright.simulator.search.bounds.family_energy import BorderWords
from tilewright.simulator.search.bounds.family_tiles import FamilyTiles, share_of


class InputLines(NamedTuple):
    """The border streams of an input, as they follow from the division of the work.

    `parts`: into how many the input is divided; `serves_columns`, `serves_all`: 1 if a stream
    serves a column, or the whole grid, and 0 if not. `number`: of streams; `parts_of_line`:
    different parts on the line of one. `links`: that a word crosses. `way`, `way_to_group`: cycles
    of a word from the border to the last element, and to the first one of its group.
    """

    parts: Numbers
    serves_columns: Numbers
    serves_all: Numbers
    number: Numbers
    parts_of_line: Numbers
    links: Numbers
    way: Numbers
    way_to_group: Numbers


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

    def crosses(self, axis: Axis) -> Numbers:
        """Return whether it crosses the link to the last element along an axis."""
        return self.lines.serves_columns == (1 if axis == "Y" else 0)

    @property
    def goes_down(self) -> Numbers:
        """Whether it goes down the first column."""
        return self.lines.serves_columns + self.lines.serves_all > 0

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


@dataclass(frozen=True, slots=True)
class BorderStreams:
    """The border streams of all families of a mapspace on one machine."""

    space: GridMapspace
    profile: Profile

    def of(self, tiles: FamilyTiles) -> Sequence[BorderStream]:
        """Return the streams of the inputs that come over the border, which may be too long."""
        inputs = zip(self.space.einsum.inputs, tiles.inputs, tiles.input_words, strict=True)
        return [
            self._stream(access, tiles, values, words)
            for access, values, words in inputs
            if access.tensor not in tiles.family.resident
        ]

    def _stream(
        self, access: TensorAccess, tiles: FamilyTiles, values: Numbers, words: Numbers
    ) -> BorderStream:
        """Return the streams of an input whose tiles have so many `values`, in so many `words`."""
        ring = dict(tiles.family.shifts).get(access.tensor)
        lines = InputLines(*tiles.of_division(partial(self._lines, access, ring)))
        visits = tiles.turns(access) if ring is None else 1
        columns, rows = tiles.elements
        read, written = (n * values * visits for n in (lines.parts, columns * rows))
        entered = lines.parts * words * visits
        crossing = BorderWords(read, written, entered * lines.links)
        return BorderStream(access, lines, words, entered, crossing)

    def _lines(
        self, access: TensorAccess, ring: Axis | None, shares: tuple[Share, ...]
    ) -> InputLines:
        """Return the lines of an input, whose tiles may go round rings along an axis."""
        columns, rows = (share_of(shares, axis) for axis in AXES)
        used = [s for s in shares if s.variable in access.rank_variables or s.axis == ring]
        along_x, along_y = (share_of(used, axis) for axis in AXES)
        lines, number, parts, links_of_word = line_streams(along_x, along_y, columns, rows)
        links = links_to_last(lines, columns, rows)
        to_first = links - links_to_last(lines, *self.space.groups(shares))
        way, to_group = (float(way_in(crossed, self.profile)) for crossed in (links, to_first))
        serves_columns, serves_all = int(lines == "columns"), int(lines == "whole")
        each = along_x * along_y
        return InputLines(
            each, serves_columns, serves_all, number, parts, links_of_word, way, to_group
        )
