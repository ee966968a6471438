"""Rules of the kinds of sharding: height, width, block, interleaved (layouts.md §8).

They are those of the public runtime TT-NN, on top of the rules that any layout keeps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import prod
from typing import Literal

from tilewright.mapper.layout.layout import Layout
from tilewright.mapper.layout.legality.broken_rule import BrokenRule
from tilewright.mapper.layout.machines.layout_machine import LayoutMachine

ShardingKind = Literal["height", "width", "block", "interleaved"]


def broken_sharding_rules(
    layout: Layout, kind: ShardingKind, machine: LayoutMachine, allow: Collection[str] = ()
) -> tuple[BrokenRule, ...]:
    """Return every rule of a kind of sharding that a layout breaks on a machine.

    `allow`: names of rules that are not asked for. Rules: `kind-memory` (only L1 and DRAM have
    kinds, DRAM has no blocks), `kind-grid` (height h × 1, width 1 × w, block within the rows and
    columns of units), `kind-units` (no more cells than units or banks), `kind-tile` (shards are
    whole tiles), `kind-pages` (interleaved: every page is one tile or row, dealt in turn).
    """
    every = (
        *_memory_rules(layout, kind),
        *(_page_rules(layout, machine) if kind == "interleaved" else _grid_rules(layout, kind)),
        *(() if kind == "interleaved" else _unit_rules(layout, kind, machine)),
    )
    return tuple(rule for rule in every if rule.rule not in allow)


def _memory_rules(layout: Layout, kind: ShardingKind) -> Iterator[BrokenRule]:
    if layout.memory not in ("l1", "dram"):
        yield BrokenRule(
            "kind-memory",
            f"a tensor in {layout.memory} has no kind of sharding",
            instead="l1 or dram",
        )
    if layout.memory == "dram" and kind == "block":
        yield BrokenRule(
            "kind-memory",
            "banks of DRAM are one row: no blocks",
            instead="height or width sharding",
        )


def _grid_rules(layout: Layout, kind: ShardingKind) -> Iterator[BrokenRule]:
    if len(layout.grid) != 2:
        yield BrokenRule(
            "kind-grid",
            f"{kind} sharding has a grid of rows and columns, not of {len(layout.grid)} dimensions",
            {"dimensions": len(layout.grid)},
            "all but the last dimension joined",
        )
        return
    rows, columns = layout.grid
    if kind == "height" and columns != 1:
        yield _one_axis(kind, rows, columns, f"a grid of {rows * columns} x 1")
    if kind == "width" and rows != 1:
        yield _one_axis(kind, rows, columns, f"a grid of 1 x {rows * columns}")
    sides = layout.tiling.full_sides(2)
    if any(shard % side for shard, side in zip(layout.shard_shape, sides, strict=True)):
        yield BrokenRule(
            "kind-tile",
            f"a shard of {layout.shard_shape[0]} x {layout.shard_shape[1]} is not of whole tiles",
            {"rows": layout.shard_shape[0], "columns": layout.shard_shape[1]},
            f"{layout.allocated_shape[0]} x {layout.allocated_shape[1]}",
        )


def _one_axis(kind: ShardingKind, rows: int, columns: int, instead: str) -> BrokenRule:
    what = "all columns" if kind == "height" else "all rows"
    return BrokenRule(
        "kind-grid",
        f"each shard of a {kind} sharding has {what}, but the grid is {rows} x {columns}",
        {"rows": rows, "columns": columns},
        instead,
    )


def _unit_rules(layout: Layout, kind: ShardingKind, machine: LayoutMachine) -> Iterator[BrokenRule]:
    memory = machine.memories.get(layout.memory)
    if memory is None or len(layout.grid) != 2:
        return
    units = prod(memory.units)
    if kind == "block" and layout.memory == "l1":
        rows, columns = (1, *memory.units)[-2:]
        if layout.grid[0] > rows or layout.grid[1] > columns:
            yield BrokenRule(
                "kind-grid",
                f"blocks of {layout.grid[0]} x {layout.grid[1]} on {rows} x {columns} units",
                {"rows": rows, "columns": columns},
                "a smaller grid, or height or width sharding",
            )
    elif layout.split.cells > units:
        yield BrokenRule(
            "kind-units",
            f"{layout.split.cells} shards on {units} units of {layout.memory}",
            {"cells": layout.split.cells, "units": units},
            f"at most {units}",
        )


def _page_rules(layout: Layout, machine: LayoutMachine) -> Iterator[BrokenRule]:
    page = layout.tiling.full_sides(len(layout.grid))
    if layout.tiling.sides and layout.shard_shape != page:
        yield BrokenRule(
            "kind-pages",
            f"a page is one tile of {' x '.join(map(str, page))}, the shards are "
            f"{' x '.join(map(str, layout.shard_shape))}",
            instead="ShardedTensor.interleaved",
        )
    memory = machine.memories.get(layout.memory)
    if memory is None:
        return
    wanted = min(layout.split.cells, prod(memory.units))
    if layout.grid_map.used_units != wanted:
        yield BrokenRule(
            "kind-pages",
            f"{layout.split.cells} pages lie on {layout.grid_map.used_units} of "
            f"{prod(memory.units)} units, not on {wanted} in turn",
            {"units": layout.grid_map.used_units, "wanted": wanted},
            "ShardedTensor.interleaved",
        )
