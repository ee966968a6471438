"""A star stencil of any radius on tiles of a grid, with an exchange of halos in four directions.

Each element has a tile of h x w f32 in the middle of the buffer `grid`, with a halo of `radius`
cells around it. An iteration exchanges the halos with the four neighbours and then computes

    new = weights[0] * old + sum over d = 1 ... radius of
          weights[d] * (cells d above, d below, d to the left, d to the right)

by one multiplication and 4 * radius multiply-adds over the tile, with descriptors of two
dimensions that are shifted by d (for radius 1 by additions, nearest_stencil.py). The elements at
the border of the grid only exchange: their tiles are the boundary values. The shape of the arrays
is that of the recorded kernel (wafer.md §8.7): a row is one cell longer than tile and halos, and
the two arrays lie next to each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Final, NamedTuple

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.examples.nearest_stencil import (
    compute_nearest,
    load_streams,
    load_tile,
    reload_streams,
    start_exchange,
)
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area

DIRECTIONS: Final = {"west": (0, -1), "east": (0, 1), "north": (-1, 0), "south": (1, 0)}
OPPOSITE: Final = {"west": "east", "east": "west", "north": "south", "south": "north"}
SEND_QUEUES: Final = {"east": 0, "west": 1, "north": 2, "south": 3}
RECEIVE_QUEUES: Final = {"east": 4, "west": 5, "north": 6, "south": 7}
"""No input queue has the number of an output queue: on WSE-2 both would name one microthread."""


class Tile(NamedTuple):
    """Hold the sizes of a stencil's tile, in cells.

    `height`, `width`: rows and columns of the tile; `radius`: cells of the halo on each side.
    """

    height: int
    width: int
    radius: int

    @property
    def pitch(self) -> int:
        """Cells from one row of an array to the next."""
        return self.width + 2 * self.radius + 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the arrays."""
        return self.height + 2 * self.radius, self.pitch

    def area(
        self, row: int, column: int, height: int, width: int
    ) -> tuple[list[tuple[int, int]], int]:
        """Return (loops, offset) of the descriptor of a part of an array, as of `mem4d_access`.

        row, column: its first cell; height, width: its rows and columns.
        """
        return [(height, self.pitch), (width, 1)], row * self.pitch + column


def star_stencil(
    elements: tuple[int, int], tile: Tile, iterations: int, *, waits: bool = True
) -> Program:
    """Return a program that does some iterations of a star stencil on a grid of elements.

    elements: rows and columns of elements, at least 3 each; tile: sizes, the radius at most the
    sides of the tile; iterations: at least 1. Every element starts from its buffer `grid`, shape
    `tile.shape`, and the buffer `weights`, radius + 1 values. waits: whether
    the elements wait for their halos; if not, for radius 1 only, words go before the main thread
    and have come when the computation gets to them, on WSE-3 from tiles of 4 x 4 cells on (else the
    run may end with an error of a race). Raises ProgramError for other sizes.
    """
    if not waits and tile.radius > 1:
        raise ProgramError("only radius 1 goes on without waiting", value=tile.radius)
    if min(elements) < 3 or not 1 <= tile.radius <= min(tile[:2]) or iterations < 1:
        raise ProgramError(
            "a stencil has 3 x 3 elements or more, a radius from 1 to the sides of the tile, and "
            "iterations",
            value=(elements, tuple(tile), iterations),
        )
    height, width = elements
    b = ProgramBuilder("star_stencil", height, width)
    for direction, parity in product(DIRECTIONS, (0, 1)):
        b.color(f"{direction}{parity}")
    names: dict[tuple[int, tuple[str, ...]], str] = {}
    for row, column in product(range(height), range(width)):
        around = tuple(neighbours_of(elements, row, column))
        parity = (row + column) % 2
        if (parity, around) not in names:
            name = names[parity, around] = f"c{len(names)}"
            _element(b.code(name), tile, around, ElementForm(parity, iterations, waits))
        b.place(names[parity, around], Area(row, column))
        route_streams(b, (row, column), around)
    return b.build()


def neighbours_of(elements: tuple[int, int], row: int, column: int) -> Iterator[str]:
    """Yield the names of the directions in which an element has a neighbour.

    elements: rows and columns of the grid; row, column: of the element.
    """
    for direction, (down, right) in DIRECTIONS.items():
        if 0 <= row + down < elements[0] and 0 <= column + right < elements[1]:
            yield direction


def route_streams(b: ProgramBuilder, place: tuple[int, int], around: tuple[str, ...]) -> None:
    """Route an element's streams of halos to and from its neighbours.

    place: row and column of the element; around: directions in which it has neighbours. It sends on
    the colors of its parity, and receives on those of its neighbours' parity.
    """
    parity = sum(place) % 2
    for direction in around:
        port, back = direction[0].upper(), OPPOSITE[direction]
        b.route(f"{direction}{parity}", Area(*place), rx="R", tx=port)
        b.route(f"{back}{1 - parity}", Area(*place), rx=port, tx="R")


class ElementForm(NamedTuple):
    """Hold what decides the program of an element besides its neighbours.

    `parity`: 0 or 1, of the sum of its row and column; `iterations`: how many it does; `waits`:
    whether it waits for its halos in each.
    """

    parity: int
    iterations: int
    waits: bool


def _element(code: CodeBuilder, tile: Tile, around: tuple[str, ...], form: ElementForm) -> None:
    """Declare the buffers and tasks of an element with neighbours in the directions `around`.

    form: number of iterations, parity of the colors, and whether it waits for the ends of its
    streams.
    """
    inner = len(around) == len(DIRECTIONS)
    waits = form.waits or not inner
    for dtype, shape, names in (
        ("f32", tile.shape, ("own", "grid")),
        ("f32", (tile.radius + 1,), ("weights",)),
        ("i16", (1,), ("sent", "came")),
        ("i32", (1,), ("done", "iterations")),
    ):
        for name in names:
            code.buffer(name, dtype, shape)
    declare_streams(code, tile, around, form.parity)
    if tile.radius == 1:
        code.buffer("ratio", "f32", 1)
        load_streams(code, around, waits=waits)
    start = code.task("start", entry=True)
    if tile.radius == 1:
        weights = (code.element("weights", number) for number in (0, 1))
        start.compute(code.element("ratio"), "div", *weights, dtype="f32")
    start.compute(code.element("iterations"), "mov", form.iterations, dtype="i32")
    start.activate("exchange")
    if waits:
        _count_ends(code, around)
    _exchange(code, tile, around, waits=waits)
    compute = code.task("compute")
    if inner:
        _compute(code, compute, tile)
    compute.activate("exchange")
    if not waits:
        code.main_priority("low")


def _exchange(code: CodeBuilder, tile: Tile, around: tuple[str, ...], *, waits: bool) -> None:
    """Declare the task that begins an iteration: it starts the streams, and counts."""
    exchange = code.task("exchange")
    done = code.element("done")
    exchange.compute("left", "sub", done, code.element("iterations"), dtype="i32")
    with exchange.when_below("left", 0):
        if tile.radius == 1:
            reload_streams(exchange, around)
        if waits:
            exchange.block("compute")
        if tile.radius == 1:
            start_exchange(exchange, around)
        else:
            _exchange_halos(exchange, around)
        if not waits:
            exchange.activate("compute")
        exchange.compute(done, "add", done, 1, dtype="i32")


def _count_ends(code: CodeBuilder, around: tuple[str, ...]) -> None:
    """Declare a task for the end of each stream; the last of each kind lets the element compute."""
    for direction in around:
        with last_of(code, f"came_{direction}", "came", len(around)) as task:
            task.activate("compute")
    for direction in around:
        with last_of(code, f"sent_{direction}", "sent", len(around)) as task:
            task.unblock("compute")


def _exchange_halos(task: TaskBuilder, around: tuple[str, ...]) -> None:
    """Append the operations that send the edges of a tile and receive its halos."""
    for direction in around:
        sent = f"sent_{direction}"
        task.start("fmovs", f"to_{direction}", f"edge_{direction}", activate=sent)
    for direction in around:
        came = f"came_{direction}"
        task.start("fmovs", f"halo_{direction}", f"from_{direction}", activate=came)


def declare_streams(code: CodeBuilder, tile: Tile, around: tuple[str, ...], parity: int) -> None:
    """Declare the descriptors of edges that are sent and halos that are received, and queues.

    around: directions in which the element has neighbours; parity: of the element, 0 or 1, which
    decides the colors.
    """
    height, width, radius = tile
    across = {"west": (radius, 0, height, radius), "east": (radius, width, height, radius)}
    along = {"north": (radius, radius, radius, width), "south": (height, radius, radius, width)}
    edges = {"west": (radius, radius, height, radius), "east": across["east"], **along}
    halos = {
        "west": across["west"],
        "east": (radius, width + radius, height, radius),
        "north": (0, radius, radius, width),
        "south": (height + radius, radius, radius, width),
    }
    for direction in around:
        words = edges[direction][2] * edges[direction][3]
        for name, area in (("edge", edges[direction]), ("halo", halos[direction])):
            loops, offset = tile.area(*area)
            if radius > 1:
                code.mem4d(f"{name}_{direction}", "grid", loops, offset=offset)
                continue
            (rows, pitch), (columns, _) = loops
            stride = pitch if columns == 1 else 1
            code.mem1d(f"{name}_{direction}", "grid", rows * columns, stride=stride, offset=offset)
        code.output_queue(SEND_QUEUES[direction], f"{direction}{parity}")
        code.fabout(f"to_{direction}", SEND_QUEUES[direction], words)
        code.input_queue(RECEIVE_QUEUES[direction], f"{OPPOSITE[direction]}{1 - parity}")
        code.fabin(f"from_{direction}", RECEIVE_QUEUES[direction], words)


@contextmanager
def last_of(code: CodeBuilder, name: str, count: str, most: int) -> Iterator[TaskBuilder]:
    """Declare a task that counts the ends of operations; the last one does what is appended.

    Used in a `with` block. name: of the task; most: number of ends; count: name of a buffer of one
    value, as a program's global variable is, which counts down to 0.
    """
    task = code.task(name)
    value = code.element(count)
    task.compute("reached", "sub", value, 1, dtype="i16")
    task.compute(value, "mov", "reached", dtype="i16")
    with task.when_below("reached", 1 - most):
        task.compute(value, "mov", 0, dtype="i16")
        yield task


def _compute(code: CodeBuilder, compute: TaskBuilder, tile: Tile) -> None:
    """Append the multiplications and multiply-adds of one iteration."""
    height, width, radius = tile
    loops, offset = tile.area(radius, radius, height, width)
    code.mem4d("own_tile", "own", loops, offset=offset)
    code.mem4d("tile", "grid", loops, offset=offset)
    moves = {"up": -tile.pitch, "down": tile.pitch, "left": -1, "right": 1}
    for name, step in moves.items():
        code.mem4d(name, "grid", loops, offset=offset + step)
    if radius == 1:
        load_tile(code)
        compute_nearest(code, compute)
        return
    nearest = code.element("weights", 1)
    compute.op("fmuls", "own_tile", "up", nearest)
    for name in ("down", "left", "right"):
        compute.op("fmacs", "own_tile", "own_tile", name, nearest)
    for d in range(2, radius + 1):
        for name, step in moves.items():
            shifted = Ref(name).at((d - 1) * step)
            compute.op("fmacs", "own_tile", "own_tile", shifted, code.element("weights", d))
    compute.op("fmacs", "tile", "own_tile", "tile", code.element("weights", 0))
