"""Random programs whose rows pass streams to the east, and whose columns hand sums to the south."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tilewright.simulator.program.program import Program
from tilewright.simulator.text.parsing import parse_program


@dataclass(frozen=True, slots=True)
class Shape:
    """What a drawn program is like: sizes, and what its elements do with their words.

    `tile`: words that an element takes of the stream in each of `periods`; `tiles`: how many there
    are in a period. `weights`: words of a stream that all elements take; `sides`: words that enter
    each column in the north. `moves`: of results in a column, "keep", "sum" or "gather". `beside`:
    tiles are received beside the work. `work`: turns of a loop over a tile. `group`: columns whose
    last one takes a tile from the first one, along the row; 1 if no column does.
    """

    height: int
    width: int
    tile: int
    tiles: int
    periods: int
    weights: int
    sides: int
    moves: str
    beside: bool
    work: int
    group: int = 1


def drawn_shape(rng: random.Random) -> Shape:
    width = rng.randrange(17, 41)
    return Shape(
        height=rng.randrange(1, 6),
        width=width,
        tile=rng.choice([1, 2, 3, 5, 8]),
        tiles=rng.choice([1, 2, 3, width, width, width]),
        periods=rng.randrange(1, 4),
        weights=rng.choice([0, 0, 0, 2, 5]),
        sides=rng.choice([0, 0, 1, 4, 12]),
        moves=rng.choice(["keep", "sum", "gather"]),
        beside=rng.random() < 0.4,
        work=rng.choice([0, 1, 1, 4, 30]),
    )


def passing_program(seed: int, group: int = 1) -> Program:
    """Return a drawn program.

    group: columns whose last one takes a tile from the first one, too; they may take other tiles.
    """
    rng = random.Random(seed)
    shape = drawn_shape(rng)
    if group > 1:
        width = group * max(8, shape.width // group)
        shape = replace(shape, group=group, width=width, tiles=rng.choice([1, group]))
    return parse_program("\n".join([*_program(rng, shape), ""]), "passing")


def _program(rng: random.Random, shape: Shape) -> Iterator[str]:
    height, width = shape.height, shape.width
    yield f"program passing {height} x {width}"
    yield from (f"color {name}" for name in ("xs", "ws", "ns", "c0", "c1", "pair"))
    kinds = [(kind, _part(shape, c)) for c, kind in enumerate(_column_kinds(rng, shape))]
    for kind, part in sorted(set(kinds)):
        for row in range(height):
            yield from _code(shape, row, kind, part)
            for column in (c for c in range(width) if kinds[c] == (kind, part)):
                yield f"place r{row}k{kind}{part} [{row}:{row + 1}, {column}:{column + 1}]"
    yield from _streams(shape, _places(rng, shape))
    yield from _columns(shape)
    yield from _pairs(shape)


def _part(shape: Shape, column: int) -> str:
    """Return what a column does in its group: "a" sends a tile to "z"; "" neither."""
    if shape.group == 1:
        return ""
    return {0: "a", shape.group - 1: "z"}.get(column % shape.group, "")


def _pairs(shape: Shape) -> Iterator[str]:
    for column in range(shape.width if shape.group > 1 else 0):
        sent = {"a": "rx R tx E", "": "rx W tx E", "z": "rx W tx R"}[_part(shape, column)]
        yield f"route pair [0:{shape.height}, {column}:{column + 1}] {sent}"


def _column_kinds(rng: random.Random, shape: Shape) -> list[int]:
    """Return which of two codes each column runs, which differ in their work."""
    half = rng.randrange(1, shape.width)
    drawn: Callable[[int], int] = rng.choice(
        [lambda _: 0, lambda _: 0, lambda c: c % 2, lambda c: int(c >= half)]
    )
    return [drawn(column) for column in range(shape.width)]


def _places(rng: random.Random, shape: Shape) -> Callable[[int, int], int]:
    """Return which tile of a period each element takes, by row and column."""
    mixed = list(range(shape.tiles))
    rng.shuffle(mixed)
    choices: list[Callable[[int, int], int]] = [
        lambda _, c: c % shape.tiles,
        lambda _, c: c % shape.tiles,
        lambda _, c: c * shape.tiles // shape.width,
        lambda _, c: c // 2 % shape.tiles,
        lambda r, c: (c + r) % shape.tiles,
        lambda _, c: mixed[c % shape.tiles],
    ]
    return rng.choice(choices)


def _streams(shape: Shape, place: Callable[[int, int], int]) -> Iterator[str]:
    height, width, limit = shape.height, shape.width, shape.tiles * shape.tile
    for row in range(height):
        for column in range(width):
            area = f"[{row}:{row + 1}, {column}:{column + 1}]"
            sent = "rx W tx R" if column == width - 1 else "rx W tx ER"
            start = (limit - place(row, column) * shape.tile) % limit
            kept = f" counter {limit} most {shape.tile} start {start} count_data"
            yield f"route xs {area} {sent}{kept if shape.tiles > 1 else ''}"
            if shape.weights:
                yield f"route ws {area} {sent}"
    words = limit * shape.periods
    yield f"edge_input x side W [0:{height}] color xs f32 count {words}"
    if shape.weights:
        yield f"edge_input w side W [0:{height}] color ws f32 count {shape.weights}"


def _columns(shape: Shape) -> Iterator[str]:
    height, width = shape.height, shape.width
    every = f"0:{width}"
    if shape.sides:
        for row in range(height):
            sent = "R" if row == height - 1 else "SR"
            yield f"route ns [{row}:{row + 1}, {every}] rx N tx {sent}"
        yield f"edge_input n side N [{every}] color ns f32 count {shape.sides}"
    if shape.moves == "keep":
        return
    for row in range(height):
        if row:
            yield f"route c{(row - 1) % 2} [{row}:{row + 1}, {every}] rx N tx R"
        yield f"route c{row % 2} [{row}:{row + 1}, {every}] rx R tx S"
    words = shape.tile * shape.periods * (height if shape.moves == "gather" else 1)
    yield f"edge_output z side S [{every}] color c{(height - 1) % 2} f32 count {words}"


def _code(shape: Shape, row: int, kind: int, part: str) -> Iterator[str]:
    tile, above = shape.tile, shape.tile * row
    yield f"code r{row}k{kind}{part}"
    yield "  buffer v f32 [400]"
    yield f"  mem1d tile v extent {tile}"
    yield f"  mem1d other v extent {tile} offset 50"
    yield f"  mem1d more v extent {max(1, shape.weights, shape.sides)} offset 100"
    yield "  input_queue 2 xs"
    yield f"  fabin in queue 2 extent {tile}"
    if shape.weights:
        yield f"  input_queue 3 ws\n  fabin weights queue 3 extent {shape.weights}"
        yield f"  mem1d w_tile v extent {shape.weights} offset 100"
    if shape.sides:
        yield f"  input_queue 4 ns\n  fabin sides queue 4 extent {shape.sides}"
        yield f"  mem1d s_tile v extent {shape.sides} offset 130"
    if shape.moves != "keep":
        yield f"  output_queue 3 c{row % 2}\n  fabout out queue 3 extent {tile}"
        if row:
            yield f"  input_queue 5 c{(row - 1) % 2}"
            yield f"  fabin above queue 5 extent {tile if shape.moves == 'sum' else above}"
            yield f"  fabout pass queue 3 extent {above}"
    if part == "a":
        yield f"  output_queue 4 pair\n  fabout pair_out queue 4 extent {tile}"
    if part == "z":
        yield f"  input_queue 6 pair\n  fabin pair_in queue 6 extent {tile}"
    yield from _tasks(shape, row, shape.work * (1 + 2 * kind), part)


def _tasks(shape: Shape, row: int, work: int, part: str) -> Iterator[str]:
    begin = [
        *(["@fmovs w_tile, weights"] if shape.weights else []),
        *(["@fmovs s_tile, sides"] if shape.sides else []),
    ]
    finish = [*_paired(shape, part), *_finish(shape, row, work)]
    if not shape.beside:
        yield "  task main entry"
        yield from (f"    {line}" for line in begin)
        yield f"    loop p {shape.periods}"
        yield from (f"      {line}" for line in ("@fmovs tile, in", *finish))
        return
    yield "  task main entry"
    yield from (f"    {line}" for line in (*begin, "@fmovs tile, in async activate work"))
    yield "  task work"
    yield from (f"    {line}" for line in ("@fmovs other, tile", "add p 1"))
    yield f"    if p < {shape.periods}"
    yield "      @fmovs tile, in async activate work"
    yield from (f"    {line}" for line in finish)


def _paired(shape: Shape, part: str) -> list[str]:
    """Return what an element does with its tile for its group."""
    held = "other" if shape.beside else "tile"
    lines = {"a": [f"@fmovs pair_out, {held}"], "z": [f"@fadds {held}, {held}, pair_in"]}
    return lines.get(part, [])


def _finish(shape: Shape, row: int, work: int) -> list[str]:
    """Return what an element does with a tile."""
    held = "other" if shape.beside else "tile"
    lines = [f"loop q {work}", f"  @fmuls {held}, {held}, #2.0"] if work else []
    if shape.moves == "gather" and row:
        lines.append("@fmovs pass, above")
    if shape.moves == "sum" and row:
        lines.append(f"@fadds out, above, {held}")
    elif shape.moves != "keep":
        lines.append(f"@fmovs out, {held}")
    return lines
