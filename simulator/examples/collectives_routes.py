"""Routes, switches and filters that the SDK's collectives library sets for a call, by place.

A line is a row or a column of elements; its ports point towards smaller and greater places. The
source is that of collectives_library.py.
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright.simulator.program.routes import CounterFilter, Position, Switch


class LinePorts(NamedTuple):
    """Hold the letters of the two ports along a line of elements.

    `less`: the port towards smaller places; `more`: the port towards greater places.
    """

    less: str
    more: str


class LineRoute(NamedTuple):
    """Hold what a router does with a color.

    `rx`, `tx`: letters of the ports to take from and to send to; `switch`: its switch, None for
    none; `kept`: the filter at the ramp that keeps words for the element, None for none.
    """

    rx: str
    tx: str
    switch: Switch | None = None
    kept: CounterFilter | None = None


def broadcast_route(place: int, size: int, root: int, ports: LinePorts) -> LineRoute:
    """Return the route of one element for a broadcast from a root to all others of a line.

    place: of the element, from 0; size: elements of the line; root: place that sends.
    """
    less, more = ports
    back = less if 0 < place <= root else ""
    on = more if root <= place < size - 1 else ""
    if place == root:
        return LineRoute("R", back + on)
    return LineRoute(more if place < root else less, "R" + back + on)


def scatter_route(place: int, size: int, root: int, count: int, ports: LinePorts) -> LineRoute:
    """Return the route of one element for a scatter: a broadcast with a filter at the ramp.

    The filter keeps the `count` words that are for this place; the arguments are as of
    `broadcast_route`.
    """
    rx, tx, _, _ = broadcast_route(place, size, root, ports)
    if place == root:
        return LineRoute(rx, tx)
    sent = size * count
    return LineRoute(rx, tx, None, CounterFilter(sent, count, (sent - place * count) % sent))


def gather_route(place: int, size: int, root: int, ports: LinePorts) -> LineRoute:
    """Return the route of one element for a gather: first its own words, then those from behind it.

    The arguments are as of `broadcast_route`. A root in the middle takes first what comes from
    smaller places. The place behind it drops the first command of each control wavelet, so that the
    last place's second one reaches the root.
    """
    less, more = ports
    if place == root:
        switch = Switch((Position(rx=(more,)),)) if 0 < root < size - 1 else None
        return LineRoute(less if root > 0 else more, "R", switch)
    behind, ahead = (more, less) if place > root else (less, more)
    pop = "always_pop" if place == root + 1 else "no_pop"
    inner = 0 < place < size - 1
    position = Position(rx=(behind,)) if inner else Position()  # an invalid one
    switch = Switch((position,), pop=pop) if inner or pop == "always_pop" else None
    return LineRoute("R", ahead, switch)


def reduce_colors(place: int) -> tuple[int, int]:
    """Return the numbers, 0 or 1, of the two colors that a place uses in a reduction.

    The first one is that of the link to the smaller place, the second one that to the greater
    place.
    """
    return place % 2, (place + 1) % 2


def reduce_routes(place: int, size: int, root: int, ports: LinePorts) -> dict[int, LineRoute]:
    """Return the routes of one element, by number of the color, for a reduction along a line.

    Sums go from neighbour to neighbour to the root; the arguments are as of `broadcast_route`.
    """
    less, more = ports
    negative, positive = reduce_colors(place)
    if place == 0:
        to_less = LineRoute("R", "R")
    else:
        to_less = LineRoute(less, "R") if place <= root else LineRoute("R", less)
    if place == size - 1:
        to_more = LineRoute("R", "R")
    else:
        to_more = LineRoute("R", more) if place < root else LineRoute(more, "R")
    return {negative: to_less, positive: to_more}
