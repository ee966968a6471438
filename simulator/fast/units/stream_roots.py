"""Where the words of each queue come from, by following fixed routes back: no queues, no times.

A color's routers form trees: the words of an output queue or of a border port go to all elements
behind it. The root of a stream is the element whose queue sends it, or the border place where it
enters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.simulator.fast.no_certificate import Ints, NotCovered
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import PORTS, STEP, CounterFilter, Route

NOWHERE = -1


@dataclass(frozen=True, slots=True)
class ColorStreams:
    """The streams of one color.

    `root`: (elements,) the element at the root of the stream that passes the element's router, -1
    without a route. `side`: (elements,) of roots: port by which the stream comes, 4 for the
    element's own queue, else a border. `links`, `ramp`: (elements,) links to neighbours or over the
    border that each word takes from there; whether it goes to the element. `filters`: (elements,)
    number of the counter filter at the ramp, -1 for none.
    """

    root: Ints
    side: Ints
    links: Ints
    ramp: Ints
    filters: Ints


def streams_of(program: Program, filters: dict[CounterFilter, int]) -> dict[str, ColorStreams]:
    """Return the streams of all colors by name.

    `filters`: numbers of the filters, to which new ones are added. Raises NotCovered for routes
    that change or take words from several sides, and filters that are no plain counters.
    """
    by_color: dict[str, list[Route]] = {color.name: [] for color in program.colors}
    for route in program.routes:
        by_color[route.color].append(route)
    return {name: _color_streams(program, routes, filters) for name, routes in by_color.items()}


def _color_streams(
    program: Program, routes: list[Route], filters: dict[CounterFilter, int]
) -> ColorStreams:
    shape = program.height, program.width
    side = np.full(shape, NOWHERE, dtype=np.int64)
    links, ramp = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    number = np.full(shape, NOWHERE, dtype=np.int64)
    for route in routes:
        if route.switch or route.teardown or route.swap or len(route.rx) != 1:
            raise NotCovered("a route that changes, or takes words from several sides")
        place = route.area.places
        side[place] = PORTS.index(route.rx[0])
        ramp[place] = "R" in route.tx
        links[place] = len(set(route.tx) - {"R"})
        if route.filter is not None:
            number[place] = filters.setdefault(_plain(route.filter), len(filters))
    root = _roots(side)
    return ColorStreams(root, side.ravel(), links.ravel(), ramp.ravel(), number.ravel())


def _plain(counter: object) -> CounterFilter:
    plain = isinstance(counter, CounterFilter) and counter == CounterFilter(
        counter.limit, counter.most, counter.start
    )
    if not plain:
        raise NotCovered("a filter counts in another way")
    assert isinstance(counter, CounterFilter)
    return counter


def _roots(side: Ints) -> Ints:
    """Return the element at the root of each element's stream, by doubling steps.

    Raises NotCovered for a route that leads back to itself.
    """
    height, width = side.shape
    parent = np.arange(side.size, dtype=np.int64).reshape(side.shape)
    inner = parent.copy()
    for port, (down, right) in enumerate(STEP):
        rows, columns = np.nonzero(side == port)
        row, column = rows + down, columns + right
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        parent[rows[inside], columns[inside]] = inner[row[inside], column[inside]]
    root, steps = parent.ravel(), 0
    while True:
        further = root[root]
        if np.array_equal(further, root):
            break
        root, steps = further, steps + 1
        if 1 << steps > side.size:
            raise NotCovered("a route leads back to itself")
    return np.where(side.ravel() == NOWHERE, NOWHERE, root)
