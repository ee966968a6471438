"""Random programs whose rows hand sums to the east, and some of their columns sums to the south."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.simulator.program.program import Program
from tilewright.simulator.text.parsing import parse_program


@dataclass(frozen=True, slots=True)
class Sums:
    """What a drawn program is like.

    `tile`: words that an element takes of its row's stream in each of `periods`, one of `tiles`.
    `joints`: columns at which the sums of the columns before end and go south, to the end of a band
    of rows; `bands`: first rows of these, by joint. `work`: turns of a loop over a tile, by row, in
    the columns before the first joint. `pauses`: turns of a loop before the first tile, by column.
    """

    height: int
    width: int
    tile: int
    tiles: int
    periods: int
    joints: tuple[int, ...]
    bands: tuple[frozenset[int], ...]
    work: tuple[int, ...]
    pauses: tuple[int, ...]

    def sum_from_west(self, column: int) -> bool:
        """Return whether a column adds to sums of the one in the west."""
        return column > 0 and column - 1 not in self.joints

    def joined(self, row: int, column: int) -> bool:
        """Return whether a row adds to sums of the one in the north in a column."""
        return column in self.joints and row not in self.bands[self.joints.index(column)]


def drawn_sums(rng: random.Random) -> Sums:
    height, width = rng.randrange(2, 9), rng.randrange(3, 11)
    count = rng.randrange(1, min(4, width))
    joints = tuple(sorted(rng.sample(range(width - 1), count - 1)))
    period, slow = rng.choice([1, 1, 2, height]), rng.choice([0, 3, 12])
    every = rng.choice([1, 2, 4, height])
    starts = [{0} | set(range(0, height, every)) for _ in range(count)]
    return Sums(
        height=height,
        width=width,
        tile=rng.choice([1, 1, 2, 4]),
        tiles=rng.choice([1, 2, width, 2 * width]),
        periods=rng.randrange(1, 5),
        joints=(*joints, width - 1),
        bands=tuple(frozenset(first) for first in starts),
        work=tuple(rng.choice([0, 2]) + slow * (row % period) for row in range(height)),
        pauses=tuple(rng.choice([0, 0, 0, 30, 90]) for _ in range(width)),
    )


def piece_program(seed: int) -> Program:
    """Return a drawn program."""
    sums = drawn_sums(random.Random(seed))
    return parse_program("\n".join([*_program(sums), ""]), "pieces")


def _program(sums: Sums) -> Iterator[str]:
    yield f"program pieces {sums.height} x {sums.width}"
    yield from (f"color {name}" for name in ("xs", "s0", "s1", "d0", "d1"))
    codes: dict[str, str] = {}
    places = []
    for row in range(sums.height):
        for column in range(sums.width):
            text = "\n".join(_code(sums, row, column))
            name = codes.setdefault(text, f"code{len(codes)}")
            places.append(f"place {name} {_area(row, column)}")
    for text, name in codes.items():
        yield f"code {name}\n{text}"
    yield from places
    for row in range(sums.height):
        for column in range(sums.width):
            yield from _routes(sums, row, column)
    words = sums.tile * sums.tiles * sums.periods
    yield f"edge_input x side W [0:{sums.height}] color xs f32 count {words}"


def _area(row: int, column: int) -> str:
    return f"[{row}:{row + 1}, {column}:{column + 1}]"


def _sends(sums: Sums, row: int, column: int) -> str:
    """Return the color on which an element hands its sums on, empty if it keeps them."""
    if column not in sums.joints:
        return f"s{column % 2}"
    below = row + 1 < sums.height and sums.joined(row + 1, column)
    return f"d{row % 2}" if below else ""


def _code(sums: Sums, row: int, column: int) -> Iterator[str]:
    west, above = sums.sum_from_west(column), sums.joined(row, column)
    sends = _sends(sums, row, column)
    yield f"  buffer v f32 [16]\n  mem1d tile v extent {sums.tile}"
    yield f"  input_queue 2 xs\n  fabin in queue 2 extent {sums.tile}"
    if west:
        yield f"  input_queue 3 s{(column - 1) % 2}\n  fabin west queue 3 extent {sums.tile}"
    if above:
        yield f"  input_queue 4 d{(row - 1) % 2}\n  fabin above queue 4 extent {sums.tile}"
    if sends:
        yield f"  output_queue 5 {sends}\n  fabout out queue 5 extent {sums.tile}"
    yield "  task main entry"
    if sums.pauses[column]:
        yield f"    loop q {sums.pauses[column]}\n      @fmuls tile, tile, #2.0"
    yield f"    loop p {sums.periods}\n      @fmovs tile, in"
    if sums.work[row] and column < sums.joints[0]:
        yield f"      loop q {sums.work[row]}\n        @fmuls tile, tile, #2.0"
    if west:
        yield "      @fadds tile, tile, west"
    if above:
        yield "      @fadds tile, tile, above"
    if sends:
        yield "      @fmovs out, tile"


def _routes(sums: Sums, row: int, column: int) -> Iterator[str]:
    area, limit = _area(row, column), sums.tile * sums.tiles
    start = (limit - column % sums.tiles * sums.tile) % limit
    taken = f" counter {limit} most {sums.tile} start {start} count_data" * (sums.tiles > 1)
    yield f"route xs {area} rx W tx {'ER' if column < sums.width - 1 else 'R'}{taken}"
    if sums.sum_from_west(column):
        yield f"route s{(column - 1) % 2} {area} rx W tx R"
    if sums.joined(row, column):
        yield f"route d{(row - 1) % 2} {area} rx N tx R"
    sends = _sends(sums, row, column)
    if sends:
        yield f"route {sends} {area} rx R tx {'E' if sends[0] == 's' else 'S'}"
