"""The choice whose program has rows and columns exchanged: it takes the same cycles.

Of two such mappings a search runs one (theory/engines.md §16).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tilewright.mapper.grid.grid_mapspace import GridChoice
from tilewright.mapper.grid.host_streams import HostStream
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.lowering.plan import Plan

_OTHER: Final[dict[Axis, Axis]] = {"X": "Y", "Y": "X"}


def transposed_choice(choice: GridChoice, plan: Plan) -> GridChoice | None:
    """Return the choice that shares along the other axis what this one shares along an axis.

    plan: of the choice. None where its program is not the transposed one: where tiles go round
    rings, sums along both axes or snakes, results leave element after element, or a stream goes
    through the whole grid, which always begins along the first column.
    """
    family = choice.family
    has_lines = all(_has_lines(stream, plan.read) for stream in plan.streams)
    if family.shifts or not (has_lines and _has_plain_sums(plan)):
        return None
    shares = [replace(share, axis=_OTHER[share.axis]) for share in family.shares]
    ordered = tuple(sorted(shares, key=lambda share: share.axis))
    return replace(choice, family=replace(family, shares=ordered))


def _has_plain_sums(plan: Plan) -> bool:
    """Whether sums go along one axis in chains, and leave over the border that they reach."""
    read, sums = plan.read, plan.sums
    if sums.snake is not None or sums.ring is not None or sums.shared:
        return False
    wide, tall = sums.group_columns, sums.group_rows
    if min(wide, tall) > 1 or sums.exit == "gather":
        return False
    return sums.exit == "none" or (wide == read.columns) != (tall == read.rows)


def _has_lines(stream: HostStream, read: SpaceTime) -> bool:
    """Whether a stream goes along rows or columns, and along the others when transposed.

    Where every element of a square has a part of its own, streams go along rows in any case.
    """
    is_tie = stream.tiles == read.columns == read.rows
    return stream.lines != "whole" and not is_tie
