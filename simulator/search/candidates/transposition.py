"""The choice whose program has rows and columns exchanged: it takes the same cycles.

Of two such mappings a search runs one (theory/engines.md §16).
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import replace
from math import prod
from typing import Final

from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily
from tilewright.mapper.grid.host_streams import HostStream
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.grid.schemes.reduction_scheme import Order, reduction_scheme
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.lowering.plan import Plan

_OTHER: Final[dict[Axis, Axis]] = {"X": "Y", "Y": "X"}
_OTHER_ORDER: Final[dict[Order, Order]] = {"x_first": "y_first", "y_first": "x_first"}


def transposed_choice(choice: GridChoice, plan: Plan, bounds: Dict[str, int]) -> GridChoice | None:
    """Return the choice that shares along the other axis what this one shares along an axis.

    Its sums go along the columns first where those of this one go along the rows first. plan: of
    the choice; `bounds`: values of each rank variable. None where its program is not the transposed
    one: where tiles go round rings, sums along rings or snakes, results leave element after element
    or from the last one alone, tiles are shared along both axes, or a stream goes through the whole
    grid, which always begins along the first column.
    """
    family = choice.family
    has_lines = all(_has_lines(stream, plan.read) for stream in plan.streams)
    if family.shifts or not (has_lines and _has_lines_of_sums(plan) and _divides(family, bounds)):
        return None
    shares = [replace(share, axis=_OTHER[share.axis]) for share in family.shares]
    ordered = tuple(sorted(shares, key=lambda share: share.axis))
    reduction = _other_order(choice.reduction) if _adds_along_both(plan) else choice.reduction
    return replace(choice, family=replace(family, shares=ordered), reduction=reduction)


def _has_lines_of_sums(plan: Plan) -> bool:
    """Whether sums go along rows and columns in chains, and leave over the border they reach."""
    read, sums = plan.read, plan.sums
    if sums.snake is not None or sums.ring is not None or sums.exit == "gather":
        return False
    if sums.shared and _adds_along_both(plan):
        return False
    is_wide, is_tall = sums.group_columns == read.columns, sums.group_rows == read.rows
    return sums.exit == "none" or is_wide != is_tall


def _divides(family: GridFamily, bounds: Dict[str, int]) -> bool:
    """Whether the elements divide the values of each variable that is shared along both axes.

    Those are shared along X first. Example: of 12 values 2 columns have 6 each, and 4 rows 2 of
    these each, the last one none; 4 columns have 3 each, and 2 rows 2 of these.
    """
    along_x, along_y = ({s.variable for s in family.shares if s.axis == axis} for axis in _OTHER)
    on_both = along_x & along_y
    elements = (prod(s.count for s in family.shares if s.variable == name) for name in on_both)
    return all(bounds[name] % count == 0 for name, count in zip(on_both, elements, strict=True))


def _adds_along_both(plan: Plan) -> bool:
    return min(plan.sums.group_columns, plan.sums.group_rows) > 1


def _other_order(reduction: str) -> str:
    scheme = reduction_scheme(reduction)
    return str(replace(scheme, order=_OTHER_ORDER[scheme.order]))


def _has_lines(stream: HostStream, read: SpaceTime) -> bool:
    """Whether a stream goes along rows or columns, and along the others when transposed.

    Where every element of a square has a part of its own, streams go along rows in any case.
    """
    is_tie = stream.tiles == read.columns == read.rows
    return stream.lines != "whole" and not is_tie
