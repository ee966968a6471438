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
        for column_row, turn in (*_away(row, last, "S", rows), *_away(row, first, "N", rows)):
            turns[column_row, place] = turn
    return turns


def _away(row: int, end: int, go: str, rows: set[int]) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the ports of a column's routers behind the source's row, up to one end of its words.

    `go`: where they go, N or S; `rows`: those of the targets in the column.
    """
    come, step = {"S": ("N", 1), "N": ("S", -1)}[go]
    for place in range(row + step, end + step, step) if end != row else ():
        yield place, (come, (go if place != end else "") + ("R" if place in rows else ""))
