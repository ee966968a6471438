"""The way of a flow of a reshard: along the row of its source, then along columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.mapper.grid.exchanges.reshard import Flow, Place

Turns = Mapping[Place, tuple[str, str]]
"""Letters of the ports by which words come and go, by router."""


def flow_routers(flow: Flow, columns: int) -> int:
    """Return the routers on the way of a flow, in a grid of so many columns: a bit each.

    Router (row, column) is bit row · columns + column.
    """
    row, (least, most) = flow.source[0], (min(flow.spans), max(flow.spans))
    bits = ((1 << (most - least + 1)) - 1) << (row * columns + least)
    for column, (first, last) in flow.spans.items():
        each_row = ((1 << (columns * (last - first + 1))) - 1) // ((1 << columns) - 1)
        bits |= each_row << (first * columns + column)
    return bits


def flow_turns(flow: Flow) -> Turns:
    """Return for each router on the way of a flow where words come from and where they go.

    R: the element, N, E, S, W: the neighbour. Example: ("W", "ER") takes them from the west, to the
    east and to the element itself.
    """
    row, column = flow.source
    rows_of: dict[int, set[int]] = {}
    for target_row, target_column in flow.targets:
        rows_of.setdefault(target_column, set()).add(target_row)
    turns: dict[Place, tuple[str, str]] = {}
    least, most = min(flow.spans), max(flow.spans)
    for place in range(least, most + 1):
        come = "R" if place == column else "W" if place > column else "E"
        go = ("W" if least < place <= column else "") + ("E" if column <= place < most else "")
        first, last = flow.spans.get(place, (row, row))
        go += ("N" if first < row else "") + ("S" if last > row else "")
        rows = rows_of.get(place, set())
        turns[row, place] = come, go + ("R" if row in rows else "")
        turns.update(_along_column(flow, place, rows))
    return turns


def _along_column(
    flow: Flow, column: int, rows: set[int]
) -> Iterator[tuple[Place, tuple[str, str]]]:
    """Yield the ports of a column's routers above and below the source's row, up to its ends.

    `rows`: those of the targets in the column.
    """
    row = flow.source[0]
    first, last = flow.spans.get(column, (row, row))
    for end, step, come, go in ((last, 1, "N", "S"), (first, -1, "S", "N")):
        for place in range(row + step, end + step, step) if end != row else ():
            onward = (go if place != end else "") + ("R" if place in rows else "")
            yield (place, column), (come, onward)
